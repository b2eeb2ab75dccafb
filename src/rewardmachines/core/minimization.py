"""The smallest machines with the same verdicts.

Flat machines are brought to the one minimal machine. In a hierarchy this is done machine by machine: states are merged
that agree on context, callee and target, where contexts count only on the labels that start the callee, and callees
are the same if one can be called in place of the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rewardmachines.core.equivalence import interchangeable
from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.formula import Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.reachability import Reachability
from rewardmachines.core.sizes import flat_size


def minimize(hierarchy: Hierarchy, labels: Labels = None, *, merge_machines: bool = True) -> Hierarchy:
    """An equivalent hierarchy without states, edges, literals and (if `merge_machines`) machines that add nothing.

    Not only the root keeps its verdicts, but every machine that is called. States are numbered breadth first, so that
    equivalent flat machines come out the same. With `labels`, verdicts are kept on traces of these labels only; the
    result is deterministic on all labels all the same.
    """
    return with_label_sets(
        [hierarchy], labels, lambda sets, allowed: _Minimizer(hierarchy, sets, allowed, labels).result(merge_machines)
    )


@dataclass(frozen=True, slots=True)
class Start:
    """A way out of a state: the labels on which it starts, the machine called, and where it leads."""

    labels: LabelSet
    callee: str
    target: str


def guards(
    sets: LabelSets, allowed: LabelSet, starts: Sequence[Start], callee_starts: dict[str, LabelSet]
) -> list[Formula]:
    """Irredundant formulas for the ways out of one state, which must start on disjoint sets of labels.

    A context need not repeat what the callee demands itself, and may do anything on labels that cannot occur, except
    start together with another.
    """
    taken = EMPTY
    waiting = [EMPTY]
    for start in reversed(starts[1:]):
        waiting.append(sets.either(waiting[-1], start.labels))
    formulas = []
    for start in starts:
        own = callee_starts[start.callee]
        free = sets.complement(sets.both(allowed, own))
        blocked = sets.both(own, sets.either(taken, waiting.pop()))
        formula = sets.cover(start.labels, sets.minus(sets.either(start.labels, free), blocked))
        taken = sets.either(taken, sets.both(sets.of(formula), own))
        formulas.append(formula)
    return formulas


class _Minimizer:
    def __init__(self, hierarchy: Hierarchy, sets: LabelSets, allowed: LabelSet, labels: Labels) -> None:
        self._hierarchy = hierarchy
        self._sets = sets
        self._allowed = allowed
        self._labels = labels
        self._reach = self._explore()
        self._kept: dict[str, RewardMachine] = {}
        self._representative = {LEAF: LEAF}
        self._callee_starts = {LEAF: EVERY}

    def _explore(self) -> Reachability:
        """Machines are kept whole, as tasks of their own, unless it takes the contexts of their calls to tame them."""
        alone = Reachability(self._hierarchy, self._sets, self._allowed, alone=True)
        if not alone.conflicts:
            return alone
        called = Reachability(self._hierarchy, self._sets, self._allowed)
        if called.conflicts:
            raise NondeterminismError(str(called.conflicts[0]))
        return called

    def result(self, merge_machines: bool) -> Hierarchy:
        entered = [m for m in self._hierarchy.machines if m.name in self._reach.states]
        for machine in sorted(entered, key=lambda m: self._hierarchy.heights[m.name]):
            self._add(self._minimized(machine), merge=merge_machines and machine.name != self._hierarchy.root)
        kept = tuple(self._kept[m.name] for m in entered if m.name in self._kept)
        whole = Hierarchy(self._hierarchy.root, kept, self._hierarchy.propositions)
        called = {m.name for m in whole.reachable()}
        return replace(whole, machines=tuple(m for m in kept if m.name in called))

    def _add(self, machine: RewardMachine, *, merge: bool) -> None:
        starts = self._starts(machine)
        if merge and (twin := self._twin(machine, starts)) is not None:
            self._representative[machine.name] = twin
            return
        self._kept[machine.name] = machine
        self._representative[machine.name] = machine.name
        self._callee_starts[machine.name] = starts

    def _starts(self, machine: RewardMachine) -> LabelSet:
        starts = EMPTY
        for edge in machine.outgoing(machine.initial):
            labels = self._sets.both(self._sets.of(edge.formula), self._callee_starts[edge.callee])
            starts = self._sets.either(starts, labels)
        return starts

    def _twin(self, machine: RewardMachine, starts: LabelSet) -> str | None:
        """A machine kept earlier that can be called instead."""
        for other in self._kept.values():
            if other.name == self._hierarchy.root or self._on_allowed(starts) != self._on_allowed(
                self._callee_starts[other.name]
            ):
                continue
            if replace(other, name=machine.name) == machine or self._are_interchangeable(machine, other):
                return other.name
        return None

    def _on_allowed(self, labels: LabelSet) -> LabelSet:
        return self._sets.both(self._allowed, labels)

    def _are_interchangeable(self, machine: RewardMachine, other: RewardMachine) -> bool:
        machines = (*self._kept.values(), machine)
        a, b = (Hierarchy(m.name, machines, self._hierarchy.propositions) for m in (machine, other))
        # Larger ones are told apart by their form alone: to compare them would take their flat size in steps.
        if max(flat_size(a).states, flat_size(b).states) > _MAX_COMPARED_STATES:
            return False
        return interchangeable(a, b, labels=self._labels)

    def _minimized(self, machine: RewardMachine) -> RewardMachine:
        starts = self._ways_out(machine)
        classes = _refine(machine, starts, self._sets)
        merged = self._merge(machine, starts, classes)
        return self._rebuilt(machine, merged, classes)

    def _ways_out(self, machine: RewardMachine) -> dict[str, list[Start]]:
        """From each state that is reached, what can start there."""
        states = self._reach.states[machine.name]
        starts: dict[str, list[Start]] = {state: [] for state in machine.states if state in states}
        for edge in machine.edges:
            if (machine.name, edge) in self._reach.edges:
                labels = self._on_allowed(self._reach.starts.of_edge(edge))
                starts[edge.source].append(Start(labels, self._representative[edge.callee], edge.target))
                starts.setdefault(edge.target, [])  # never reached if the callee never returns
        return starts

    def _merge(
        self, machine: RewardMachine, starts: dict[str, list[Start]], classes: dict[str, int]
    ) -> dict[int, dict[tuple[str, int], LabelSet]]:
        """The ways out of each class of states, by callee and class of the target."""
        merged: dict[int, dict[tuple[str, int], LabelSet]] = {}
        # The initial state comes first: it stands for its class, for it alone decides on which labels a call starts.
        for state in sorted(starts, key=lambda s: s != machine.initial):
            if classes[state] not in merged:
                merged[classes[state]] = _signature(state, starts[state], classes, self._sets)
        if machine.name != self._hierarchy.root:
            own = classes[machine.initial]
            loop = EMPTY
            for start in starts[machine.initial]:
                if start.callee == LEAF and classes[start.target] == own:
                    loop = self._sets.either(loop, start.labels)
            if loop != EMPTY:
                merged[own][LEAF, own] = loop
        return merged

    def _rebuilt(
        self, machine: RewardMachine, merged: dict[int, dict[tuple[str, int], LabelSet]], classes: dict[str, int]
    ) -> RewardMachine:
        """Names the classes breadth first and writes the formulas."""
        names = {classes[s]: ACCEPTING for s in machine.accepting if s in classes}
        names |= {classes[s]: REJECTING for s in machine.rejecting if s in classes}
        queue = deque([classes[machine.initial]])
        if classes[machine.initial] not in names:
            names[classes[machine.initial]] = "u0"
        inner = [n for n in names.values() if n == "u0"]
        edges: list[Edge] = []
        while queue:
            here = queue.popleft()
            ordered = self._ordered(merged[here])
            for _, callee_and_target in ordered:
                target = callee_and_target[1]
                if target not in names:
                    names[target] = f"u{len(inner)}"
                    inner.append(names[target])
                    queue.append(target)
            starts = [Start(labels, callee, names[target]) for labels, (callee, target) in ordered]
            formulas = guards(self._sets, self._allowed, starts, self._callee_starts)
            edges += [Edge(names[here], s.target, f, s.callee) for s, f in zip(starts, formulas, strict=True)]
        rejecting = frozenset({REJECTING} & set(names.values()))
        last = [ACCEPTING, *rejecting]
        initial = names[classes[machine.initial]]
        return RewardMachine(machine.name, (*inner, *last), tuple(edges), initial, frozenset({ACCEPTING}), rejecting)

    def _ordered(self, ways: dict[tuple[str, int], LabelSet]) -> list[tuple[LabelSet, tuple[str, int]]]:
        """In an order that depends on the labels alone."""
        return sorted(((labels, key) for key, labels in ways.items()), key=lambda way: str(self._sets.cover(way[0])))


def _refine(machine: RewardMachine, starts: dict[str, list[Start]], sets: LabelSets) -> dict[str, int]:
    """The coarsest partition in which the states of a class have the same ways out (Moore).

    States that can be merged are equally far from the terminal states, which splits long chains at once.
    """
    to_accepting = _distances(starts, machine.accepting)
    to_rejecting = _distances(starts, machine.rejecting)
    classes = _number({s: (to_accepting.get(s), to_rejecting.get(s)) for s in starts})
    while True:
        refined = _number({s: (classes[s], *_signature(s, starts[s], classes, sets).items()) for s in starts})
        if len(set(refined.values())) == len(set(classes.values())):
            return classes
        classes = refined


def _signature(
    state: str, starts: Iterable[Start], classes: dict[str, int], sets: LabelSets
) -> dict[tuple[str, int], LabelSet]:
    """The labels on which each callee starts towards each class; moving within the class is as good as staying."""
    signature: dict[tuple[str, int], LabelSet] = {}
    for start in starts:
        key = (start.callee, classes[start.target])
        if key != (LEAF, classes[state]):
            signature[key] = sets.either(signature.get(key, EMPTY), start.labels)
    return dict(sorted(signature.items()))


def _number(keys: dict[str, object]) -> dict[str, int]:
    numbers: dict[object, int] = {}
    return {state: numbers.setdefault(key, len(numbers)) for state, key in keys.items()}


def _distances(starts: dict[str, list[Start]], goals: Iterable[str]) -> dict[str, int]:
    sources: dict[str, list[str]] = {}
    for state, ways in starts.items():
        for way in ways:
            sources.setdefault(way.target, []).append(state)
    distances = dict.fromkeys(goals, 0)
    queue = deque(distances)
    while queue:
        state = queue.popleft()
        for source in sources.get(state, ()):
            if source not in distances:
                distances[source] = distances[state] + 1
                queue.append(source)
    return distances


_MAX_COMPARED_STATES: Final = 5_000
