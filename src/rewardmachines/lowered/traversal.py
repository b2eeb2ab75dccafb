"""δ on arrays, for one hierarchy state and one label; a batch is a `vmap`. Mirrors `core/traversal.py`."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, UInt32

from rewardmachines.core.formula import TRUE, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Call, HierarchyState, Verdict
from rewardmachines.lowered.formula import holds
from rewardmachines.lowered.hierarchy import NOWHERE, LoweredHierarchy, Tables


class VerdictCode(IntEnum):
    """A verdict as the number that arrays hold: it can be compared with them, and written into them."""

    ACCEPT = 0
    REJECT = 1
    NEITHER = 2

    @property
    def verdict(self) -> Verdict:
        """The verdict of the number."""
        return Verdict[self.name]

    @staticmethod
    def of(verdict: Verdict) -> VerdictCode:
        """The number of a verdict."""
        return VerdictCode[verdict.name]


ACCEPT, REJECT, NEITHER = VerdictCode
VERDICTS = tuple(code.verdict for code in VerdictCode)
"""The verdicts, by their numbers."""


class State(NamedTuple):
    """A stable hierarchy state: its context is `true`, because no label is being processed.

    The stack has room for H calls, the outermost first. Entries at and above `depth` are unused, and hold -1 or 0, so
    that equal states are equal arrays.
    """

    root: Int32[Array, ""]
    """The machine that the hierarchy starts from."""
    machine: Int32[Array, ""]
    """The machine that runs now: the callee of the innermost call, or the root."""
    state: Int32[Array, ""]
    """The state that it is in."""
    depth: Int32[Array, ""]
    """The number of calls on the stack."""
    caller: Int32[Array, " H"]
    source: Int32[Array, " H"]
    """The state of the caller in which it made the call."""
    target: Int32[Array, " H"]
    """The state in which the caller goes on when the callee returns."""
    edge: Int32[Array, " H"]
    """The edge out of `source` that made the call."""
    satisfied: UInt32[Array, " H"]
    """The disjuncts of each call's edge that the label satisfied, a bit each."""
    continues: Bool[Array, " H"]
    """Whether the call was started by the same label as the one before, and so under its context."""


def initial_state(tables: Tables, root: Int32[Array, ""] | int) -> State:
    """The initial state of a root, with nothing called. Mirrors `core.traversal.initial_state`."""
    height = tables.callee.shape[-1]
    nowhere = jnp.full(height, NOWHERE, jnp.int32)
    root = jnp.asarray(root, jnp.int32)
    return State(
        root=root,
        machine=root,
        state=tables.initial[root],
        depth=jnp.int32(0),
        caller=nowhere,
        source=nowhere,
        target=nowhere,
        edge=nowhere,
        satisfied=jnp.zeros(height, jnp.uint32),
        continues=jnp.zeros(height, bool),
    )


def step(tables: Tables, state: State, label: UInt32[Array, " W"]) -> State:
    """Follows the chain that the label satisfies, if any, then returns from machines that accept.

    Mirrors `core.traversal.step`.
    """
    return moves(tables, state, label)[1]


def moves(tables: Tables, state: State, label: UInt32[Array, " W"]) -> tuple[State, State]:
    """A step in two halves.

    Args:
        tables: The hierarchy.
        state: The hierarchy state.
        label: The label that it processes.

    Returns:
        Where it stands when all calls that the label starts have begun, and when those that are done have returned.
    """
    here = (state.machine, state.state)
    satisfies = holds(tables.required[here], tables.forbidden[here], label)  # [C]
    # The hierarchy is deterministic, so at most one edge starts. Several chains of it may hold, one for each disjunct;
    # they make the same calls, so that the first one will do.
    chain = (*here, jnp.argmax(satisfies))
    called = _call(tables, state, chain, label)
    moved = satisfies.any()  # otherwise, argmax is 0, and what follows it is thrown away
    called, returned = (
        State(*(jnp.where(moved, new, old) for new, old in zip(after, state, strict=True)))
        for after in (called, _return(tables, called))
    )
    return called, returned


class HierarchyMove(NamedTuple):
    """The transition of a hierarchy on a new label."""

    is_event: Bool[Array, ""]
    """Whether it differs from the label before."""
    called: State
    """The hierarchy state when all calls had begun and none had returned."""
    after: State
    """The hierarchy state when those calls have returned whose callees accept."""


def move_on_event(
    tables: Tables, state: State, before: UInt32[Array, " W"], label: UInt32[Array, " W"]
) -> HierarchyMove:
    """A hierarchy moves only when the label changes: a label that repeats the one before is no event.

    Mirrors `core.traversal.move_on_event`; nowhere else do arrays follow that rule. The label of the first moment of an
    episode has none before it, and is fed with `step`.

    Args:
        tables: The hierarchy.
        state: The hierarchy state.
        before: The label of the moment before.
        label: The label of this moment.

    Returns:
        Where the hierarchy stands now; without an event, where it stood.
    """
    is_event = jnp.any(label != before)
    # Compiled code takes both branches anyway, and a batch has both kinds of labels: the move is made and then chosen.
    called, after = (
        jax.tree.map(lambda new, old: jnp.where(is_event, new, old), moved, state)
        for moved in moves(tables, state, label)
    )
    return HierarchyMove(is_event, called, after)


def _call(tables: Tables, state: State, chain: tuple[Array, Array, Array], label: UInt32[Array, " W"]) -> State:
    """Pushes the calls of the chain and lands in the innermost machine.

    The stack has a fixed size, so every entry is computed: those that the chain does not write keep what they hold.
    """
    height = state.caller.shape[0]
    calls = tables.calls[chain]
    position = jnp.arange(height) - state.depth  # which call of the chain each entry of the stack takes
    is_new = (position >= 0) & (position < calls)
    k = jnp.clip(position, 0, height - 1)  # a valid index where there is no new call, too
    callee = tables.callee[chain]
    caller = jnp.where(k == 0, state.machine, callee[k - 1])
    source = jnp.where(k == 0, state.state, tables.initial[caller])
    edge = tables.edge[chain][k]
    return State(
        root=state.root,
        machine=jnp.where(calls > 0, callee[calls - 1], state.machine),
        state=tables.landing[chain],
        depth=state.depth + calls,
        caller=jnp.where(is_new, caller, state.caller),
        source=jnp.where(is_new, source, state.source),
        target=jnp.where(is_new, tables.target[chain][k], state.target),
        edge=jnp.where(is_new, edge, state.edge),
        satisfied=jnp.where(is_new, satisfied(tables, caller, source, edge, label), state.satisfied),
        continues=jnp.where(is_new, k > 0, state.continues),
    )


def satisfied(
    tables: Tables,
    machine: Int32[Array, " H"],
    state: Int32[Array, " H"],
    edge: Int32[Array, " H"],
    label: UInt32[Array, " W"],
) -> UInt32[Array, " H"]:
    """φ(L): the disjuncts of each edge that the label satisfies, as bits in the order of `Formula.ordered`."""
    here = (machine, state, edge)
    fulfilled = holds(tables.edge_required[here], tables.edge_forbidden[here], label)  # [H, D]
    bits = jnp.left_shift(jnp.uint32(1), jnp.arange(fulfilled.shape[-1], dtype=jnp.uint32))
    return jnp.where(fulfilled, bits, jnp.uint32(0)).sum(axis=-1, dtype=jnp.uint32)


def _return(tables: Tables, state: State) -> State:
    """Pops calls as long as the machine accepts and was called by another."""
    height = state.caller.shape[0]
    machine, at, depth = state.machine, state.state, state.depth
    for _ in range(height):  # unrolled: at most as many returns as there can be calls, so no loop with a condition
        done = tables.is_accepting[machine, at] & (depth > 0)
        top = jnp.maximum(depth - 1, 0)
        machine = jnp.where(done, state.caller[top], machine)
        at = jnp.where(done, state.target[top], at)
        depth = jnp.where(done, top, depth)
    gone = jnp.arange(height) >= depth
    return State(
        root=state.root,
        machine=machine,
        state=at,
        depth=depth,
        caller=jnp.where(gone, NOWHERE, state.caller),
        source=jnp.where(gone, NOWHERE, state.source),
        target=jnp.where(gone, NOWHERE, state.target),
        edge=jnp.where(gone, NOWHERE, state.edge),
        satisfied=jnp.where(gone, jnp.uint32(0), state.satisfied),
        continues=~gone & state.continues,
    )


def verdict(tables: Tables, state: State) -> Int32[Array, ""]:
    """ACCEPT, REJECT or NEITHER, as numbers. Mirrors `core.traversal.verdict_of`."""
    here = (state.machine, state.state)
    rejects = tables.is_rejecting[here]
    accepts = _is_done(tables, state)
    return jnp.where(rejects, REJECT, jnp.where(accepts, ACCEPT, NEITHER)).astype(jnp.int32)


def _is_done(tables: Tables, state: State) -> Bool[Array, ""]:
    in_root = (state.depth == 0) & (state.machine == state.root)
    return in_root & tables.is_accepting[state.machine, state.state]


def lift(lowered: LoweredHierarchy, hierarchy: Hierarchy, state: State) -> HierarchyState:
    """The hierarchy state that the numbers stand for.

    Args:
        lowered: The tables that the state belongs to.
        hierarchy: The lowered hierarchy.
        state: One state; a batch is lifted one by one.
    """
    depth = int(state.depth)
    machines = [lowered.machines[int(m)] for m in (*np.asarray(state.caller)[:depth], state.machine)]
    stack: list[Call] = []
    for i in range(depth):
        caller = hierarchy[machines[i]]
        source = caller.states[int(state.source[i])]
        target = caller.states[int(state.target[i])]
        disjuncts = caller.outgoing(source)[int(state.edge[i])].formula.ordered()
        met = Formula(frozenset(d for k, d in enumerate(disjuncts) if int(state.satisfied[i]) >> k & 1))
        context = stack[-1].context & stack[-1].formula if state.continues[i] else TRUE
        stack.append(
            Call(source=source, target=target, caller=caller.name, callee=machines[i + 1], formula=met, context=context)
        )
    return HierarchyState(machines[-1], hierarchy[machines[-1]].states[int(state.state)], TRUE, tuple(stack))
