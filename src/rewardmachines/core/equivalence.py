"""Comparing hierarchies: the shortest trace on which they disagree.

Both run side by side on sets of labels: from each pair of configurations, the labels are split by the conditions met
there, never listed one by one. Nor is the flat form of either walked through: while both are inside calls that behave
alike, nothing can differ before these return.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from rewardmachines.core.configurations import Configurations, representatives
from rewardmachines.core.errors import NondeterminismError
from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels, LabelSet, LabelSets, with_label_sets
from rewardmachines.core.moves import Frame, Frames, Moves
from rewardmachines.core.pair_search import Path, search, search_events
from rewardmachines.core.reachability import Reachability
from rewardmachines.core.twins import Twins

Word: TypeAlias = tuple[Label, ...]


def difference(a: Hierarchy, b: Hierarchy, *, labels: Labels = None, events: bool = False) -> Word | None:
    """A shortest trace to which the two give different verdicts; None if there is none.

    Args:
        a: A hierarchy.
        b: The other one.
        labels: Restricts the labels that can occur, to a list of them or to those that satisfy a formula.
        events: Whether no two neighbouring labels are equal, as in the traces of a run.

    Raises:
        NondeterminismError: If one of them is found not to be deterministic.
        TooLargeError: If the comparison or the trace would be too large.
    """
    return with_label_sets([a, b], labels, lambda sets, allowed: _Comparison(a, b, sets, allowed).word(events=events))


def equivalent(a: Hierarchy, b: Hierarchy, *, labels: Labels = None, events: bool = False) -> bool:
    """Whether two hierarchies give the same verdict on every trace.

    Args:
        a: One of them.
        b: The other one.
        labels: The labels of traces; all labels over the propositions of both, if not given.
        events: Whether only traces count in which no label repeats the one before.

    Raises:
        NondeterminismError: One of them is not deterministic.
        TooLargeError: They are too large to be compared.

    >>> from rewardmachines import compile_task, equivalent, flatten
    >>> task = compile_task("t ; t", {"t": "a ; b"})
    >>> equivalent(task, flatten(task))
    True
    """
    if events:
        return difference(a, b, labels=labels, events=True) is None
    return with_label_sets([a, b], labels, lambda sets, allowed: _Comparison(a, b, sets, allowed).path() is None)


def interchangeable(a: Hierarchy, b: Hierarchy, *, labels: Labels = None) -> bool:
    """Whether one root can be called in place of the other: they also start on the same labels.

    More than `equivalent`: a machine that loops on its initial state starts, and then holds up its caller.

    Args:
        a: One of them.
        b: The other one.
        labels: The labels of traces; all labels over the propositions of both, if not given.
    """
    return with_label_sets(
        [a, b], labels, lambda sets, allowed: _Comparison(a, b, sets, allowed).roots_are_interchangeable()
    )


class _Comparison:
    """Two hierarchies side by side."""

    def __init__(self, a: Hierarchy, b: Hierarchy, sets: LabelSets, allowed: LabelSet) -> None:
        self._hierarchies = (a, b)
        self._sets = sets
        self._allowed = allowed
        self._moves = Moves(sets, allowed)
        twins = Twins(self._moves, sets, allowed)
        self._roots = (twins.add_hierarchy(a), twins.add_hierarchy(b))
        initial = [self._moves.initial(root) for root in self._roots]
        self._configurations = Configurations(self._moves, sets, representatives(self._moves, sets, self._is_shared))
        self._start = (self._configurations.of(initial[0]), self._configurations.of(initial[1]))

    def _is_shared(self, frame: Frame) -> bool:
        """Frames of the roots lie at the bottom of every stack: a search meets each of them a few times at most."""
        return not any(self._moves.is_of(frame, root) for root in self._roots)

    def word(self, *, events: bool) -> Word | None:
        if not events:
            path = self.path()
            return None if path is None else path.word(self._moves, self._sets)
        try:
            path = self.path()
        except NondeterminismError:  # perhaps only traces with equal neighbours run into it
            return self._word_of_events()
        if path is None:
            return None
        word = path.word(self._moves, self._sets)
        is_possible = all(is_event(before, label) for before, label in pairwise(word))
        return word if is_possible else self._word_of_events()

    def _word_of_events(self) -> Word | None:
        """A shortest trace that separates the hierarchies, of those in which no label repeats the one before."""
        return search_events(self._configurations, self._start, self._sets, self._allowed)

    def path(self) -> Path | None:
        """The way to the first disagreement, which may be far too long to be written down."""
        path = search(self._configurations, self._start, self._allowed, self._length)
        if path is None and self._moves.clashes:
            self._check_determinism()
        return path

    def _length(self, frames: Frames) -> int:
        return sum(self._moves.returns[frame].length for frame in frames)

    def _check_determinism(self) -> None:
        """Calls that are alike were not looked into, and may hide a label that starts two calls."""
        for hierarchy in self._hierarchies:
            for conflict in Reachability(hierarchy, self._sets, self._allowed).conflicts:
                raise NondeterminismError(str(conflict))

    def roots_are_interchangeable(self) -> bool:
        a, b = self._roots
        return self._moves.starts(a) == self._moves.starts(b) and self.path() is None
