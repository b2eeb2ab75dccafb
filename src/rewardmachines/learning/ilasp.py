"""The learning task as a file for ILASP, the learner of the paper, which is closed and not part of this package.

The paper learns a literal of the root as a rule, `nphi(...) :- not label(p,T), step(T)`, and constrains by
injected facts `pos` and `neg` which rules are in the hypothesis. Here these facts themselves are learned, at the cost
of the rules that they stand for, and the background derives `nphi`: the same hypotheses, in one run of ILASP.
Determinism is exact, as in `learning.asp`, and not by saturation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from rewardmachines.core.machine import LEAF
from rewardmachines.exchange import asp as exchange
from rewardmachines.exchange.asp_names import ROOT, Constants, printable, proposition
from rewardmachines.learning.asp import (
    TERMINAL,
    constants_of,
    encoding,
    machine_facts,
    option_facts,
    root_states,
    space_facts,
    start_facts,
)
from rewardmachines.learning.task import LearningTask
from rewardmachines.traces import Outcome, Trace

COST: Final = 2
"""The penalty of every rule, as the authors have it."""
MAX_COST: Final = 100

_HEADER: Final = """\
% A learning task for ILASP: the root "{name}" with {states} states, the rejecting one not counted.
%
% Run       ILASP --version=2 --strict-types -nc -ml=1 --simple FILE
%           The authors used ILASP 4.1.2 with clingo 5.5.0, to which a wrapper passed --opt-mode=ignore
%           --heuristic=domain --dom-mod=5,16: any hypothesis will do, tried with few rules first.
% Learns    call(X,Y,E,mr,M)      edge E of the root from X to Y calls M
%           pos(X,Y,E,mr,P)       P is a positive literal of its formula, a conjunction
%           neg(X,Y,E,mr,P)       P is a negative literal of it
"""

_VERDICTS: Final = {
    Outcome.GOAL: (("accept",), ("reject",)),
    Outcome.DEAD_END: (("reject",), ("accept",)),
    Outcome.INCOMPLETE: ((), ("accept", "reject")),
}


def to_ilasp(task: LearningTask, states: int) -> str:
    """The task of learning a root with `states` states, the rejecting one not counted."""
    constants, root = constants_of(task), root_states(task, states)
    sections = {
        "the states and callees of the root, and the options": [
            *space_facts(task, root.values(), constants),
            *option_facts(task),
        ],
        "the machines that can be called": [f for m in task.background for f in machine_facts(m, constants)],
        "the conditions under which they start": start_facts(task.callees, constants),
        "the general rules R0-R5": _rules(exchange.general_rules()),
        "the root": _rules(encoding("hypothesis")),
        "well-formed roots": _rules(encoding("structure")),
        "determinism": _rules(encoding("determinism")),
        "the hypothesis space": [*_space(task, root, constants), f"#max_penalty({MAX_COST}).", "#maxv(1)."],
        "the examples": [_example(i, t, task.options.prefix_knowledge) for i, t in enumerate(task.traces)],
    }
    header = _HEADER.format(name=printable(task.name), states=states) + "".join(_legend(task, constants))
    return header + "".join(f"\n% {title}\n" + "".join(f"{line}\n" for line in s) for title, s in sections.items())


def _legend(task: LearningTask, constants: Constants) -> Iterator[str]:
    """The constants, and the names that they stand for."""
    for title, names in (
        ("Machines", {ROOT: task.name} | {constants.machines[m.name]: m.name for m in task.background}),
        ("Symbols", {proposition(p): p for p in task.propositions}),
    ):
        width = max(map(len, names))
        for position, (constant, name) in enumerate(names.items()):
            yield f"% {title if position == 0 else '':<9} {constant:<{width}}  {printable(name)}\n"


def _rules(text: str) -> Iterator[str]:
    """The rules of an encoding, without its header and the directives that ILASP does not know."""
    lines = text.splitlines()
    body = next(i for i, line in enumerate(lines) if not line.startswith("%"))
    yield from (line for line in lines[body:] if line and not line.startswith("#"))


def _space(task: LearningTask, root: dict[str, str], constants: Constants) -> Iterator[str]:
    """Every fact that a hypothesis may hold, with its cost."""
    callees = [constants.machines[callee] for callee in (LEAF, *task.callees)]
    inner = [state for state in root.values() if state not in TERMINAL.values()]
    for source, target, number in product(inner, root.values(), range(1, task.options.disjuncts + 1)):
        if source != target:
            edge = f"{source},{target},{number},{ROOT}"
            yield from (f"{COST} ~ call({edge},{callee})." for callee in callees)
            for p in map(proposition, task.propositions):
                yield f"{COST} ~ pos({edge},{p})."
                yield f"{COST} ~ neg({edge},{p})."


def _example(number: int, trace: Trace, prefix_knowledge: bool) -> str:
    included, excluded = _VERDICTS[trace.outcome]
    if prefix_knowledge:
        excluded = (*excluded, "ended_early")
    _, *facts = exchange.trace_facts(trace.labels).splitlines()
    context = "".join(f"  {line}\n" for line in facts)
    name = f"{trace.outcome.value}_{number}"
    return f"#pos({name}, {{{', '.join(included)}}}, {{{', '.join(excluded)}}}, {{\n{context}}})."
