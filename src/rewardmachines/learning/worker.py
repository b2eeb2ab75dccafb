"""A process that solves what it is sent and can be killed at any moment.

It is started as a script, so that it loads nothing but the solver. Requests and answers are a line of JSON each.

    request   {"memory": bytes or 0, "integers": n, "solver": name, "phases": [...], "groups": [[...], ...],
               "effort": conflicts, "conflicts": most conflicts of one call or null, "variables": shown or null}
              followed by the clauses as n integers of 32 bits, each clause ended by a zero
    answers   {"model": [...]}             a solution, as far as it is shown; better ones may follow
              {"done": true, "sat": bool, "proved": k}    groups minimized for certain, in their order
              {"done": true, "gave_up": true}             more conflicts than were allowed

    request   {"memory": bytes or 0, "integers": n, "solver": name, "variables": shown or null,
               "soft": [[literal, weight], ...], "most": weight}    for MaxSAT, followed by the clauses
    answers   {"bound": weight}            at least so much must be false; more may follow
              {"model": [...]}             the best solution, if no more than `most` is false
              {"done": true}

    request   {"memory": bytes or 0, "program": text, "arguments": [...]}    for clingo
    answers   {"model": ["atom", ...]}     an answer set; better ones may follow
              {"done": true, "proved": 0}

    request   {"memory": bytes or 0, "words": {...}}    for the smallest automaton: see `identification_search.py`

`effort` bounds each attempt to do with one variable less: a number of conflicts, so that the answer is a function of
the request. The exit status is the reason of a process that ended before its answer.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final, TypeAlias

OUT_OF_MEMORY: Final = 70
"""The exit status of a process that could have no more memory."""
NOT_INSTALLED: Final = 71
"""The exit status of a process that cannot load its solver."""

COUNTS_CONFLICTS: Final = sys.platform != "emscripten"
"""Whether solvers can be given a number of conflicts. In a browser they do not come back if they are."""


def main() -> None:
    """Answers requests until there are no more. Arguments: the parent's process id, and a limit of memory or 0."""
    parent, memory = map(int, sys.argv[1:])
    die_with_parent(parent)
    _limit_memory(memory)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        while line := requests.readline():
            _serve(json.loads(line), requests, answers)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)  # at once: there may be no memory for a proper end
    except ImportError:
        os._exit(NOT_INSTALLED)


Say: TypeAlias = Callable[[dict[str, Any]], None]


class OutOfConflicts(Exception):
    """The question is harder than was allowed for."""


def _serve(request: dict[str, Any], requests: BinaryIO, answers: BinaryIO) -> None:
    def say(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content).encode() + b"\n")
        answers.flush()

    _limit_memory(request["memory"])
    if "program" in request:
        answer_program(request["program"], request["arguments"], say)
        return
    if "words" in request:
        identify(request["words"], say)
        return
    integers = array("i")
    integers.frombytes(requests.read(4 * request["integers"]))
    if "soft" in request:
        weigh(request, clauses_of(integers), say)
        return
    try:
        answer(request, clauses_of(integers), say, request["conflicts"])
    except OutOfConflicts:
        say({"done": True, "gave_up": True})


def answer(request: dict[str, Any], clauses: Iterable[Sequence[int]], say: Say, conflicts: int | None = None) -> None:
    """Answers a request by the protocol. Raises after `conflicts` conflicts in one solver call, if they are given."""
    from pysat.solvers import Solver

    with Solver(name=request["solver"], bootstrap_with=clauses) as solver:
        solver.set_phases(request["phases"])
        satisfiable = _solve(solver, [], conflicts)
        proved = []
        if satisfiable:
            model = solver.get_model()[: request["variables"]]
            say({"model": model})
            for group in request["groups"]:
                model, is_fewest = _fewest(solver, group, model, say, conflicts, request["effort"])
                proved.append(is_fewest)
        certain = next((i for i, sure in enumerate(proved) if not sure), len(proved))
        say({"done": True, "sat": satisfiable, "proved": certain})


def weigh(request: dict[str, Any], clauses: Iterable[Sequence[int]], say: Say) -> None:
    """Says the solution with the least weight of soft literals that are false, unless it is more than allowed."""
    from pysat.examples.rc2 import RC2
    from pysat.formula import WCNF

    formula = WCNF()
    formula.extend(list(clauses))
    for literal, weight in request["soft"]:
        formula.append([literal], weight=weight)
    with RC2(formula, solver=request["solver"], exhaust=True) as search:
        del formula
        model = _least(search, request["most"], say)
        if model is not None:
            say({"model": model[: request["variables"]]})
    say({"done": True})


def _least(search: Any, most: int, say: Say) -> list[int] | None:
    """The main loop of RC2, which says each bound that it proves, and ends when it is more than allowed."""
    while search.cost <= most:
        if search.oracle.solve(assumptions=search.active_assumps()):
            model: list[int] = search.oracle.get_model()
            return model
        search.get_core()
        if not search.core:
            return None
        search.process_core()
        say({"bound": search.cost})
    return None


def answer_program(program: str, arguments: Sequence[str], say: Say) -> None:
    """Says the atoms shown of every answer set that clingo finds on its way to the best."""
    import clingo

    control = clingo.Control(list(arguments))
    control.add("base", [], program)
    control.ground([("base", [])])
    control.solve(on_model=lambda model: say({"model": [str(atom) for atom in model.symbols(shown=True)]}))
    say({"done": True, "proved": 0})


def identify(words: dict[str, Any], say: Say, conflicts: int | None = None) -> None:
    """Answers a request for the smallest automaton. Raises after `conflicts` conflicts in one solver call, if given."""
    # As a script, this file knows its neighbours by their bare names: the package would take longer than the search.
    package = __package__ or ""
    module = importlib.import_module(f"{package}.identification_search" if package else "identification_search")
    module.search(words, say, lambda solver, assumptions: _solve(solver, assumptions, conflicts))


def _solve(solver: Any, assumptions: list[int], conflicts: int | None) -> bool:
    if conflicts is None or not COUNTS_CONFLICTS:
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
            model = solver.get_model()[: len(model)]
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


def clauses_of(integers: array[int]) -> Iterator[list[int]]:
    """The clauses of an array in which a zero ends each: one by one, so that they are not held twice."""
    clause: list[int] = []
    for literal in integers:
        if literal:
            clause.append(literal)
        else:
            yield clause
            clause = []


def _limit_memory(limit: int) -> None:
    """Limits the memory of this process from now on; 0 stands for what the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_AS, (min(limit, most) if limit else hard, hard))


def die_with_parent(parent: int) -> None:
    """On Linux the kernel sees to it that no solver outlives the program that asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:  # it died before `prctl` was called
        sys.exit(1)


if __name__ == "__main__":
    main()
