"""The options of some machines, by name: the choices in every state, under every context, and their Q-functions.

An *output* of a machine is a pair of callee and disjunct that occurs on its edges; its Q-function has a value for each
output. A *context* is the conjunction of the disjuncts chosen at the levels above, while the option stack was filled.
One disjunct is chosen at each level, so contexts and the formulas of formula options are conjunctions, finitely many.

Without lookahead, options with the same formula share a Q-function, whichever machine chose them. With lookahead, an
option is worth more where the next option is within reach, so there is a Q-function for each formula and each place
where the task goes on when the formula is satisfied. The number of a Q-function is its *slot*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from rewardmachines.agents.options.formula_tree import FormulaTree
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine

TRUE: Final = Conjunction()

Output = tuple[str, Conjunction]
"""Callee and disjunct."""


@dataclass(frozen=True)
class OptionSet:
    """The options of some machines, by name."""

    pool: Hierarchy
    """The machines."""
    labels: tuple[Label, ...]
    """Labels that can be observed, or that have been observed so far."""
    before: tuple[Conjunction, ...] = ()
    """Contexts of an earlier set. They keep their numbers, since stored experiences refer to them by number."""

    @cached_property
    def outputs(self) -> Mapping[str, tuple[Output, ...]]:
        """The outputs of each machine, each once, in the order of its edges."""
        return {machine.name: tuple(dict.fromkeys(_outputs(machine))) for machine in self.pool.machines}

    @cached_property
    def entries(self) -> tuple[tuple[str, Conjunction], ...]:
        """Pairs of a machine and a context in which it can be entered; every machine can be entered under `true`."""
        found = dict.fromkeys((machine.name, TRUE) for machine in self.pool.machines)
        waiting = list(found)
        while waiting:
            for edge, _, below in self.ways(*waiting.pop()):
                if not edge.calls_leaf and (edge.callee, below) not in found:
                    found[edge.callee, below] = None
                    waiting.append((edge.callee, below))
        return tuple(found)

    @cached_property
    def contexts(self) -> tuple[Conjunction, ...]:
        """All contexts, `true` first and those of the earlier set next, so that numbers stay."""
        return tuple(dict.fromkeys((TRUE, *self.before, *(context for _, context in self.entries))))

    @cached_property
    def formulas(self) -> tuple[Conjunction, ...]:
        """The formulas of formula options, which include their contexts."""
        return tuple(dict.fromkeys(f for entry in self.entries for edge, _, f in self.ways(*entry) if edge.calls_leaf))

    def ways(self, name: str, context: Conjunction) -> Iterator[tuple[Edge, Conjunction, Conjunction]]:
        """The edges and disjuncts that may be chosen in a machine that was entered under a context.

        Under `true`, any state may be the present one; under another context, the machine was just called and is in
        its initial state.

        Args:
            name: The machine.
            context: The conjunction of the callers' disjuncts.

        Yields:
            An edge, one of its disjuncts that does not contradict the context, and the conjunction of both.
        """
        machine = self.pool[name]
        edges = machine.edges if context == TRUE else machine.outgoing(machine.initial)
        for edge in edges:
            for disjunct in edge.formula.ordered():
                if not disjunct.contradicts(context):
                    yield edge, disjunct, joined(context, disjunct)

    def is_possible(self, edge: Edge, below: Conjunction) -> bool:
        """Whether the labels allow an option to achieve its goal.

        Args:
            edge: The edge that the option follows.
            below: The conjunction of its disjunct and its context.
        """
        if edge.calls_leaf:
            return self.is_seen(below)
        return self._can_succeed(edge.callee, below)

    def is_seen(self, formula: Conjunction) -> bool:
        """Whether a label satisfies the formula."""
        return any(formula.holds(label) for label in self.labels)

    @cached_property
    def _known(self) -> dict[tuple[str, Conjunction], bool]:
        """Known results of `_can_succeed`."""
        return {}

    def _can_succeed(self, name: str, context: Conjunction) -> bool:
        """Whether a path of possible edges leads from the initial state, entered under the context, to acceptance."""
        key = (name, context)
        if key not in self._known:
            machine = self.pool[name]
            reached = self._targets(machine, machine.initial, context)
            waiting = list(reached)
            while waiting:
                following = self._targets(machine, waiting.pop(), TRUE) - reached
                reached |= following
                waiting.extend(following)
            self._known[key] = bool(reached & machine.accepting)
        return self._known[key]

    def ending(self, name: str) -> frozenset[str]:
        """The states from which possible edges lead to acceptance or rejection."""
        machine = self.pool[name]
        possible = [edge for edge, _, below in self.ways(name, TRUE) if self.is_possible(edge, below)]
        found = {state for state in machine.states if machine.is_terminal(state)}
        while more := {edge.source for edge in possible if edge.target in found} - found:
            found |= more
        return frozenset(found)

    def _targets(self, machine: RewardMachine, state: str, context: Conjunction) -> set[str]:
        """The states to which one possible option leads."""
        ways = self.ways(machine.name, context)
        return {edge.target for edge, _, below in ways if edge.source == state and self.is_possible(edge, below)}


def joined(context: Conjunction, disjunct: Conjunction) -> Conjunction:
    """The conjunction of both."""
    return Conjunction(context.required | disjunct.required, context.forbidden | disjunct.forbidden)


def _outputs(machine: RewardMachine) -> Iterator[Output]:
    """The outputs of all edges, with repetitions."""
    for edge in machine.edges:
        for disjunct in edge.formula.ordered():
            yield edge.callee, disjunct


def power_set(propositions: Iterable[str]) -> tuple[Label, ...]:
    """Every set of propositions, as labels."""
    labels = [frozenset[str]()]
    for proposition in propositions:
        labels += [label | {proposition} for label in labels]
    return tuple(labels)


# -- the Q-functions of formulas


@dataclass(frozen=True)
class Slots:
    """The numbers of the Q-functions that formulas use."""

    tree: FormulaTree
    """The formula tree, by which formulas share Q-functions."""
    numbers: Mapping[Conjunction, int] = field(default_factory=dict)
    """The number of the Q-function of each root of the tree."""

    def of(self, formula: Conjunction) -> int:
        """The number of the Q-function that a formula uses."""
        return self.numbers[self.tree.root_of(formula)]


def slots_for(option_set: OptionSet) -> Slots:
    """Assigns a Q-function to every class of formulas that agree on the labels."""
    tree = tree_for(option_set)
    return Slots(tree, {root: number for number, root in enumerate(tree.roots)})


def tree_for(option_set: OptionSet) -> FormulaTree:
    """The formula tree of all labels and formulas of an option set."""
    tree = FormulaTree()
    for label in option_set.labels:
        tree.observe(label)
    for formula in option_set.formulas:
        tree.add(formula)
    return tree


# -- with lookahead


class Following(NamedTuple):
    """The place where a task goes on when an option has achieved its goal: a machine and its state."""

    machine: str
    state: str


Aim: TypeAlias = tuple[Conjunction, Following | None]
"""A formula, and the place where the task goes on after it; None if the task is then over."""


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
