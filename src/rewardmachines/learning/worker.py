"""A process that solves what it is sent and can be killed at any moment.

It is started as a script, so that it loads nothing but the solver. Requests and answers are a line of JSON each; a
request is followed by the clauses as 32-bit integers, each clause ended by a zero.

    request   {"integers": n, "solver": name, "phases": [...], "groups": [[...], ...], "effort": conflicts}
    answers   {"model": [...]}             a solution; better ones may follow
              {"done": true, "sat": bool, "proved": k}    groups minimized for certain, in their order

`effort` bounds each attempt to do with one variable less: a number of conflicts, so that the answer is a function of
the request.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, TypeAlias


def main() -> None:
    """Answers requests until there are no more. Arguments: the parent's process id, and a limit of memory or 0."""
    parent, memory = map(int, sys.argv[1:])
    _die_with_parent(parent)
    if memory:
        _limit_memory(memory)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        request = json.loads(line)
        integers = array("i")
        integers.frombytes(requests.read(4 * request["integers"]))
        answer(request, _clauses(integers), lambda content: _say(answers, content))


Say: TypeAlias = Callable[[dict[str, Any]], None]


class OutOfConflicts(Exception):
    """The question is harder than was allowed for."""


def answer(request: dict[str, Any], clauses: Sequence[Sequence[int]], say: Say, conflicts: int | None = None) -> None:
    """Says what the protocol demands. With `conflicts`, raises after so many of them in one solver call."""
    from pysat.solvers import Solver

    with Solver(name=request["solver"], bootstrap_with=clauses) as solver:
        solver.set_phases(request["phases"])
        satisfiable = _solve(solver, [], conflicts)
        proved = []
        if satisfiable:
            model = solver.get_model()
            say({"model": model})
            for group in request["groups"]:
                model, is_fewest = _fewest(solver, group, model, say, conflicts, request["effort"])
                proved.append(is_fewest)
        certain = next((i for i, sure in enumerate(proved) if not sure), len(proved))
        say({"done": True, "sat": satisfiable, "proved": certain})


def _solve(solver: Any, assumptions: list[int], conflicts: int | None) -> bool:
    if conflicts is None:
        return bool(solver.solve(assumptions=assumptions))
    solver.conf_budget(conflicts)
    result = solver.solve_limited(assumptions=assumptions)
    if result is None:
        raise OutOfConflicts
    return bool(result)


def _fewest(
    solver: Any, group: list[int], model: list[int], say: Say, conflicts: int | None, effort: int
) -> tuple[list[int], bool]:
    """A solution with as few of the variables true as the effort gives, and whether fewer are impossible.

    No later solution may have more.
    """
    from pysat.card import ITotalizer

    count = _count(group, model)
    if not count:
        solver.append_formula([[-variable] for variable in group])
        return model, True
    with ITotalizer(lits=group, ubound=count, top_id=solver.nof_vars()) as totalizer:
        solver.append_formula(totalizer.cnf.clauses)
        bounds = list(totalizer.rhs)
    is_fewest = True
    try:
        while count and _solve(solver, [-bounds[count - 1]], conflicts or effort):
            model = solver.get_model()
            count = _count(group, model)
            say({"model": model})
    except OutOfConflicts:
        if conflicts is not None:
            raise
        is_fewest = False
    if count < len(bounds):
        solver.add_clause([-bounds[count]])
    return model, is_fewest


def _count(group: list[int], model: list[int]) -> int:
    true = set(model)
    return sum(variable in true for variable in group)


def _clauses(integers: array[int]) -> list[list[int]]:
    clauses: list[list[int]] = []
    clause: list[int] = []
    for literal in integers:
        if literal:
            clause.append(literal)
        else:
            clauses.append(clause)
            clause = []
    return clauses


def _say(answers: BinaryIO, content: dict[str, Any]) -> None:
    answers.write(json.dumps(content).encode() + b"\n")
    answers.flush()


def _limit_memory(limit: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _die_with_parent(parent: int) -> None:
    """On Linux the kernel sees to it that no solver outlives the program that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the kernel was told
        sys.exit(1)


if __name__ == "__main__":
    main()
