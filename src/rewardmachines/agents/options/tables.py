"""Option tables: the options that can be chosen in every machine, state and context, as arrays.

Outputs, contexts and formulas (`rewardmachines.agents.options.option_set`) have numbers, and the way down is a table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float32, Int32, UInt32

from rewardmachines.agents.options.option_set import TRUE, AheadSlots, Following, OptionSet, Output, Slots
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.machine import LEAF, RewardMachine
from rewardmachines.lowered import LabelBits, LoweredHierarchy
from rewardmachines.lowered.hierarchy import Room

LEAF_CALL: Final = -1
"""The number of the leaf, in place of a called machine."""
NONE: Final = -1
"""The number in place of an edge, if a state has no edge with an output."""
NO_SLOT: Final = -1
"""The number in place of a Q-function for outputs that are not formula options."""


@dataclass(frozen=True)
class OptionCapacity(Room):
    """The sizes of option tables, possibly larger than needed, so that programs need not be recompiled."""

    outputs: int = 1
    """Outputs of one machine."""
    contexts: int = 1
    formulas: int = 1
    slots: int = 1
    """Q-functions of formulas."""


class AheadTables(NamedTuple):
    """F formulas, K Q-functions, O outputs, and M * U states of machines, numbered one machine after the other."""

    slot: Int32[Array, "F L"]
    """The Q-function for a formula and a state in which the task goes on; the last column is for the task's end."""
    machine: Int32[Array, " K"]
    """The machine in which the task goes on after the Q-function's formula is satisfied."""
    state: Int32[Array, " K"]
    """The state of that machine then."""
    is_end: Bool[Array, " K"]
    """Whether the task is over then."""
    following: Int32[Array, "K O"]
    """The Q-functions of the formula options that can be chosen then, by output; NO_SLOT for all other outputs."""


class OptionTables(NamedTuple):
    """M machines, U states, O outputs, C contexts, F formulas, K slots, E edges and D disjuncts, P propositions."""

    callee: Int32[Array, "M O"]
    """The machine that an output calls, or LEAF_CALL."""
    edge: Int32[Array, "M U O"]
    """The number of the state's edge with the output, or NONE."""
    disjunct: Int32[Array, "M U O"]
    """The number of the disjunct on that edge."""
    target: Int32[Array, "M U O"]
    """The state that the edge leads to."""
    output: Int32[Array, "M U E D"]
    """The output of each disjunct of each edge: the inverse of `edge` and `disjunct`."""
    child: Int32[Array, "M C O"]
    """For a call, the context that it passes down; for the leaf, the number of the formula."""
    allowed: Bool[Array, "M U C O"]
    """Whether the output can be chosen: its goal is possible, and an end of the machine can be reached after it."""
    rejects: Bool[Array, "M U O"]
    """Whether the output leads into a rejecting state."""
    context: Float32[Array, "C P"]
    """1 for propositions that the context requires, -1 for those that it forbids, 0 for all other propositions."""
    required: UInt32[Array, "F W"]
    """The bits of the propositions that each formula requires."""
    forbidden: UInt32[Array, "F W"]
    """The bits of the propositions that each formula forbids."""
    slot: Int32[Array, " F"]
    """The number of the formula's Q-function."""
    slot_required: UInt32[Array, "K W"]
    """The same bits for the formula that each Q-function is learned for."""
    slot_forbidden: UInt32[Array, "K W"]
    is_active: Bool[Array, " K"]
    """The Q-functions that are to be learned."""
    ahead: AheadTables | None = None
    """The Q-functions of options that look ahead; None without lookahead."""
    learns_calls: Bool[Array, " M"] | None = None
    """The machines whose Q-functions learn, where some policies are given; None if all machines learn."""


def capacity_for(option_set: OptionSet, slots: Slots | AheadSlots) -> OptionCapacity:
    """The least sizes of tables for these options."""
    return OptionCapacity(
        outputs=max([1, *map(len, option_set.outputs.values())]),
        contexts=len(option_set.contexts),
        formulas=max(1, len(option_set.formulas)),
        slots=max([0, *slots.numbers.values()]) + 1,
    )


def tabulate(
    option_set: OptionSet,
    slots: Slots | AheadSlots,
    lowered: LoweredHierarchy,
    capacity: OptionCapacity,
    learning: Collection[Conjunction] | None = None,
) -> OptionTables:
    """The tables, with the numbers of machines, states, edges and disjuncts of the lowered hierarchies.

    Args:
        option_set: The options.
        slots: The Q-functions of formulas.
        lowered: The hierarchies.
        capacity: The sizes of the tables.
        learning: The formulas whose Q-functions learn; all satisfiable formulas, if not given.

    Raises:
        TooLargeError: The tables have no room for the options.
    """
    if not capacity.covers(needed := capacity_for(option_set, slots)):
        raise TooLargeError(f"the tables have room for {capacity}, but {needed} is needed")
    return _Filling(option_set, slots, lowered, capacity, learning).tables()


class _Filling:
    """A builder that fills arrays on the host and makes tables of them."""

    def __init__(
        self,
        option_set: OptionSet,
        slots: Slots | AheadSlots,
        lowered: LoweredHierarchy,
        capacity: OptionCapacity,
        learning: Collection[Conjunction] | None,
    ) -> None:
        self._option_set, self._slots, self._lowered, self._learning = option_set, slots, lowered, learning
        self._contexts = {context: number for number, context in enumerate(option_set.contexts)}
        self._formulas = {formula: number for number, formula in enumerate(option_set.formulas)}
        room, bits = lowered.capacity, lowered.bits
        m, u, o, c = room.machines, room.states, capacity.outputs, capacity.contexts
        self.arrays: dict[str, np.ndarray[Any, Any]] = {
            "callee": np.full((m, o), LEAF_CALL, np.int32),
            "edge": np.full((m, u, o), NONE, np.int32),
            "disjunct": np.zeros((m, u, o), np.int32),
            "target": np.zeros((m, u, o), np.int32),
            "output": np.zeros((m, u, room.edges, room.disjuncts), np.int32),
            "child": np.zeros((m, c, o), np.int32),
            "allowed": np.zeros((m, u, c, o), bool),
            "rejects": np.zeros((m, u, o), bool),
            "context": np.zeros((c, len(bits.propositions)), np.float32),
            **_masks("", capacity.formulas, bits, self._formulas.items()),
            "slot": np.zeros(capacity.formulas, np.int32),
            **_masks("slot_", capacity.slots, bits, _formulas_of(slots)),
            "is_active": np.zeros(capacity.slots, bool),
        }

    def tables(self) -> OptionTables:
        """Fills all arrays and makes tables of them."""
        for number, name in enumerate(self._lowered.machines):
            self._machine(number, self._option_set.pool[name])
        for context, number in self._contexts.items():
            for p, proposition in enumerate(self._lowered.bits.propositions):
                self.arrays["context"][number, p] = int(proposition in context.required) - int(
                    proposition in context.forbidden
                )
        if isinstance(self._slots, AheadSlots):
            return self._looking_ahead(self._slots)
        for formula, number in self._formulas.items():
            if self._option_set.is_seen(formula):  # otherwise its option is not allowed, and it needs no Q-function
                slot = self._slots.of(formula)
                self.arrays["slot"][number] = slot
                self.arrays["is_active"][slot] |= self._learning is None or formula in self._learning
        return OptionTables(**jax.device_put(self.arrays))  # unlike `jnp.asarray`, it compiles nothing

    def _looking_ahead(self, slots: AheadSlots) -> OptionTables:
        """The tables of options that look ahead; all Q-functions learn whose formulas can be satisfied."""
        for number, formula in slots.formulas.items():
            self.arrays["is_active"][number] = self._option_set.is_seen(formula)
        ahead = ahead_tables(
            slots,
            self._option_set,
            self._lowered,
            len(self.arrays["slot"]),
            len(self.arrays["is_active"]),
            self.arrays["callee"].shape[1],
        )
        return OptionTables(**jax.device_put(self.arrays), ahead=ahead)

    def _machine(self, m: int, machine: RewardMachine) -> None:
        """Fills in the outputs of a machine."""
        outputs = {output: number for number, output in enumerate(self._option_set.outputs[machine.name])}
        numbers = {name: number for number, name in enumerate(self._lowered.machines)}
        for (callee, _), o in outputs.items():
            self.arrays["callee"][m, o] = numbers.get(callee, LEAF_CALL)
        for s, state in enumerate(machine.states):
            for e, edge in enumerate(machine.outgoing(state)):
                for d, disjunct in enumerate(edge.formula.ordered()):
                    o = outputs[edge.callee, disjunct]
                    self.arrays["edge"][m, s, o], self.arrays["disjunct"][m, s, o] = e, d
                    self.arrays["target"][m, s, o] = machine.states.index(edge.target)
                    self.arrays["output"][m, s, e, d] = o
                    self.arrays["rejects"][m, s, o] = edge.target in machine.rejecting
        ending = self._option_set.ending(machine.name)
        for name, context in self._option_set.entries:
            if name == machine.name:
                self._entry(m, machine, context, outputs, ending)

    def _entry(
        self,
        m: int,
        machine: RewardMachine,
        context: Conjunction,
        outputs: Mapping[Output, int],
        ending: frozenset[str],
    ) -> None:
        """Fills in the allowed outputs of a machine entered under a context, and the contexts that they pass down."""
        c = self._contexts[context]
        for edge, disjunct, below in self._option_set.ways(machine.name, context):
            o, s = outputs[edge.callee, disjunct], machine.states.index(edge.source)
            self.arrays["child"][m, c, o] = self._formulas[below] if edge.calls_leaf else self._contexts[below]
            self.arrays["allowed"][m, s, c, o] = edge.target in ending and self._option_set.is_possible(edge, below)


def _formulas_of(slots: Slots | AheadSlots) -> Iterable[tuple[Conjunction, int]]:
    """The formula that each Q-function is learned for, with the number of the Q-function."""
    if isinstance(slots, AheadSlots):
        return [(formula, number) for number, formula in slots.formulas.items()]
    return slots.numbers.items()


def _masks(
    prefix: str, room: int, bits: LabelBits, numbers: Iterable[tuple[Conjunction, int]]
) -> dict[str, np.ndarray[Any, np.dtype[np.uint32]]]:
    """The bits of formulas. Rows without a formula require and forbid everything, so that no label satisfies them."""
    required, forbidden = (np.full((room, bits.words), 0xFFFFFFFF, np.uint32) for _ in range(2))
    for formula, number in numbers:
        required[number], forbidden[number] = bits.masks(formula)
    return {f"{prefix}required": required, f"{prefix}forbidden": forbidden}


def ahead_tables(
    slots: AheadSlots, option_set: OptionSet, lowered: LoweredHierarchy, formulas: int, room: int, outputs: int
) -> AheadTables:  # fmt: skip
    """The tables of options that look ahead.

    Args:
        slots: The numbers of their Q-functions.
        option_set: The options, whose formulas have the numbers of the tables.
        lowered: The machines, with the numbers of machines and states.
        formulas: The room for formulas.
        room: The room for Q-functions.
        outputs: The room for outputs of a machine.
    """
    states = lowered.capacity.states
    slot = np.zeros((formulas, lowered.capacity.machines * states + 1), np.int32)
    machine, state, is_end = np.zeros(room, np.int32), np.zeros(room, np.int32), np.ones(room, bool)
    machines = {name: number for number, name in enumerate(lowered.machines)}
    following = np.full((room, outputs), NO_SLOT, np.int32)
    for (root, place), number in slots.numbers.items():
        column = slot.shape[1] - 1
        if place is not None:
            machine[number] = machines[place.machine]
            state[number] = option_set.pool[place.machine].states.index(place.state)
            is_end[number] = False
            for output, slot_after in _following(slots, option_set, place):
                following[number, output] = slot_after
            column = machine[number] * states + state[number]
        for row, formula in enumerate(option_set.formulas):
            if slots.tree.root_of(formula) == root:
                slot[row, column] = number
    return AheadTables(*jax.device_put((slot, machine, state, is_end, following)))


def _following(slots: AheadSlots, option_set: OptionSet, place: Following) -> Iterator[tuple[int, int]]:
    """The outputs of the formula options that can be chosen in a place, with their Q-functions.

    An option that makes the machine accept counts as the end, because the callers are not known here.
    """
    machine = option_set.pool[place.machine]
    outputs = {output: number for number, output in enumerate(option_set.outputs[place.machine])}
    for edge, disjunct, below in option_set.ways(place.machine, TRUE):
        if edge.source == place.state and edge.callee == LEAF and option_set.is_seen(below):
            after = None if edge.target in machine.accepting else Following(place.machine, edge.target)
            yield outputs[edge.callee, disjunct], slots.numbers[slots.tree.root_of(below), after]
