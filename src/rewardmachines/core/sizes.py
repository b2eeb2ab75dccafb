"""Sizes of hierarchies, and of their flat forms: Theorem 2's recurrences, for any machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import MAX_DISJUNCTS, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine


@dataclass(frozen=True, slots=True)
class Size:
    """States and edges; in a flat machine, an edge is a pair of states with a formula."""

    states: int
    edges: int


def size(hierarchy: Hierarchy) -> Size:
    """States and edges of the root and all machines that it calls, added up.

    Args:
        hierarchy: The hierarchy.
    """
    machines = hierarchy.reachable()
    return Size(sum(len(m.states) for m in machines), sum(len(m.edges) for m in machines))


def flat_size(hierarchy: Hierarchy) -> Size:
    """The size of `flatten(hierarchy)`, without building it.

    Args:
        hierarchy: The hierarchy.

    >>> from rewardmachines import compile_task, flat_size
    >>> flat_size(compile_task("t ; t", {"t": "a ; b"})).states
    5
    """
    bodies: dict[str, _FlatForm] = {}
    for machine in sorted(hierarchy.reachable(), key=lambda m: hierarchy.heights[m.name]):
        bodies[machine.name] = _FlatForm.of(machine, bodies)
    return bodies[hierarchy.root].whole


@dataclass(frozen=True, slots=True)
class _FlatForm:
    """The size of a machine's flat form, whole and for each call that embeds it."""

    whole: Size
    first: tuple[tuple[Formula, bool], ...]
    """The edges out of the initial state: formula, and whether it leads to an accepting state."""
    clones: int
    """States that an embedding adds: neither initial nor accepting."""
    returning: int
    """Clones with an edge to an accepting state."""
    inner: int
    """Edges out of clones; those of one clone to several accepting states become one."""

    @staticmethod
    def of(machine: RewardMachine, bodies: Mapping[str, _FlatForm]) -> _FlatForm:
        calls = [(edge, bodies[edge.callee]) for edge in machine.edges if not edge.calls_leaf]
        direct = _direct_edges(machine, bodies)
        entering = {  # call edge -> formulas of the edges into its clones
            edge: [f for formula, accepts in body.first if not accepts and not (f := formula & edge.formula).is_false]
            for edge, body in calls
        }
        whole = Size(
            len(machine.states) + sum(body.clones for _, body in calls),
            len(direct) + sum(len(entering[edge]) + body.inner for edge, body in calls),
        )
        initial, accepting = machine.initial, machine.accepting
        first = [(f, target in accepting) for (source, target), f in direct.items() if source == initial]
        first += [(f, False) for edge, _ in calls if edge.source == initial for f in entering[edge]]
        if len(first) > MAX_DISJUNCTS:
            raise TooLargeError(f"flat, the initial state of '{machine.name}' would have {len(first):,} edges")
        # Edges that lead back to the initial state go to a dummy, which repeats the first edges.
        dummy = any(target == initial for _, target in direct) or any(
            edge.target == initial and body.returning for edge, body in calls
        )
        first_returns = any(accepts for _, accepts in first)
        last_states = {source for source, target in direct if source != initial and target in accepting}
        returning = len(last_states) + sum(body.returning for edge, body in calls if edge.target in accepting)
        inner = sum(source != initial and target not in accepting for source, target in direct) + len(last_states)
        inner += sum(body.inner + (edge.source != initial) * len(entering[edge]) for edge, body in calls)
        if dummy:
            returning += first_returns
            inner += sum(not accepts for _, accepts in first) + first_returns
        return _FlatForm(whole, tuple(first), whole.states + dummy - 1 - len(accepting), returning, inner)


def _direct_edges(machine: RewardMachine, bodies: Mapping[str, _FlatForm]) -> dict[tuple[str, str], Formula]:
    """Edges between the machine's own states: its leaf edges, and calls that may return on their first label."""
    direct: dict[tuple[str, str], Formula] = {}
    for edge in machine.edges:
        if edge.calls_leaf:
            formulas = [edge.formula]
        else:
            formulas = [formula & edge.formula for formula, accepts in bodies[edge.callee].first if accepts]
        for formula in formulas:
            if not formula.is_false:
                pair = (edge.source, edge.target)
                direct[pair] = direct[pair] | formula if pair in direct else formula
    return direct
