"""Options that look ahead: they differ by formula and by the place where the task goes on.

Without lookahead, options with the same formula share a Q-function, whichever machine chose them. With lookahead, an
option is worth more where the next option is within reach, so there is a Q-function for each formula and each place
where the task goes on when the formula is satisfied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

import jax
import numpy as np
from jaxtyping import Array, Bool, Int32

from rewardmachines.agents.options.formula_tree import FormulaTree
from rewardmachines.agents.options.option_set import TRUE, OptionSet
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.machine import LEAF
from rewardmachines.lowered import LoweredHierarchy

NO_SLOT: Final = -1
"""The number in place of a Q-function for outputs that are not formula options."""


class Following(NamedTuple):
    """The place where a task goes on when an option has achieved its goal: a machine and its state."""

    machine: str
    state: str


Aim: TypeAlias = tuple[Conjunction, Following | None]
"""A formula, and the place where the task goes on after it; None if the task is then over."""


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


@dataclass(frozen=True)
class AheadSlots:
    """The numbers of the Q-functions of options that look ahead."""

    tree: FormulaTree
    """The formula tree, by which formulas are equal if they agree on all labels."""
    numbers: Mapping[Aim, int] = field(default_factory=dict)
    """The number of the Q-function for each root of the tree and each place where the task goes on."""

    @property
    def formulas(self) -> Mapping[int, Conjunction]:
        """The formula of each Q-function."""
        return {number: formula for (formula, _), number in self.numbers.items()}


def ahead_slots_for(option_set: OptionSet, tree: FormulaTree) -> AheadSlots:
    """Gives a Q-function to every formula and every place where a task can go on when it is satisfied.

    Args:
        option_set: The options.
        tree: The formula tree, which says which formulas are equal.
    """
    after = _returns(option_set)
    aims: dict[Aim, None] = {}
    for name, context in option_set.entries:
        machine = option_set.pool[name]
        for edge, _, below in option_set.ways(name, context):
            if edge.callee != LEAF:
                continue
            places = after[name] if edge.target in machine.accepting else {Following(name, edge.target): None}
            aims.update({(tree.root_of(below), place): None for place in places})
    return AheadSlots(tree, {aim: number for number, aim in enumerate(aims)})


def _returns(option_set: OptionSet) -> dict[str, dict[Following | None, None]]:
    """The places where the task can go on when each machine has accepted, by its possible callers.

    Any machine may be the root of a task, after which nothing goes on.
    """
    found: dict[str, dict[Following | None, None]] = {
        machine.name: {None: None} for machine in option_set.pool.machines
    }
    size = -1
    while size != (size := sum(map(len, found.values()))):
        for caller, edge in _calls(option_set):
            machine = option_set.pool[caller]
            here: dict[Following | None, None] = {Following(caller, edge.target): None}
            found[edge.callee].update(found[caller] if edge.target in machine.accepting else here)
    return found


def _calls(option_set: OptionSet) -> Iterator[tuple[str, Any]]:
    for machine in option_set.pool.machines:
        for edge in machine.edges:
            if edge.callee != LEAF:
                yield machine.name, edge


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
