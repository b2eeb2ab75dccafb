"""What a run knows: machines, examples, labels, the formula tree, and the arrays made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.formula_tree import FormulaTree, inherited
from rewardmachines.agents.option_tables import Menu, OptionCapacity, Slots, tabulate
from rewardmachines.agents.option_tables import capacity_for as options_for
from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.lhrm.pool import Pool
from rewardmachines.lowered import Capacity, LoweredHierarchy, lower
from rewardmachines.lowered.hierarchy import capacity_for

ROOM: Final = Capacity(machines=32, states=8, chains=16, depth=4, edges=8, disjuncts=1)
OPTION_ROOM: Final = OptionCapacity(outputs=16, contexts=32, formulas=64, slots=16)


@dataclass
class Book:
    """Kept on the host. `write` makes arrays of it; they have the same shapes until something outgrows its room."""

    labels: frozenset[Label] = frozenset()
    tree: FormulaTree = field(default_factory=FormulaTree)
    slots: dict[Conjunction, int] = field(default_factory=dict)
    room: Capacity = field(default_factory=lambda: ROOM)
    option_room: OptionCapacity = field(default_factory=lambda: OPTION_ROOM)
    lowered: LoweredHierarchy | None = None
    menu: Menu | None = None
    changes: list[Label | Conjunction] = field(default_factory=list)
    """All that the tree was told, in order: the same again makes the same tree, and the same slots."""
    used: int = 0
    """Slots that have ever been taken."""
    renewed: set[int] = field(default_factory=set)
    """Slots that a new formula has taken over, with the Q-function of one that is gone still in them."""

    def see(self, labels: Iterable[Label]) -> bool:
        """Takes note of labels; whether there was a new one."""
        new = sorted(set(labels) - self.labels, key=sorted)
        for label in new:
            self._change(label)
        return bool(new)

    def tell_again(self, changes: Iterable[Label | Conjunction]) -> None:
        """What another book was told."""
        for change in changes:
            self._change(change)
        self.renewed.clear()

    def _change(self, change: Label | Conjunction) -> None:
        """Changes the tree; a formula that stops being a root leaves its Q-function to its new root."""
        before = self.tree.roots
        if isinstance(change, Conjunction):
            if change in self.tree:
                return
            self.tree.add(change)
        else:
            self.labels |= {change}
            self.tree.observe(change)
        self.changes.append(change)
        heirs = inherited(before, self.tree)
        former = {root: heirs.get(root, root) for root in self.tree.roots}
        slots = {root: self.slots[own] for root, own in former.items() if own in self.slots}
        for root in self.tree.roots:
            if root not in slots:
                slots[root] = self._unused(slots.values())
        self.slots = {root: slots[root] for root in self.tree.roots}

    def _unused(self, taken: Collection[int]) -> int:
        """The first slot that nobody has; whoever had it before must be forgotten there."""
        slot = next(n for n in range(len(taken) + 1) if n not in taken)
        if slot < self.used:
            self.renewed.add(slot)
        self.used = max(self.used, slot + 1)
        return slot

    def guides(self, pool: Pool, mastered: Sequence[str]) -> list[RewardMachine]:
        """A machine of one edge for every formula that mastered machines are after."""
        formulas: dict[Conjunction, None] = {}
        for name in mastered:
            found = pool.learned.get(name)
            for edge in found.edges if found is not None else ():
                if edge.calls_leaf and found is not None and edge.target not in found.rejecting:
                    formulas |= dict.fromkeys(d for d in edge.formula.ordered() if self._is_seen(d))
        roots = dict.fromkeys(map(self.tree.root_of, formulas))
        return [machine(f"formula {n}", [Edge("u0", "uA", Formula(frozenset({root})))]) for n, root in enumerate(roots)]

    def _is_seen(self, formula: Conjunction) -> bool:
        return any(formula.holds(label) for label in self.labels)

    def write(self, pool: Pool, mastered: Sequence[str], *, alone: bool) -> dict[str, Any]:
        """The arrays of `Knowledge` that depend on what was learned. With `alone`, there is nobody to follow."""
        seen = tuple(sorted(self.labels, key=sorted))
        for formula in Menu(pool.hierarchy(pool.tasks[0].name), seen).formulas:
            self._change(formula)  # before guides are chosen: written twice, everything is the same
        extra = [] if alone else self.guides(pool, mastered)
        machines = (*pool.machines, *extra)
        whole = Hierarchy(machines[0].name, machines, pool.propositions)
        self.room = self.room.grown(capacity_for(whole))
        self.lowered = lower(
            [whole.rooted(m.name) for m in machines], propositions=pool.propositions, capacity=self.room
        )
        self.menu = Menu(whole, seen)
        slots = Slots(self.tree, self.slots)
        self.option_room = self.option_room.grown(options_for(self.menu, slots))
        names = [task.name for task in pool.tasks]
        following = [] if alone else [names.index(n) for n in mastered if n in pool.learned]
        guides = np.zeros(self.room.machines, np.int32)
        chosen = [*following, *range(len(names), len(machines))]
        guides[: len(chosen)] = chosen
        return {
            "tables": self.lowered.tables,
            "options": tabulate(self.menu, slots, self.lowered, self.option_room),
            "root": jnp.arange(len(names), dtype=jnp.int32),
            "guide": jnp.asarray(guides),
            "is_guide": jnp.arange(self.room.machines) < len(chosen),
        }
