"""Reachability in a hierarchy: the calls that can start, return, or clash, and the labels after which they do."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import LEAF, Edge
from rewardmachines.core.traversal import show_label


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two edges out of one state that a label starts both."""

    machine: str
    state: str
    first: Edge
    second: Edge
    label: Label

    def __str__(self) -> str:
        return (
            f"machine '{self.machine}', state '{self.state}': the label {show_label(self.label)} starts both "
            f"{self.first} and {self.second}"
        )


def check_determinism(hierarchy: Hierarchy, labels: Labels = None) -> list[Conflict]:
    """The conflicts that some trace runs into; none if and only if no traversal can ever raise.

    Exact in both directions: a chain of calls whose conditions contradict each other cannot start, and a state that no
    trace reaches cannot clash.

    Args:
        hierarchy: The hierarchy.
        labels: The labels of traces; all labels over the propositions, if not given.

    Returns:
        A conflict for each pair of calls that one label could start at once.

    >>> from rewardmachines import check_determinism, hierarchy, machine
    >>> both = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "!b")]))
    >>> [sorted(conflict.label) for conflict in check_determinism(both)]
    [['a']]
    """
    return with_label_sets([hierarchy], labels, lambda sets, allowed: Reachability(hierarchy, sets, allowed).conflicts)


class Starts:
    """The labels that start a call: exit conditions as label sets."""

    def __init__(self, hierarchy: Hierarchy, sets: LabelSets) -> None:
        self._hierarchy = hierarchy
        self._sets = sets
        self._of_machine: dict[str, LabelSet] = {LEAF: EVERY}

    def of_edge(self, edge: Edge) -> LabelSet:
        """The labels that satisfy the edge's formula and start its callee."""
        return self._sets.both(self._sets.of(edge.formula), self.of_machine(edge.callee))

    def of_machine(self, machine: str) -> LabelSet:
        """The exit condition of the machine's initial state, under context `true`."""
        labels = self._of_machine.get(machine)
        if labels is None:
            labels = EMPTY
            called = self._hierarchy[machine]
            for edge in called.outgoing(called.initial):
                labels = self._sets.either(labels, self.of_edge(edge))
            self._of_machine[machine] = labels
        return labels


class Reachability:
    """Every machine, state and edge that some trace of allowed labels reaches, and the conflicts on the way.

    Of the machines that are reached, those in `alone` are also run by themselves, as roots on traces of their own.
    """

    def __init__(self, hierarchy: Hierarchy, sets: LabelSets, allowed: LabelSet, *, alone: Container[str] = ()) -> None:
        self.starts = Starts(hierarchy, sets)
        self.states: dict[str, set[str]] = {}
        self.edges: set[tuple[str, Edge]] = set()
        self._hierarchy = hierarchy
        self._sets = sets
        self._allowed = allowed
        self._conflicts: dict[tuple[str, Edge, Edge], Conflict] = {}
        self._returns: dict[tuple[str, LabelSet], bool] = {}
        self._enter(hierarchy.root, allowed)
        while called := [name for name in self.states if name in alone and (name, allowed) not in self._returns]:
            for name in called:
                self._enter(name, allowed)

    @property
    def conflicts(self) -> list[Conflict]:
        """The conflicts that were met, in the order of the machines."""
        order = {m.name: i for i, m in enumerate(self._hierarchy.machines)}
        return sorted(self._conflicts.values(), key=lambda c: order[c.machine])

    def _enter(self, machine: str, entry: LabelSet) -> bool:
        """Explores the machine, started on one of these labels; whether it can return."""
        if machine == LEAF:
            return True
        key = (machine, entry)
        if key not in self._returns:
            self._returns[key] = self._explore(machine, entry)
        return self._returns[key]

    def _explore(self, name: str, entry: LabelSet) -> bool:
        machine = self._hierarchy[name]
        reached = self.states.setdefault(name, set())
        reached.add(machine.initial)
        here: set[str] = set()
        waiting = [(machine.initial, entry)]
        while waiting:
            state, region = waiting.pop()
            for edge in self._passable(name, state, region):
                if edge.target not in here:
                    here.add(edge.target)
                    waiting.append((edge.target, self._allowed))
        reached |= here
        return bool(here & machine.accepting)

    def _passable(self, machine: str, state: str, region: LabelSet) -> Iterable[Edge]:
        """The edges that can be taken to their end when the next label is one of the region."""
        started = [
            (edge, self._sets.both(region, self.starts.of_edge(edge)))
            for edge in self._hierarchy[machine].outgoing(state)
        ]
        clashing = self._clashes(machine, state, started)
        for edge, labels in started:
            clear = self._sets.minus(labels, clashing)
            if clear == EMPTY:
                continue
            self.edges.add((machine, edge))
            if self._enter(edge.callee, clear):
                yield edge

    def _clashes(self, machine: str, state: str, started: list[tuple[Edge, LabelSet]]) -> LabelSet:
        clashing = EMPTY
        for i, (first, labels) in enumerate(started):
            for second, others in started[i + 1 :]:
                common = self._sets.both(labels, others)
                if common != EMPTY:
                    clashing = self._sets.either(clashing, common)
                    label = self._sets.smallest(common)
                    conflict = Conflict(machine, state, first, second, label)
                    self._conflicts.setdefault((machine, first, second), conflict)
        return clashing
