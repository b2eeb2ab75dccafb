"""Options that look ahead: which of them differ because something else follows where they end.

Without looking ahead, options that are after the same formula share a Q-function, whoever chose them. One that looks
ahead is worth more where what comes next is within reach, so there is a Q-function for each formula and each place
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
"""Stands for the Q-function where an output is no formula option."""


class Following(NamedTuple):
    """Where a task goes on when an option has achieved its goal: in a state of the machine that runs then."""

    machine: str
    state: str


Aim: TypeAlias = tuple[Conjunction, Following | None]
"""A formula, and where the task goes on after it; None if the task is over then."""


class AheadTables(NamedTuple):
    """F formulas, K Q-functions, O outputs, and M * U states of machines, numbered one machine after the other."""

    slot: Int32[Array, "F L"]
    """The Q-function for a formula and a state in which the task goes on; the last column is for the task's end."""
    machine: Int32[Array, " K"]
    """The machine in which the task goes on after the Q-function's formula is satisfied."""
    state: Int32[Array, " K"]
    """Its state then."""
    is_end: Bool[Array, " K"]
    """Whether the task is over then, so that nothing goes on."""
    following: Int32[Array, "K O"]
    """The Q-functions of the formula options that can be chosen then, by output; NO_SLOT for all other outputs."""


@dataclass(frozen=True)
class AheadSlots:
    """The numbers of the Q-functions of options that look ahead."""

    tree: FormulaTree
    """Says which formulas are the same as far as labels tell."""
    numbers: Mapping[Aim, int] = field(default_factory=dict)
    """The number of the Q-function for each root of the tree and each place where the task goes on."""

    @property
    def formulas(self) -> Mapping[int, Conjunction]:
        """The formula that each Q-function is after."""
        return {number: formula for (formula, _), number in self.numbers.items()}


def ahead_slots_for(option_set: OptionSet, tree: FormulaTree) -> AheadSlots:
    """Gives a Q-function to every formula and every place where a task can go on when it is satisfied.

    Args:
        option_set: The options.
        tree: Says which formulas are the same.
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
    """Where the task can go on when each machine has accepted, by the callers that it can have.

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
        formulas: For how many formulas there is room.
        room: For how many Q-functions there is room.
        outputs: For how many outputs of a machine there is room.
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

    Where such an option makes the machine accept, that is the end as far as this machine can tell.
    """
    machine = option_set.pool[place.machine]
    outputs = {output: number for number, output in enumerate(option_set.outputs[place.machine])}
    for edge, disjunct, below in option_set.ways(place.machine, TRUE):
        if edge.source == place.state and edge.callee == LEAF and option_set.is_seen(below):
            after = None if edge.target in machine.accepting else Following(place.machine, edge.target)
            yield outputs[edge.callee, disjunct], slots.numbers[slots.tree.root_of(below), after]
