"""The options that there are: labels, the formula tree, slots of Q-functions, and the arrays made of all this."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Int32

from rewardmachines.agents.options.formula_tree import FormulaTree, inherited
from rewardmachines.agents.options.menu import Menu
from rewardmachines.agents.options.tables import OptionCapacity, OptionTables, Slots, tabulate
from rewardmachines.agents.options.tables import capacity_for as options_for
from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.exploration import STRATEGIES, Experience
from rewardmachines.lhrm.machine_pool import Pool, TaskSpec, without_machine_yet
from rewardmachines.lowered import Capacity, LoweredHierarchy, Tables, lower
from rewardmachines.lowered.hierarchy import capacity_for

# What new machines need should fit without compiling anew, but all room is computed with, whether it is in use or not.
ROOM: Final = Capacity(machines=32, states=8, chains=16, depth=4, edges=8, disjuncts=1)
OPTION_ROOM: Final = OptionCapacity(outputs=16, contexts=32, formulas=64, slots=16)
IDLE: Final = "no task"
"""The name of the idle machine, which never moves and has no options: agents wander with it."""


def room_for(tasks: Sequence[TaskSpec], propositions: Sequence[str]) -> Capacity:
    """The room for machines at first: as deep as the levels allow, with machines for the tasks and for guides."""
    machines = len(tasks) + len(propositions) + 8
    return replace(ROOM, machines=-(-machines // 8) * 8, depth=max(1, max(task.level for task in tasks) - 1))


class OptionArrays(NamedTuple):
    """The arrays of `Knowledge` that depend on machines and labels."""

    tables: Tables
    options: OptionTables
    root: Int32[Array, " T"]
    guide: Int32[Array, " G"]
    is_guide: Bool[Array, " G"]
    is_scout: Bool[Array, " G"]
    idle: Int32[Array, ""]


@dataclass(frozen=True)
class WrittenOptions:
    """Machines and options as arrays, and what the numbers in these stand for."""

    arrays: OptionArrays
    lowered: LoweredHierarchy
    """The machines, by their numbers."""
    menu: Menu
    """The options of each machine."""


@dataclass
class OptionRegistry:
    """What options depend on. `write` makes arrays of it, which keep their shapes until something outgrows its room."""

    labels: frozenset[Label] = frozenset()
    """All labels that were seen."""
    fatal: frozenset[Label] = frozenset()
    """Labels at which episodes have ended in dead ends."""
    tree: FormulaTree = field(default_factory=FormulaTree)
    """All formulas that options are after, with special ones below general ones."""
    slots: dict[Conjunction, int] = field(default_factory=dict)
    """Where the Q-function of each root of the tree is in its bank."""
    room: Capacity = field(default_factory=lambda: ROOM)
    """How large the arrays of machines are, and `option_room` those of options."""
    option_room: OptionCapacity = field(default_factory=lambda: OPTION_ROOM)
    contexts: tuple[Conjunction, ...] = ()
    """Contexts in the order of their numbers, which never change."""
    changes: list[Label | Conjunction] = field(default_factory=list)
    """The labels and formulas that the tree was told, in order. Told again, they make the same tree and slots."""
    used: int = 0
    """How many slots have ever been taken."""
    renewed: set[int] = field(default_factory=set)
    """Slots that new formulas have taken over from others, whose Q-functions are still in them."""

    @property
    def sizes(self) -> tuple[Capacity, OptionCapacity]:
        """The sizes of all arrays. While they stay the same, nothing is compiled anew."""
        return self.room, self.option_room

    def see(self, labels: Iterable[Label], fatal: Iterable[Label] = ()) -> bool:
        """Notes labels that were seen.

        Args:
            labels: The labels.
            fatal: Those at which episodes have ended in dead ends.

        Returns:
            Whether there was anything new.
        """
        new = sorted(set(labels) - self.labels, key=sorted)
        for label in new:
            self._change(label)
        before, self.fatal = self.fatal, self.fatal.union(fatal)
        return bool(new) or self.fatal != before

    def tell_again(self, changes: Iterable[Label | Conjunction]) -> None:
        """Repeats the changes of another registry, so that this one has its tree and its slots."""
        for change in changes:
            self._change(change)
        self.renewed.clear()

    def _change(self, change: Label | Conjunction) -> None:
        """Tells the tree a label or a formula. A formula that stops being a root leaves its slot to its new root."""
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
        """The first slot that is not taken. If it was before, the Q-function in it must begin afresh."""
        slot = next(n for n in range(len(taken) + 1) if n not in taken)
        if slot < self.used:
            self.renewed.add(slot)
        self.used = max(self.used, slot + 1)
        return slot

    def _is_seen(self, formula: Conjunction) -> bool:
        return any(formula.holds(label) for label in self.labels)

    def write(
        self,
        pool: Pool,
        mastered: Sequence[str],
        way: Exploration,
        trained: Collection[str] | None = None,
        *,
        wanders: bool = False,
    ) -> WrittenOptions:
        """Writes machines and options as arrays, and makes more room for them if they need it.

        Formulas are told before guides are chosen: what is written again, as when a run is resumed, is the same.

        Args:
            pool: The machines.
            mastered: The tasks that are explored with.
            way: How to explore.
            trained: The tasks whose formulas learn, beside those that are explored with; all, if not given.
            wanders: Whether agents wander, so that the idle machine is needed.
        """
        followed = (*pool.given, *(pool.learned[name] for name in mastered if name in pool.learned))
        guides = STRATEGIES[way](Experience(followed, self.labels, self.fatal))
        for formula in (*self._menu(pool.hierarchy(pool.tasks[0].name)).formulas, *guides.scouts):
            if self._is_seen(formula):
                self._change(formula)
        formulas = [f for f in dict.fromkeys(map(self.tree.root_of, guides.formulas)) if f not in guides.scouts]
        seekers = _seekers((*formulas, *guides.scouts))
        machines = (*pool.machines, *seekers, *([without_machine_yet(IDLE)] if wanders else []))
        whole = Hierarchy(machines[0].name, machines, pool.propositions)
        lowered, menu = self._lowered(whole), self._menu(whole)
        self.contexts = menu.contexts
        slots = Slots(self.tree, self.slots)
        self.option_room = self.option_room.grown(options_for(menu, slots))
        learning = None
        if trained is not None:
            learning = self._formulas_of(whole, {*trained, *guides.machines}) | {*formulas, *guides.scouts}
        names = [machine.name for machine in pool.machines]
        chosen = [*map(names.index, guides.machines), *range(len(names), len(names) + len(seekers))]
        options = tabulate(menu, slots, lowered, self.option_room, learning)
        if pool.given:
            options = options._replace(learns_calls=self._learning_machines(pool))
        arrays = self._arrays(lowered.tables, options, len(pool.tasks), chosen, len(guides.scouts), len(machines) - 1)
        return WrittenOptions(arrays, lowered, menu)

    def _learning_machines(self, pool: Pool) -> Bool[Array, " M"]:
        """All machines but those that are given: what to choose in these is known."""
        number, first = np.arange(self.room.machines), len(pool.tasks)
        learns: Bool[Array, " M"] = jax.device_put((number < first) | (number >= first + len(pool.given)))
        return learns

    def _arrays(
        self, tables: Tables, options: OptionTables, tasks: int, chosen: Sequence[int], scouts: int, idle: int
    ) -> OptionArrays:
        """The arrays of machines, options and guides.

        Args:
            tables: All machines, those of the tasks first.
            options: Their options.
            tasks: How many tasks there are.
            chosen: The numbers of the machines that are guides, scouts last.
            scouts: How many of them are scouts.
            idle: The number of the idle machine; any number, if nobody wanders.
        """
        guides = np.zeros(self.room.machines, np.int32)
        guides[: len(chosen)] = chosen
        numbers = np.arange(self.room.machines)
        return OptionArrays(
            tables=tables,
            options=options,
            root=jax.device_put(np.arange(tasks, dtype=np.int32)),
            guide=jax.device_put(guides),
            is_guide=jax.device_put(numbers < len(chosen)),
            is_scout=jax.device_put((numbers < len(chosen)) & (numbers >= len(chosen) - scouts)),
            idle=jax.device_put(np.int32(idle)),
        )

    def _formulas_of(self, whole: Hierarchy, tasks: Collection[str]) -> frozenset[Conjunction]:
        """The formulas of the machines of some tasks, and of those that they call."""
        if not tasks:
            return frozenset()
        needed = {machine.name: machine for task in tasks for machine in whole.rooted(task).reachable()}
        part = Hierarchy(min(needed), tuple(needed.values()), whole.propositions)
        return frozenset(self._menu(part).formulas)

    def _lowered(self, whole: Hierarchy) -> LoweredHierarchy:
        """All machines as arrays, each of them a root."""
        self.room = self.room.grown(capacity_for(whole))
        roots = [whole.rooted(machine.name) for machine in whole.machines]
        return lower(roots, propositions=whole.propositions, capacity=self.room)

    def _menu(self, whole: Hierarchy) -> Menu:
        return Menu(whole, tuple(sorted(self.labels, key=sorted)), self.contexts)


def _seekers(formulas: Iterable[Conjunction]) -> list[RewardMachine]:
    """A machine for each formula that accepts as soon as the formula holds."""
    return [machine(f"formula {n}", [Edge("u0", "uA", Formula(frozenset({one})))]) for n, one in enumerate(formulas)]
