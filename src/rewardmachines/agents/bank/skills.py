"""A bank in a new task: the policies that the task uses, the policies that it still learns, and its tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import numpy as np

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.options.option_set import TRUE, OptionSet, Slots, joined, tree_for
from rewardmachines.agents.options.tables import OptionCapacity, OptionTables, capacity_for, tabulate
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.lowered import Capacity, LoweredHierarchy
from rewardmachines.lowered.hierarchy import capacity_for as machine_capacity_for


@dataclass(frozen=True)
class Skills:
    """The part of a bank that a task uses."""

    bank: Bank
    option_set: OptionSet
    """The options of the task."""
    is_trained: bool = False
    """Whether policies of the bank are trained further. Otherwise they are frozen."""

    @cached_property
    def slots(self) -> Slots:
        """The Q-function of each formula: those of the bank keep their numbers, and others follow them.

        A formula that no label can satisfy has none.
        """
        tree, numbers, following = tree_for(self.option_set), {}, self.bank.sizes.slots
        for root in filter(self.option_set.is_seen, tree.roots):
            slot = self.bank.slot_of(root)
            if slot is None:
                slot, following = following, following + 1
            numbers[root] = slot
        return Slots(tree, numbers)

    @cached_property
    def missing(self) -> tuple[Conjunction, ...]:
        """The formulas that the task needs and the bank has no policy for."""
        return tuple(filter(self._is_new, self.slots.numbers))

    def _is_new(self, formula: Conjunction) -> bool:
        return self.slots.of(formula) >= self.bank.sizes.slots

    @property
    def new_slots(self) -> int:
        """The number of Q-functions that are not in the bank."""
        return max([self.bank.sizes.slots, *(slot + 1 for slot in self.slots.numbers.values())]) - self.bank.sizes.slots

    def is_known(self, name: str) -> bool:
        """Whether the policy of a machine's calls comes from the bank."""
        return self.bank.has_machine(self.option_set.pool[name])

    # -- tables

    def machine_capacity(self, hierarchy: Hierarchy) -> Capacity:
        """The sizes of the tables of machines, with as many states as the networks of the bank know."""
        needed = machine_capacity_for(hierarchy)
        return replace(needed, states=max(needed.states, self.bank.sizes.states))

    def option_capacity(self) -> OptionCapacity:
        """The sizes of the tables of options, with all Q-functions and outputs that the bank has."""
        needed, sizes = capacity_for(self.option_set, self.slots), self.bank.sizes
        return replace(needed, slots=sizes.slots + self.new_slots, outputs=max(needed.outputs, sizes.outputs))

    def tables(self, lowered: LoweredHierarchy) -> OptionTables:
        """The tables of the task's options.

        They differ from those of a task without a bank in three ways. Policies of the bank do not learn, unless they
        are trained further. A machine chooses an option that leads to rejection only if it has no other: an untrained
        root has not yet learned to avoid it. Calls under contexts that the bank does not know are presented to its
        networks as calls under a known context, if the two contexts agree on all labels.
        """
        seen = filter(self.option_set.is_seen, self.option_set.formulas)
        learning = [formula for formula in seen if self.is_trained or self._is_new(formula)]
        tables = tabulate(self.option_set, self.slots, lowered, self.option_capacity(), learning)
        room = lowered.capacity.machines
        learns = np.ones(room, bool)
        for number, name in enumerate(lowered.machines):
            learns[number] = self.is_trained or not self.is_known(name)
        allowed, context = jax.device_put((self._allowed(tables), self._contexts(tables)))
        return tables._replace(allowed=allowed, context=context, learns_calls=jax.device_put(learns))

    def _allowed(self, tables: OptionTables) -> Any:
        allowed, rejects = np.asarray(tables.allowed), np.asarray(tables.rejects)[:, :, None, :]  # [M, U, C, O]
        good = allowed & ~rejects
        return np.where(good.any(axis=-1, keepdims=True), good, allowed)

    def _contexts(self, tables: OptionTables) -> Any:
        """The contexts, as inputs of the networks."""
        rows, numbers = np.array(tables.context), {context: n for n, context in enumerate(self.option_set.contexts)}
        for context, number in numbers.items():
            rows[number] = self._row(self._seen_as(context))
        return rows

    def _row(self, context: Conjunction) -> list[float]:
        return [float(p in context.required) - float(p in context.forbidden) for p in self.bank.propositions]

    def _seen_as(self, context: Conjunction) -> Conjunction:
        """The context of the bank that agrees with this one on all labels, for machines of the bank; else itself."""
        if context in self.bank.contexts:
            return context
        called = [name for name, under in self.option_set.entries if under == context and self.is_known(name)]
        wanted = [disjunct for name in called for _, disjunct, _ in self.option_set.ways(name, context)]

        def is_same(known: Conjunction) -> bool:
            return all(
                not disjunct.contradicts(known) and self.bank.agree(joined(known, disjunct), joined(context, disjunct))
                for disjunct in wanted
            )

        return next(filter(is_same, (TRUE, *self.bank.contexts)), context) if called else context

    # -- the choices that are left to learn

    def choices(self, lowered: LoweredHierarchy, tables: OptionTables) -> tuple[str, ...]:
        """The machines outside the bank with a choice between options in some state, which is to be learned."""
        count = np.asarray(tables.allowed).sum(axis=-1).max(axis=(1, 2))  # [M]
        return tuple(
            name for number, name in enumerate(lowered.machines) if count[number] > 1 and not self.is_known(name)
        )
