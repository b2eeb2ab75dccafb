"""The smallest machines with the same verdicts.

Flat machines are brought to the one minimal machine. In a hierarchy this is done machine by machine: states are merged
that agree on context, callee and target, where contexts count only on the labels that start the callee, and callees
are the same if one can be called in place of the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.formula import Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import EMPTY, EVERY, Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.moves import Moves
from rewardmachines.core.reachability import Reachability
from rewardmachines.core.twins import Twins


class Callees:
    """The machines that can be called so far, and their representatives.

    Args:
        sets: The label sets that conditions are compared in.
        allowed: The labels that can occur.
        root: The root machine, which is never merged.
        merge: Whether machines that can be called in place of each other become one.
    """

    def __init__(self, sets: LabelSets, allowed: LabelSet, root: str, *, merge: bool) -> None:
        self._sets = sets
        self._root = root
        self._merge = merge
        self._twins = Twins(Moves(sets, allowed), sets, allowed)
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self.kept: dict[str, RewardMachine] = {}
        self.representatives = {LEAF: LEAF}
        """For every machine added, the one to call in its place."""
        self.starts = {LEAF: EVERY}
        """For every machine kept, the labels on which a call of it starts."""

    def add(self, machine: RewardMachine) -> None:
        """Keeps the machine, whose callees were added before, unless one kept earlier does the same."""
        twin = self._twin(machine) if self._merge and machine.name != self._root else None
        self.representatives[machine.name] = twin or machine.name
        if twin is None:
            self.kept[machine.name] = machine
            self.starts[machine.name] = self._starts(machine)

    def _starts(self, machine: RewardMachine) -> LabelSet:
        starts = EMPTY
        for edge in machine.outgoing(machine.initial):
            labels = self._sets.both(self._sets.of(edge.formula), self.starts[edge.callee])
            starts = self._sets.either(starts, labels)
        return starts

    def _twin(self, machine: RewardMachine) -> str | None:
        """A machine kept earlier that can be called instead; if there is none, this one is remembered."""
        number = self._numbers[machine.name] = self._twins.add(machine, self._numbers)
        first = self._names.setdefault(number, machine.name)
        return None if first == machine.name else first


def minimize(hierarchy: Hierarchy, labels: Labels = None, *, merge_machines: bool = True) -> Hierarchy:
    """An equivalent hierarchy without states, edges, literals and machines that add nothing.

    Not only the root keeps its verdicts, but every machine that is called and deterministic by itself. A machine that
    only the contexts of its calls make deterministic keeps what these calls can see of it, and no longer starts on
    labels on which two of its calls would: in the result, every machine is deterministic by itself. States are numbered
    breadth first, so that equivalent flat machines come out the same.

    Args:
        hierarchy: The hierarchy.
        labels: The labels on whose traces verdicts are kept; all labels, if not given. The result is deterministic on
            all labels all the same.
        merge_machines: Whether machines that can be called in place of each other become one.

    Raises:
        NondeterminismError: The hierarchy is not deterministic.

    >>> from rewardmachines import compile_task, flatten, minimize
    >>> flat = flatten(compile_task("(t ; b) | (u ; b)", {"t": "a ; c", "u": "d ; c"}))
    >>> len(minimize(flat)["task"].states) < len(flat["task"].states)
    True
    """
    return with_label_sets(
        [hierarchy], labels, lambda sets, allowed: _Minimizer(hierarchy, sets, allowed, merge_machines).result()
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
    owns = [callee_starts[start.callee] for start in starts]
    free = [sets.complement(sets.both(allowed, own)) for own in owns]
    if all(labels == EMPTY for labels in free):
        return [sets.cover(start.labels) for start in starts]
    taken = EMPTY
    waiting = [EMPTY]
    for start in reversed(starts[1:]):
        waiting.append(sets.either(waiting[-1], start.labels))
    formulas = []
    for start, own, anything in zip(starts, owns, free, strict=True):
        blocked = sets.both(own, sets.either(taken, waiting.pop()))
        formula = sets.cover(start.labels, sets.minus(sets.either(start.labels, anything), blocked))
        taken = sets.either(taken, sets.both(sets.of(formula), own))
        formulas.append(formula)
    return formulas


class _Minimizer:
    def __init__(self, hierarchy: Hierarchy, sets: LabelSets, allowed: LabelSet, merge_machines: bool) -> None:
        self._hierarchy = hierarchy
        self._sets = sets
        self._allowed = allowed
        self._needs_context, self._reach = self._explore()
        self._callees = Callees(sets, allowed, hierarchy.root, merge=merge_machines)

    def _explore(self) -> tuple[frozenset[str], Reachability]:
        """Finds the machines that take the contexts of their calls to be tame, and what is reached.

        All other machines are kept whole, as tasks of their own.

        Raises:
            NondeterminismError: If not even contexts make the hierarchy deterministic.
        """
        names = {machine.name for machine in self._hierarchy.machines}
        whole = Reachability(self._hierarchy, self._sets, self._allowed, alone=names)
        if not whole.conflicts:
            return frozenset(), whole
        called = Reachability(self._hierarchy, self._sets, self._allowed)
        if called.conflicts:
            raise NondeterminismError(str(called.conflicts[0]))
        clashing = frozenset(
            machine.name
            for machine in self._hierarchy.reachable()
            if Reachability(self._hierarchy.rooted(machine.name), self._sets, self._allowed).conflicts
        )
        return clashing, Reachability(self._hierarchy, self._sets, self._allowed, alone=names - clashing)

    def result(self) -> Hierarchy:
        entered = [m for m in self._hierarchy.machines if m.name in self._reach.states]
        for machine in sorted(entered, key=lambda m: self._hierarchy.heights[m.name]):
            self._callees.add(self._minimized(machine))
        kept = tuple(self._callees.kept[m.name] for m in entered if m.name in self._callees.kept)
        whole = Hierarchy(self._hierarchy.root, kept, self._hierarchy.propositions)
        called = {m.name for m in whole.reachable()}
        return replace(whole, machines=tuple(m for m in kept if m.name in called))

    def _minimized(self, machine: RewardMachine) -> RewardMachine:
        starts = self._ways_out(machine)
        classes = _refine(machine, starts, self._sets)
        merged = self._merge(machine, starts, classes)
        return self._rebuilt(machine, merged, classes)

    def _ways_out(self, machine: RewardMachine) -> dict[str, list[Start]]:
        """The ways out of each state that is reached."""
        states = self._reach.states[machine.name]
        starts: dict[str, list[Start]] = {state: [] for state in machine.states if state in states}
        for edge in machine.edges:
            if (machine.name, edge) in self._reach.edges:
                callee = self._callees.representatives[edge.callee]
                labels = self._sets.both(self._sets.of(edge.formula), self._callees.starts[callee])
                starts[edge.source].append(Start(self._sets.both(self._allowed, labels), callee, edge.target))
                starts.setdefault(edge.target, [])  # never reached if the callee never returns
        if machine.name in self._needs_context:
            starts[machine.initial] = self._disjoint(starts[machine.initial])
        return starts

    def _disjoint(self, starts: list[Start]) -> list[Start]:
        """The ways out without labels that several share: the contexts of all calls keep these away."""
        taken = clashing = EMPTY
        for start in starts:
            clashing = self._sets.either(clashing, self._sets.both(taken, start.labels))
            taken = self._sets.either(taken, start.labels)
        return [replace(start, labels=self._sets.minus(start.labels, clashing)) for start in starts]

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
            formulas = guards(self._sets, self._allowed, starts, self._callees.starts)
            edges += [Edge(names[here], s.target, f, s.callee) for s, f in zip(starts, formulas, strict=True)]
        rejecting = frozenset({REJECTING} & set(names.values()))
        last = [ACCEPTING, *rejecting]
        initial = names[classes[machine.initial]]
        return RewardMachine(
            name=machine.name,
            states=(*inner, *last),
            edges=tuple(edges),
            initial=initial,
            accepting=frozenset({ACCEPTING}),
            rejecting=rejecting,
        )

    def _ordered(self, ways: dict[tuple[str, int], LabelSet]) -> list[tuple[LabelSet, tuple[str, int]]]:
        """The ways out of a class, in an order that depends on the labels alone."""
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
