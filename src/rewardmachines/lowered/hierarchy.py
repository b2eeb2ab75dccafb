"""Hierarchies as tables of fixed shape, so that a changed machine is a new value and compiles nothing anew.

The masks of a chain of calls are those of the conjunction of all its conditions, so that a label is judged in one look,
however many calls it starts. Mirrors `core/hierarchy.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NamedTuple, Self, TypeAlias

import jax
import numpy as np
from jaxtyping import Array, Bool, Int32, UInt32

from rewardmachines.core.errors import NondeterminismError, RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.lowered.chains import Chains
from rewardmachines.lowered.formula import LabelBits

NOWHERE: Final = -1
"""Stands for no machine, state or edge, where tables and stacks are padded."""
GIB: Final = 2**30
MAX_BYTES: Final = GIB
"""Larger tables are refused before the memory for them is asked for."""


@dataclass(frozen=True)
class Room:
    """Sizes of tables, by name."""

    def covers(self, other: Self) -> bool:
        """Whether every size is at least that of the other."""
        return all(getattr(self, f.name) >= getattr(other, f.name) for f in fields(self))

    def grown(self, needed: Self) -> Self:
        """The sizes, each doubled until it suffices: growing machines then change shapes, and compile anew, seldom."""
        grown = {}
        for f in fields(self):
            room = getattr(self, f.name)
            while room < getattr(needed, f.name):
                room *= 2
            grown[f.name] = room
        return replace(self, **grown)


@dataclass(frozen=True)
class Capacity(Room):
    """The capacity of the tables."""

    machines: int = 1
    states: int = 3
    """States of one machine."""
    chains: int = 1
    """Ways out of one state."""
    depth: int = 1
    """Calls that can be on the stack at once: the greatest height, less one."""
    edges: int = 1
    """Edges out of one state."""
    disjuncts: int = 1
    """Disjuncts of one edge; at most 32, a bit each."""


class Tables(NamedTuple):
    """M machines, U states, C chains out of each, H calls on a stack, E edges, D disjuncts, W words of a label.

    Padding never fires.
    """

    required: UInt32[Array, "M U C W"]
    forbidden: UInt32[Array, "M U C W"]
    landing: Int32[Array, "M U C"]
    """The target of the chain's leaf edge, in the innermost machine."""
    calls: Int32[Array, "M U C"]
    """The number of machines that the chain calls."""
    callee: Int32[Array, "M U C H"]
    target: Int32[Array, "M U C H"]
    """The states to which the callers return."""
    edge: Int32[Array, "M U C H"]
    """The number of the caller's edge, counted within the state."""
    edge_required: UInt32[Array, "M U E D W"]
    edge_forbidden: UInt32[Array, "M U E D W"]
    initial: Int32[Array, " M"]
    is_accepting: Bool[Array, "M U"]
    is_rejecting: Bool[Array, "M U"]


@dataclass(frozen=True)
class LoweredHierarchy:
    """Tables, and what their numbers mean."""

    tables: Tables
    bits: LabelBits
    capacity: Capacity
    machines: tuple[str, ...]
    states: Mapping[str, tuple[str, ...]]
    roots: tuple[int, ...]
    """The machine that each of the lowered hierarchies starts from."""

    @property
    def root(self) -> int:
        """The root of the only hierarchy, or of the first of several."""
        return self.roots[0]


def together(hierarchies: Sequence[Hierarchy]) -> Hierarchy:
    """All machines in one hierarchy, the first root its root; machines of one name must be the same."""
    machines: dict[str, RewardMachine] = {}
    propositions: dict[str, None] = {}
    for hierarchy in hierarchies:
        propositions |= dict.fromkeys(hierarchy.propositions)
        for machine in hierarchy.machines:
            if machines.setdefault(machine.name, machine) != machine:
                raise RewardMachineError(f"two different machines are called '{machine.name}': rename one")
    return Hierarchy(hierarchies[0].root, tuple(machines.values()), tuple(propositions))


def lower(
    hierarchies: Hierarchy | Sequence[Hierarchy],
    *,
    propositions: Iterable[str] | None = None,
    capacity: Capacity | None = None,
) -> LoweredHierarchy:
    """Tables for one hierarchy, or for several that share machines.

    Args:
        hierarchies: One, or several in which machines of one name are the same.
        propositions: Fixes the bits, for an environment that knows more propositions.
        capacity: Fixes the shapes; otherwise they are as small as possible.

    Raises:
        NondeterminismError: Where some trace makes two calls start.
        TooLargeError: Where the capacity does not suffice, a state has more than `MAX_CHAINS` chains, an edge more than
            32 disjuncts, or the tables would take more than `MAX_BYTES`. No table has been made then.
    """
    several = [hierarchies] if isinstance(hierarchies, Hierarchy) else list(hierarchies)
    for hierarchy in several:
        if conflicts := check_determinism(hierarchy):
            raise NondeterminismError(str(conflicts[0]))
    pool = together(several)
    chains = Chains(pool)
    needed = _needed(pool, chains)
    room = needed if capacity is None else capacity
    bits = LabelBits(tuple(pool.propositions if propositions is None else propositions))
    _check_room(room, needed, bits)
    names = tuple(machine.name for machine in pool.machines)
    return LoweredHierarchy(
        tables=_fill(pool, chains, bits, room),
        bits=bits,
        capacity=room,
        machines=names,
        states={machine.name: machine.states for machine in pool.machines},
        roots=tuple(names.index(hierarchy.root) for hierarchy in several),
    )


def capacity_for(pool: Hierarchy) -> Capacity:
    """The smallest capacity that these machines fit in.

    Raises:
        TooLargeError: A state has more than `MAX_CHAINS` chains.
    """
    return _needed(pool, Chains(pool))


def _needed(pool: Hierarchy, chains: Chains) -> Capacity:
    edges = [edge for machine in pool.machines for edge in machine.edges]
    return Capacity(
        machines=len(pool.machines),
        states=max(len(machine.states) for machine in pool.machines),
        chains=max(1, chains.most),
        depth=max(1, max(pool.heights.values()) - 1),
        edges=max([1, *(len(machine.outgoing(state)) for machine in pool.machines for state in machine.states)]),
        disjuncts=max([1, *(len(edge.formula.disjuncts) for edge in edges)]),
    )


def _check_room(room: Capacity, needed: Capacity, bits: LabelBits) -> None:
    if not room.covers(needed):
        raise TooLargeError(f"the tables have room for {room}, but {needed} is needed: lower it with a larger capacity")
    if needed.disjuncts > 32:
        raise TooLargeError(f"an edge has {needed.disjuncts} disjuncts, and at most 32 are lowered: write fewer")
    per_chain = 2 * bits.words + 2 + 3 * room.depth
    per_state = room.chains * per_chain + room.edges * room.disjuncts * 2 * bits.words
    size = 4 * room.machines * room.states * per_state
    if size > MAX_BYTES:
        raise TooLargeError(
            f"the tables would take {size / GIB:,.1f} GiB, and at most {MAX_BYTES / GIB:.0f} GiB are made: "
            "split the hierarchy, or write fewer disjuncts"
        )


def _fill(pool: Hierarchy, chains: Chains, bits: LabelBits, room: Capacity) -> Tables:
    m, u, c, h, w = room.machines, room.states, room.chains, room.depth, bits.words
    never = np.uint32(
        0xFFFFFFFF
    )  # in both masks: every proposition required and forbidden, so that padding never holds
    arrays: _Arrays = {
        "required": np.full((m, u, c, w), never),
        "forbidden": np.full((m, u, c, w), never),
        "landing": np.zeros((m, u, c), np.int32),
        "calls": np.zeros((m, u, c), np.int32),
        "callee": np.full((m, u, c, h), NOWHERE, np.int32),
        "target": np.full((m, u, c, h), NOWHERE, np.int32),
        "edge": np.full((m, u, c, h), NOWHERE, np.int32),
        "edge_required": np.full((m, u, room.edges, room.disjuncts, w), never),
        "edge_forbidden": np.full((m, u, room.edges, room.disjuncts, w), never),
        "initial": np.zeros(m, np.int32),
        "is_accepting": np.zeros((m, u), bool),
        "is_rejecting": np.zeros((m, u), bool),
    }
    numbers = {machine.name: i for i, machine in enumerate(pool.machines)}
    for machine in pool.machines:
        _fill_machine(arrays, pool, chains, machine, numbers, bits)
    return Tables(**jax.device_put(arrays))  # unlike `jnp.asarray`, it compiles nothing


_Arrays: TypeAlias = dict[str, np.ndarray[Any, np.dtype[Any]]]


def _fill_machine(
    arrays: _Arrays,
    pool: Hierarchy,
    chains: Chains,
    machine: RewardMachine,
    numbers: Mapping[str, int],
    bits: LabelBits,
) -> None:
    i = numbers[machine.name]
    arrays["initial"][i] = machine.states.index(machine.initial)
    for s, state in enumerate(machine.states):
        arrays["is_accepting"][i, s] = state in machine.accepting
        arrays["is_rejecting"][i, s] = state in machine.rejecting
        for e, edge in enumerate(machine.outgoing(state)):
            for d, disjunct in enumerate(edge.formula.ordered()):
                at = (i, s, e, d)
                arrays["edge_required"][at], arrays["edge_forbidden"][at] = bits.masks(disjunct)
        for c, chain in enumerate(chains.of(machine, state)):
            arrays["required"][i, s, c], arrays["forbidden"][i, s, c] = bits.masks(chain.condition)
            _fill_chain(arrays, pool, machine, (i, s, c), chain.edges, numbers)


def _fill_chain(
    arrays: _Arrays,
    pool: Hierarchy,
    machine: RewardMachine,
    at: tuple[int, int, int],
    edges: tuple[Edge, ...],
    numbers: Mapping[str, int],
) -> None:
    *calls, last = edges
    arrays["calls"][at] = len(calls)
    caller = machine
    for k, edge in enumerate(calls):
        arrays["callee"][(*at, k)] = numbers[edge.callee]
        arrays["target"][(*at, k)] = caller.states.index(edge.target)
        arrays["edge"][(*at, k)] = caller.outgoing(edge.source).index(edge)
        caller = pool[edge.callee]
    arrays["landing"][at] = caller.states.index(last.target)
