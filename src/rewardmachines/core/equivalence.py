"""Comparing hierarchies: the shortest trace on which they disagree.

Both run side by side on sets of labels: from each pair of configurations, the labels are split by the conditions met
there, never listed one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import LEAF, Edge
from rewardmachines.core.reachability import Starts
from rewardmachines.core.traversal import Verdict, show_label

Word: TypeAlias = tuple[Label, ...]


def difference(a: Hierarchy, b: Hierarchy, *, labels: Labels = None, events: bool = False) -> Word | None:
    """A shortest trace to which the two give different verdicts; None if there is none.

    `labels` restricts the labels that can occur, to a list of them or to those that satisfy a formula. With `events`,
    no two neighbouring labels are equal, as in the traces of a run.
    """
    return with_label_sets(
        [a, b],
        labels,
        lambda sets, allowed: _search(Configurations(a, sets), Configurations(b, sets), sets, allowed, events=events),
    )


def equivalent(a: Hierarchy, b: Hierarchy, *, labels: Labels = None, events: bool = False) -> bool:
    """Whether both give the same verdict on every trace."""
    return difference(a, b, labels=labels, events=events) is None


def interchangeable(a: Hierarchy, b: Hierarchy, *, labels: Labels = None) -> bool:
    """Whether one root can be called in place of the other: they also start on the same labels.

    More than `equivalent`: a machine that loops on its initial state starts, and then holds up its caller.
    """
    return with_label_sets(
        [a, b],
        labels,
        lambda sets, allowed: (
            _search(Configurations(a, sets, called=True), Configurations(b, sets, called=True), sets, allowed) is None
        ),
    )


class Configuration(NamedTuple):
    """A hierarchy state without its formulas: a machine, its state, and where each caller goes on."""

    machine: str
    state: str
    returns: tuple[tuple[str, str], ...] = ()
    is_waiting: bool = False
    """Whether the root has been offered a call that no label has started yet."""


class Configurations:
    """Where a hierarchy can go: δ on sets of labels."""

    def __init__(self, hierarchy: Hierarchy, sets: LabelSets, *, called: bool = False) -> None:
        self._hierarchy = hierarchy
        self._sets = sets
        self._starts = Starts(hierarchy, sets)
        self._moves: dict[Configuration, list[tuple[LabelSet, Configuration]]] = {}
        root = hierarchy[hierarchy.root]
        self.initial = Configuration(root.name, root.initial, is_waiting=called)

    def observe(self, at: Configuration) -> tuple[Verdict, bool]:
        """What can be told from outside: the verdict, and whether a call is still waiting to start."""
        machine = self._hierarchy[at.machine]
        if at.state in machine.rejecting:
            return Verdict.REJECT, False
        if at.state in machine.accepting and not at.returns:
            return Verdict.ACCEPT, False
        return Verdict.NEITHER, at.is_waiting

    def moves(self, at: Configuration) -> list[tuple[LabelSet, Configuration]]:
        """Disjoint sets of labels and where they lead; on all others nothing moves."""
        found = self._moves.get(at)
        if found is None:
            merged: dict[Configuration, LabelSet] = {}
            for labels, target in self._descend(at.machine, at.state, at.returns, EVERY):
                merged[target] = self._sets.either(merged.get(target, EMPTY), labels)
            found = self._moves[at] = [(labels, target) for target, labels in merged.items()]
        return found

    def _descend(
        self, machine: str, state: str, returns: tuple[tuple[str, str], ...], region: LabelSet
    ) -> Iterator[tuple[LabelSet, Configuration]]:
        for edge, labels in self._starting(machine, state, region):
            if edge.callee == LEAF:
                yield labels, self._ascend(machine, edge.target, returns)
            else:
                initial = self._hierarchy[edge.callee].initial
                yield from self._descend(edge.callee, initial, (*returns, (machine, edge.target)), labels)

    def _starting(self, machine: str, state: str, region: LabelSet) -> list[tuple[Edge, LabelSet]]:
        """The edges that start on some of the labels; raises if two start on the same."""
        found: list[tuple[Edge, LabelSet]] = []
        for edge in self._hierarchy[machine].outgoing(state):
            labels = self._sets.both(region, self._starts.of_edge(edge))
            for other, taken in found:
                if (common := self._sets.both(labels, taken)) != EMPTY:
                    label = show_label(self._sets.smallest(common))
                    raise NondeterminismError(
                        f"machine '{machine}', state '{state}': the label {label} starts both {other} and {edge}"
                    )
            if labels != EMPTY:
                found.append((edge, labels))
        return found

    def _ascend(self, machine: str, state: str, returns: tuple[tuple[str, str], ...]) -> Configuration:
        while returns and state in self._hierarchy[machine].accepting:
            (machine, state), returns = returns[-1], returns[:-1]
        return Configuration(machine, state, returns)


class _Node(NamedTuple):
    """A pair of configurations, and the last label if the next must differ from it."""

    a: Configuration
    b: Configuration
    last: Label | None


def _search(
    a: Configurations, b: Configurations, sets: LabelSets, allowed: LabelSet, *, events: bool = False
) -> Word | None:
    """Breadth first, so that the first disagreement is a shortest one.

    With events, what can follow depends on the last label only in that it must differ. Two last labels per pair, the
    first two found, are therefore enough: whatever comes next differs from one of them.
    """
    start = _Node(a.initial, b.initial, None)
    origin: dict[_Node, tuple[_Node, Label] | None] = {start: None}
    visits: dict[tuple[Configuration, Configuration], int] = {(start.a, start.b): 2 if not events else 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        if a.observe(node.a) != b.observe(node.b):
            return _trace(origin, node)
        for labels, next_a, next_b in _joint_moves(a, b, node, sets, allowed):
            pair = (next_a, next_b)
            rest = labels
            while rest != EMPTY and visits.get(pair, 0) < 2:
                label = sets.smallest(rest)
                rest = sets.minus(rest, sets.only(label)) if events else EMPTY
                following = _Node(next_a, next_b, label if events else None)
                if following not in origin:
                    origin[following] = (node, label)
                    visits[pair] = visits.get(pair, 0) + (1 if events else 2)
                    queue.append(following)
    return None


def _joint_moves(
    a: Configurations, b: Configurations, node: _Node, sets: LabelSets, allowed: LabelSet
) -> Iterator[tuple[LabelSet, Configuration, Configuration]]:
    region = allowed if node.last is None else sets.minus(allowed, sets.only(node.last))
    for labels_a, next_a in _moves_and_stay(a, node.a, sets, region):
        for labels_b, next_b in _moves_and_stay(b, node.b, sets, labels_a):
            yield labels_b, next_a, next_b


def _moves_and_stay(
    side: Configurations, at: Configuration, sets: LabelSets, region: LabelSet
) -> Iterator[tuple[LabelSet, Configuration]]:
    for labels, target in side.moves(at):
        common = sets.both(labels, region)
        if common != EMPTY:
            yield common, target
            region = sets.minus(region, common)
    if region != EMPTY:
        yield region, at


def _trace(origin: dict[_Node, tuple[_Node, Label] | None], node: _Node) -> Word:
    word: list[Label] = []
    while (step := origin[node]) is not None:
        node, label = step
        word.append(label)
    return tuple(reversed(word))
