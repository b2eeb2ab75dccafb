"""The semantics of hierarchies: exit conditions, the transition function δ, traversals, verdicts (Section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.events import compress, is_event
from rewardmachines.core.formula import BOT, FALSE, TRUE, Formula, Label, Observation
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import INITIAL, LEAF, Edge


class Verdict(Enum):
    """The verdict of a hierarchy on a trace."""

    ACCEPT = "accept"
    REJECT = "reject"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Call:
    """⟨u, v, Mi, Mj, φ, Φ⟩: `caller` went from `source` to call `callee`, and goes on in `target` when it returns.

    `formula` holds the disjuncts of the edge that the label satisfied, `context` what had been accumulated before.
    """

    source: str
    target: str
    caller: str
    callee: str
    formula: Formula
    context: Formula

    def __str__(self) -> str:
        callee = "leaf" if self.callee == LEAF else self.callee
        return f"<{self.source}, {self.target}, {self.caller}, {callee}, {self.formula}, {self.context}>"


CallStack: TypeAlias = tuple[Call, ...]
"""Γ, the innermost call last."""


@dataclass(frozen=True, slots=True)
class HierarchyState:
    """⟨M, u, Φ, Γ⟩: where in a hierarchy one is."""

    machine: str
    state: str
    context: Formula = TRUE
    stack: CallStack = ()

    def __str__(self) -> str:
        machine = "leaf" if self.machine == LEAF else self.machine
        return f"<{machine}, {self.state}, {self.context}, [{', '.join(map(str, self.stack))}]>"


def initial_state(hierarchy: Hierarchy) -> HierarchyState:
    """⟨Mr, u0, true, []⟩: the root's initial state, with nothing called."""
    return HierarchyState(hierarchy.root, hierarchy[hierarchy.root].initial)


def exit_condition(hierarchy: Hierarchy, machine: str, state: str, context: Formula = TRUE) -> Formula:
    """ξ: what a label must satisfy to leave a state.

    Args:
        hierarchy: The machines.
        machine: The name of the machine.
        state: One of its states.
        context: The condition under which the machine was entered.

    Returns:
        The condition, with those of all callees worked in.

    >>> from rewardmachines import exit_condition, hierarchy, machine
    >>> callee = machine("callee", [("u0", "uA", "a")])
    >>> str(exit_condition(hierarchy(machine("root", [("u0", "uA", "!b", "callee")]), callee), "root", "u0"))
    'a & !b'
    """
    if machine == LEAF:
        return context
    condition = FALSE
    for edge in hierarchy[machine].outgoing(state):
        callee_initial = _initial(hierarchy, edge.callee)
        condition = condition | exit_condition(hierarchy, edge.callee, callee_initial, context & edge.formula)
    return condition


def step(hierarchy: Hierarchy, state: HierarchyState, label: Iterable[str]) -> HierarchyState:
    """δ: the hierarchy state that a label leads to.

    Propositions that no formula mentions change nothing.

    Args:
        hierarchy: The hierarchy.
        state: The hierarchy state.
        label: The propositions that are observed.

    Returns:
        Where it stands after all calls that the label starts and all returns that follow.

    Raises:
        NondeterminismError: The label could start two calls.
    """
    return _automaton(hierarchy).row(state).after(hierarchy, frozenset(label)).state


def move_on_event(hierarchy: Hierarchy, state: HierarchyState, before: Label | None, label: Label) -> HierarchyState:
    """Moves a hierarchy if the label is an event. Mirrored for arrays by `lowered.move_on_event`.

    Args:
        hierarchy: The hierarchy.
        state: The hierarchy state.
        before: The label of the moment before; None at the first moment of an episode.
        label: The label of this moment.

    Returns:
        Where the hierarchy stands now; without an event, where it stood.

    Raises:
        NondeterminismError: The label could start two calls.
    """
    return step(hierarchy, state, label) if is_event(before, label) else state


def traverse(hierarchy: Hierarchy, trace: Iterable[Iterable[str]], *, events: bool = False) -> Iterator[HierarchyState]:
    """The hierarchy states that a trace leads through, the initial one first.

    Args:
        hierarchy: The hierarchy.
        trace: Labels, each a collection of propositions.
        events: Whether only events move the hierarchy, as in environments; otherwise every label does.

    Raises:
        NondeterminismError: A label could start two calls.

    >>> from rewardmachines import hierarchy, machine, traverse
    >>> paper = hierarchy(machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")]))
    >>> [state.state for state in traverse(paper, [{"sugarcane"}, set(), {"workbench"}])]
    ['u0', 'u1', 'u1', 'uA']
    """
    row = _automaton(hierarchy).row(initial_state(hierarchy))
    yield row.state
    before: Label | None = None
    for label in map(frozenset, trace):
        if not events or is_event(before, label):
            row = row.after(hierarchy, label)
        before = label
        yield row.state


def verdict(hierarchy: Hierarchy, trace: Iterable[Iterable[str]], *, events: bool = False) -> Verdict:
    """The verdict of the hierarchy on a whole trace.

    Args:
        hierarchy: The hierarchy.
        trace: Labels, each a collection of propositions.
        events: Whether only events move the hierarchy, as in environments; otherwise every label does.

    Returns:
        Whether the trace is accepted, rejected, or neither.

    Raises:
        NondeterminismError: A label could start two calls.

    >>> from rewardmachines import hierarchy, machine, verdict
    >>> verdict(hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "uR", "b & !a")])), [{"b"}])
    <Verdict.REJECT: 'reject'>
    """
    row = _automaton(hierarchy).row(initial_state(hierarchy))
    for label in compress(trace) if events else trace:
        row = row.after(hierarchy, frozenset(label))
    return verdict_of(hierarchy, row.state)


def verdict_of(hierarchy: Hierarchy, state: HierarchyState) -> Verdict:
    """The verdict of the hierarchy on the traces that lead to a hierarchy state.

    Traces are accepted at the root only; a rejecting state of any machine rejects.

    Args:
        hierarchy: The hierarchy.
        state: The hierarchy state.
    """
    if state.machine == LEAF:
        return Verdict.NEITHER
    machine = hierarchy[state.machine]
    if state.state in machine.rejecting:
        return Verdict.REJECT
    if state.state in machine.accepting and state.machine == hierarchy.root and not state.stack:
        return Verdict.ACCEPT
    return Verdict.NEITHER


def derivation(
    hierarchy: Hierarchy, state: HierarchyState, label: Observation
) -> Iterator[tuple[HierarchyState, Observation]]:
    """Every application of δ that one label causes; the last state is the result.

    Arguments and errors are those of `step`. Each state comes with what was still to be processed in it, `BOT` after a
    return.
    """
    while True:
        yield state, label
        if state.stack and _is_accepting(hierarchy, state):
            call = state.stack[-1]
            state, label = HierarchyState(call.caller, call.target, TRUE, state.stack[:-1]), BOT
        elif (started := _started(hierarchy, state, label)) is not None:
            state = started
        else:
            return


def can_start(hierarchy: Hierarchy, machine: str, state: str, label: Label) -> bool:
    """Whether the label satisfies the exit condition under context `true`, without building that formula."""
    return machine == LEAF or any(
        edge.formula.holds(label) and can_start(hierarchy, edge.callee, _initial(hierarchy, edge.callee), label)
        for edge in hierarchy[machine].outgoing(state)
    )


def _started(hierarchy: Hierarchy, state: HierarchyState, label: Observation) -> HierarchyState | None:
    """The state inside the call that the label starts, if it starts one."""
    if label is BOT or state.machine == LEAF or not state.context.holds(label):
        return None
    starting = [
        edge
        for edge in hierarchy[state.machine].outgoing(state.state)
        if edge.formula.holds(label) and can_start(hierarchy, edge.callee, _initial(hierarchy, edge.callee), label)
    ]
    if not starting:
        return None
    if len(starting) > 1:
        raise _nondeterminism(state, starting, label)
    (edge,) = starting
    satisfied = edge.formula.satisfied(label)
    call = Call(
        source=edge.source, target=edge.target, caller=state.machine,
        callee=edge.callee, formula=satisfied, context=state.context,
    )  # fmt: skip
    context = state.context & satisfied
    return HierarchyState(edge.callee, _initial(hierarchy, edge.callee), context, (*state.stack, call))


def _nondeterminism(state: HierarchyState, starting: list[Edge], label: Label) -> NondeterminismError:
    return NondeterminismError(
        f"machine '{state.machine}', state '{state.state}': the label {show_label(label)} starts both "
        f"{starting[0]} and {starting[1]}"
    )


def show_label(label: Iterable[str]) -> str:
    """A label as messages show it, such as `{iron, table}`."""
    return "{" + ", ".join(sorted(label)) + "}"


def _is_accepting(hierarchy: Hierarchy, state: HierarchyState) -> bool:
    return state.machine == LEAF or state.state in hierarchy[state.machine].accepting


def _initial(hierarchy: Hierarchy, machine: str) -> str:
    return INITIAL if machine == LEAF else hierarchy[machine].initial


class _Row:
    """A hierarchy state, and where the labels seen so far lead from it."""

    __slots__ = ("next", "state")

    def __init__(self, state: HierarchyState) -> None:
        self.state = state
        self.next: dict[Label, _Row] = {}

    def after(self, hierarchy: Hierarchy, label: Label) -> _Row:
        return self.next.get(label) or _automaton(hierarchy).extend(hierarchy, self, label)


class _Automaton:
    """The rows met so far: an automaton that is built as far as it is used, so that a step seen before is one look-up.

    It forgets everything when it has grown too large.
    """

    __slots__ = ("entries", "rows")

    def __init__(self) -> None:
        self.rows: dict[HierarchyState, _Row] = {}
        self.entries = 0

    def row(self, state: HierarchyState) -> _Row:
        row = self.rows.get(state)
        if row is None:
            row = self.rows[state] = _Row(state)
            self.entries += 1
        return row

    def extend(self, hierarchy: Hierarchy, row: _Row, label: Label) -> _Row:
        *_, (state, _) = derivation(hierarchy, row.state, label)
        if self.entries >= _MAX_ENTRIES:
            for old in self.rows.values():
                old.next.clear()
            self.rows.clear()
            self.entries = 0
        row.next[label] = following = self.row(state)
        self.entries += 1
        return following


def _automaton(hierarchy: Hierarchy) -> _Automaton:
    automaton = hierarchy._memo.get("automaton")
    if automaton is None:
        automaton = hierarchy._memo["automaton"] = _Automaton()
    assert isinstance(automaton, _Automaton)
    return automaton


_MAX_ENTRIES: Final = 200_000
