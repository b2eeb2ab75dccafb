"""Sets of labels, however many propositions there are: reduced ordered decision diagrams.

A set is a number. Equal sets are the same number, so that equivalence of formulas is a comparison, and partition
refinement can use sets as keys. `cover` goes back to a formula, an irredundant one (Minato–Morreale).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NewType, TypeAlias, TypeVar

from rewardmachines.core.errors import TooLargeError, UnknownPropositionError
from rewardmachines.core.formula import MAX_DISJUNCTS, Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.text import parse_formula

LabelSet = NewType("LabelSet", int)

Labels: TypeAlias = Iterable[Iterable[str]] | Formula | str | None
"""The labels that can occur: those listed, those that satisfy a formula, or (None) all."""

EMPTY: Final = LabelSet(0)
EVERY: Final = LabelSet(1)

Result = TypeVar("Result")


class LabelSets:
    """The sets of labels over some propositions, tested in the given order."""

    def __init__(self, propositions: Iterable[str], max_nodes: int = 500_000) -> None:
        self.propositions = tuple(dict.fromkeys(propositions))
        self._level = {p: i for i, p in enumerate(self.propositions)}
        self._max_nodes = max_nodes
        last = len(self.propositions)
        self._nodes: list[tuple[int, LabelSet, LabelSet]] = [(last, EMPTY, EMPTY), (last, EVERY, EVERY)]
        self._numbers: dict[tuple[int, LabelSet, LabelSet], LabelSet] = {}
        self._both: dict[tuple[LabelSet, LabelSet], LabelSet] = {}
        self._complements: dict[LabelSet, LabelSet] = {EMPTY: EVERY, EVERY: EMPTY}
        self._formulas: dict[Formula, LabelSet] = {}
        self._covers: dict[tuple[LabelSet, LabelSet], tuple[LabelSet, Formula]] = {}
        self._fewest: dict[LabelSet, tuple[int, Label]] = {EVERY: (0, frozenset())}

    # -- building

    def of(self, formula: Formula) -> LabelSet:
        """The labels that satisfy the formula."""
        labels = self._formulas.get(formula)
        if labels is None:
            labels = self._union([self._of_conjunction(d) for d in formula.ordered()])
            self._formulas[formula] = labels
        return labels

    def of_labels(self, labels: Iterable[Iterable[str]]) -> LabelSet:
        """Exactly these labels."""
        return self._union([self.only(label) for label in labels])

    def only(self, label: Iterable[str]) -> LabelSet:
        """The set of this one label."""
        label = frozenset(label)
        return self._of_conjunction(Conjunction(label, frozenset(self.propositions) - label))

    def allowed(self, labels: Iterable[Iterable[str]] | Formula | None) -> LabelSet:
        """The labels that can occur."""
        if labels is None:
            return EVERY
        return self.of(labels) if isinstance(labels, Formula) else self.of_labels(labels)

    def _of_conjunction(self, conjunction: Conjunction) -> LabelSet:
        try:
            levels = sorted((self._level[p], p) for p in conjunction.propositions)
        except KeyError as missing:
            raise UnknownPropositionError(f"the proposition '{missing.args[0]}' is not declared") from None
        labels = EVERY
        for level, proposition in reversed(levels):
            low, high = (EMPTY, labels) if proposition in conjunction.required else (labels, EMPTY)
            labels = self._node(level, low, high)
        return labels

    def _union(self, sets: list[LabelSet]) -> LabelSet:
        """Halves against halves, so that no large set is built up step by step."""
        while len(sets) > 1:
            sets = [self.either(*sets[i : i + 2]) if i + 1 < len(sets) else sets[i] for i in range(0, len(sets), 2)]
        return sets[0] if sets else EMPTY

    def _node(self, level: int, low: LabelSet, high: LabelSet) -> LabelSet:
        if low == high:
            return low
        key = (level, low, high)
        number = self._numbers.get(key)
        if number is None:
            if len(self._nodes) >= self._max_nodes:
                raise TooLargeError("the conditions are too entangled to be analyzed: split them over more states")
            number = self._numbers[key] = LabelSet(len(self._nodes))
            self._nodes.append(key)
        return number

    # -- algebra

    def both(self, a: LabelSet, b: LabelSet) -> LabelSet:
        """The labels that are in both sets."""
        if a == b or b == EVERY:
            return a
        if a == EVERY:
            return b
        if a == EMPTY or b == EMPTY:
            return EMPTY
        key = (a, b) if a < b else (b, a)
        common = self._both.get(key)
        if common is None:
            level, a_low, a_high, b_low, b_high = self._split(a, b)
            common = self._node(level, self.both(a_low, b_low), self.both(a_high, b_high))
            self._both[key] = common
        return common

    def complement(self, a: LabelSet) -> LabelSet:
        """The labels that are not in the set."""
        others = self._complements.get(a)
        if others is None:
            level, low, high = self._nodes[a]
            others = self._node(level, self.complement(low), self.complement(high))
            self._complements[a] = others
            self._complements[others] = a
        return others

    def either(self, a: LabelSet, b: LabelSet) -> LabelSet:
        """The labels that are in at least one of the sets."""
        if a == b or b == EMPTY:
            return a
        if a == EMPTY:
            return b
        return self.complement(self.both(self.complement(a), self.complement(b)))

    def minus(self, a: LabelSet, b: LabelSet) -> LabelSet:
        """The labels that are in the first set and not in the second."""
        if a == EMPTY or b == EMPTY:
            return a
        return self.both(a, self.complement(b))

    def _split(self, a: LabelSet, b: LabelSet) -> tuple[int, LabelSet, LabelSet, LabelSet, LabelSet]:
        """The first level tested by either, and the halves of both there."""
        (level_a, a_low, a_high), (level_b, b_low, b_high) = self._nodes[a], self._nodes[b]
        if level_a < level_b:
            return level_a, a_low, a_high, b, b
        if level_b < level_a:
            return level_b, a, a, b_low, b_high
        return level_a, a_low, a_high, b_low, b_high

    # -- reading

    def smallest(self, a: LabelSet) -> Label:
        """A label of a non-empty set, with as few propositions as possible."""
        return self._smallest(a)[1]

    def _smallest(self, a: LabelSet) -> tuple[int, Label]:
        smallest = self._fewest.get(a)
        if smallest is None:
            level, low, high = self._nodes[a]
            without = self._smallest(low) if low != EMPTY else None
            size, label = self._smallest(high) if high != EMPTY else (0, frozenset())
            if without is not None and (high == EMPTY or without[0] <= size + 1):
                smallest = without
            else:
                smallest = (size + 1, label | {self.propositions[level]})
            self._fewest[a] = smallest
        return smallest

    def cover(self, lower: LabelSet, upper: LabelSet | None = None) -> Formula:
        """An irredundant formula true on `lower` and false outside `upper` (`lower` itself, if not given)."""
        if len(self._covers) > _MAX_COVERS:
            self._covers.clear()
        return self._cover(lower, lower if upper is None else upper)[1]

    def _cover(self, lower: LabelSet, upper: LabelSet) -> tuple[LabelSet, Formula]:
        if lower == EMPTY:
            return EMPTY, Formula()
        if upper == EVERY:
            return EVERY, Formula(frozenset({Conjunction()}))
        if (known := self._covers.get((lower, upper))) is not None:
            return known
        level, low0, low1, up0, up1 = self._split(lower, upper)
        proposition = self.propositions[level]
        # What can only be covered with the proposition false, or only with it true; the rest can do without it.
        set0, cover0 = self._cover(self.minus(low0, up1), up0)
        set1, cover1 = self._cover(self.minus(low1, up0), up1)
        rest = self.either(self.minus(low0, set0), self.minus(low1, set1))
        set2, cover2 = self._cover(rest, self.both(up0, up1))
        disjuncts = {Conjunction(c.required, c.forbidden | {proposition}) for c in cover0.disjuncts}
        disjuncts |= {Conjunction(c.required | {proposition}, c.forbidden) for c in cover1.disjuncts}
        if len(disjuncts) + len(cover2.disjuncts) > MAX_DISJUNCTS:
            raise TooLargeError(f"a condition takes more than {MAX_DISJUNCTS:,} disjuncts to write down")
        covered = self.either(self._node(level, set0, set1), set2)
        self._covers[lower, upper] = result = (covered, Formula(frozenset(disjuncts) | cover2.disjuncts))
        return result


def with_label_sets(
    hierarchies: Iterable[Hierarchy], labels: Labels, work: Callable[[LabelSets, LabelSet], Result]
) -> Result:
    """Does the work with label sets for these hierarchies and the labels that can occur.

    Propositions are tested in alphabetical order, so that the result does not depend on how things are written. The
    few sets that explode in that order get a second chance in the order in which the formulas mention them.
    """
    hierarchies = tuple(hierarchies)
    if isinstance(labels, str):
        labels = parse_formula(labels)
    elif labels is not None and not isinstance(labels, Formula):
        labels = tuple(frozenset(label) for label in labels)
    known = sorted({p for h in hierarchies for p in h.propositions} | _mentioned(labels))
    try:
        sets = LabelSets(known, max_nodes=400_000)
        return work(sets, sets.allowed(labels))
    except (TooLargeError, RecursionError):
        pass
    try:
        formulas = [edge.formula for h in hierarchies for machine in h.machines for edge in machine.edges]
        formulas += [labels] if isinstance(labels, Formula) else []
        sets = LabelSets([*in_order_of_mention(formulas), *known], max_nodes=2_000_000)
        return work(sets, sets.allowed(labels))
    except RecursionError:
        raise TooLargeError("the conditions mention too many propositions to be analyzed together") from None


def _mentioned(labels: tuple[Label, ...] | Formula | None) -> Label:
    if labels is None:
        return frozenset()
    return labels.propositions if isinstance(labels, Formula) else frozenset().union(*labels)


def in_order_of_mention(formulas: Iterable[Formula]) -> list[str]:
    """Propositions in an order that keeps their decision diagrams small: those of one disjunct stand together.

    Formulas of many disjuncts come first: it is they that explode.
    """
    by_size = sorted(formulas, key=lambda formula: -len(formula.disjuncts))
    mentioned = (p for formula in by_size for disjunct in formula.ordered() for p in sorted(disjunct.propositions))
    return list(dict.fromkeys(mentioned))


_MAX_COVERS: Final = 200_000
