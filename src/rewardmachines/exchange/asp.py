"""A hierarchy as the paper's answer set program (its appendix on learning), for clingo.

The program is the hierarchy as facts and rules, then the general rules R0-R5, then, if there is one, the trace. Its
only answer set holds `accept` or `reject` where the verdict is that, and neither otherwise. It agrees with
`core.traversal.verdict` on every deterministic hierarchy and every trace but the empty one, of which it says nothing.

A root whose initial state is terminal is the one case that the paper's constants cannot express, `u0` being neither
`ua` nor `ur`. It gets an unconditional edge there, so that all traces but the empty one are accepted, or rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files

from rewardmachines.core.formula import Conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, RewardMachine
from rewardmachines.exchange.asp_names import ACCEPTING, INITIAL, REJECTING, Constants, printable, proposition


def to_asp(hierarchy: Hierarchy, trace: Iterable[Iterable[str]] | None = None) -> str:
    """The program of the machines that the root calls, directly or not, and of a trace of labels.

    Args:
        hierarchy: The hierarchy.
        trace: The labels of a trace. Without one, add the facts of one (`trace_facts`) before asking for the verdict.
    """
    constants = Constants.of(hierarchy)
    machines = [line for machine in hierarchy.reachable() for line in _machine(machine, constants)]
    parts = ["\n".join([*_legend(hierarchy, constants), *machines]) + "\n", general_rules()]
    if trace is not None:
        parts.append(trace_facts(trace))
    return "\n".join(parts)


def general_rules() -> str:
    """R0-R5, the same for every hierarchy and trace."""
    return files("rewardmachines.exchange").joinpath("encodings", "rules.lp").read_text(encoding="utf-8")


def trace_facts(labels: Iterable[Iterable[str]]) -> str:
    """A trace as facts. An empty one has no last step, so that no verdict is derived.

    >>> print(trace_facts([{"iron"}, set(), {"table"}]), end="")
    % the trace
    step(0). label(iron,0).
    step(1).
    step(2). label(table,2).
    last(2).
    """
    lines = ["% the trace"]
    for time, label in enumerate(labels):
        observed = sorted({proposition(p) for p in label})
        lines.append(" ".join([f"step({time}).", *(f"label({p},{time})." for p in observed)]))
    if len(lines) > 1:
        lines.append(f"last({len(lines) - 2}).")
    return "\n".join(lines) + "\n"


def _legend(hierarchy: Hierarchy, constants: Constants) -> Iterator[str]:
    """Comments that give the real names. A name cannot leave its comment: line breaks are not printable."""
    yield "% The constants of this program, and the names that they stand for."
    yield "% Propositions are constants where their names can be, and strings otherwise."
    for machine in hierarchy.reachable():
        yield f'%   {constants.machines[machine.name]}: machine "{printable(machine.name)}"'
        for state, constant in constants.states[machine.name].items():
            yield f'%     {constant}: state "{printable(state)}"'


def _machine(machine: RewardMachine, constants: Constants) -> Iterator[str]:
    name, states = constants.machines[machine.name], constants.states[machine.name]
    yield ""
    yield f"% machine {name}"
    yield " ".join(f"state({state},{name})." for state in _declared(machine, states))
    numbers: dict[tuple[str, str], int] = {}
    for source, target, callee, condition in _calls(machine, constants):
        number = numbers[source, target] = numbers.get((source, target), 0) + 1
        edge = f"{source},{target},{number},{name}"
        yield f"call({edge},{callee})."
        yield from _condition(edge, condition)


def _declared(machine: RewardMachine, states: dict[str, str]) -> Iterable[str]:
    declared = dict.fromkeys(states.values())
    if machine.is_terminal(machine.initial):
        declared[_terminal_initial(machine)] = None
    return declared


def _calls(machine: RewardMachine, constants: Constants) -> Iterator[tuple[str, str, str, Conjunction]]:
    """Source, target, callee and condition: an edge for each disjunct, since a condition is a conjunction here."""
    states = constants.states[machine.name]
    for edge in machine.edges:
        for condition in edge.formula.ordered():
            yield states[edge.source], states[edge.target], constants.machines[edge.callee], condition
    if machine.is_terminal(machine.initial):
        yield INITIAL, _terminal_initial(machine), constants.machines[LEAF], Conjunction()


def _terminal_initial(machine: RewardMachine) -> str:
    return ACCEPTING if machine.initial in machine.accepting else REJECTING


def _condition(edge: str, condition: Conjunction) -> Iterator[str]:
    """The facts of a condition: its literals, and what breaks it. Nothing breaks `true`, which has no literals."""
    for p in sorted(map(proposition, condition.required)):
        yield f"nphi({edge},T) :- not label({p},T), step(T). pos({edge},{p})."
    for p in sorted(map(proposition, condition.forbidden)):
        yield f"nphi({edge},T) :- label({p},T), step(T). neg({edge},{p})."
