"""A hierarchy as one machine without calls (Theorem 1 and its appendix)."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.core.sizes import flat_size

MAX_STATES: Final = 200_000


def flatten(hierarchy: Hierarchy) -> Hierarchy:
    """The flat hierarchy with the same verdict on every trace.

    Machines are flattened from the leaf upwards. A state `v` of a callee becomes `u>u'/callee/v`, for the call on the
    edge from `u` to `u'`.

    Args:
        hierarchy: The hierarchy.

    Returns:
        A hierarchy of one machine that calls the leaf alone.

    Raises:
        TooLargeError: The flat machine would be too large; `flat_size` computes its size.

    >>> from rewardmachines import compile_task, flatten
    >>> flatten(compile_task("t ; t", {"t": "a ; b"})).height
    1
    """
    size = flat_size(hierarchy)
    if size.states > MAX_STATES:
        raise TooLargeError(
            f"flat, this hierarchy has {size.states:,} states and {size.edges:,} edges: more than {MAX_STATES:,} "
            "states are not built"
        )
    flat: dict[str, RewardMachine] = {}
    for machine in sorted(hierarchy.reachable(), key=lambda m: hierarchy.heights[m.name]):
        flat[machine.name] = _embed_callees(machine, {name: _transform(flat[name]) for name in machine.callees})
    return Hierarchy(hierarchy.root, (flat[hierarchy.root],), hierarchy.propositions)


def _transform(machine: RewardMachine) -> RewardMachine:
    """The preliminary transformation: no edge leads back to the initial state, where a context is checked.

    A dummy takes its place after the first transition. Machines that never return to it stay as they are.
    """
    if all(edge.target != machine.initial for edge in machine.edges):
        return machine
    dummy = _fresh(f"{machine.initial}^", machine.states)
    redirected = [
        Edge(e.source, dummy if e.target == machine.initial else e.target, e.formula, e.callee) for e in machine.edges
    ]
    copies = [Edge(dummy, e.target, e.formula, e.callee) for e in redirected if e.source == machine.initial]
    return RewardMachine(
        name=machine.name,
        states=(*machine.states, dummy),
        edges=(*redirected, *copies),
        initial=machine.initial,
        accepting=machine.accepting,
        rejecting=machine.rejecting,
    )


def _embed_callees(machine: RewardMachine, callees: dict[str, RewardMachine]) -> RewardMachine:
    states = dict.fromkeys(machine.states)
    rejecting = set(machine.rejecting)
    edges: list[Edge] = []
    for edge in machine.edges:
        if edge.calls_leaf:
            edges.append(edge)
            continue
        callee = callees[edge.callee]
        names = _clone_names(edge, callee, states)
        states.update(dict.fromkeys(names.values()))
        rejecting.update(names[state] for state in callee.rejecting)
        edges.extend(_embedded(edge, callee, names))
    return RewardMachine(
        name=machine.name,
        states=tuple(states),
        edges=tuple(edges),
        initial=machine.initial,
        accepting=machine.accepting,
        rejecting=frozenset(rejecting),
    )


def _clone_names(edge: Edge, callee: RewardMachine, taken: Container[str]) -> dict[str, str]:
    """A name for each state of the callee that is neither its initial state nor accepting."""
    return {
        state: _fresh(f"{edge.source}>{edge.target}/{callee.name}/{state}", taken)
        for state in callee.states
        if state != callee.initial and state not in callee.accepting
    }


def _embedded(call: Edge, callee: RewardMachine, names: dict[str, str]) -> Iterable[Edge]:
    """The callee's edges, its initial state played by the call's source and its accepting ones by the call's target."""
    for edge in callee.edges:
        target = call.target if edge.target in callee.accepting else names[edge.target]
        if edge.source != callee.initial:
            yield Edge(names[edge.source], target, edge.formula)
        elif not (formula := edge.formula & call.formula).is_false:
            yield Edge(call.source, target, formula)


def _fresh(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "'"
    return name
