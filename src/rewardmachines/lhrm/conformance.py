"""Conformance testing: which pairs of a state of a task's machine and a label were tried, and which are still open.

A machine that explains all traces can be wrong where no episode has been. Its states and the labels that were seen make
pairs. A pair is *tried* by an episode in which the label was an event in this state, and which then ended at the goal
or at a dead end as the machine says. Of a machine that was tried often enough on each pair, a bound can be stated on
the chance that an error of it was overlooked (`overlooked`); after a number of episodes, none can.

The machine of a task may call others, so a state is a *position*: the state of the task's own machine, the machine that
runs, and its state. Where a machine that runs was called by a third one, the state of that one is not told apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, step, verdict_of

POSITIONS: Final = 64
"""Positions of a task that are counted; those beyond are not tested."""
EVENTS: Final = 32
"""Labels that are counted, the first that were seen; those beyond are not tested."""
VAIN: Final = 10
"""Pursuits of a pair, for each try that is asked for, after which the pair counts as out of reach."""
CLOSED: Final = 2**20
"""The effort of a pair that is not to be pursued: more than any other."""
EMPTY: Final = -1
"""The number of the empty label. It is seen without being pursued, so its pairs are ways, and are not counted."""


class Position(NamedTuple):
    """A state of a task's hierarchy."""

    root: str
    """The state of the task's own machine; while it calls another, the state in which it made the call."""
    machine: str
    """The machine that runs."""
    state: str
    """The state of the machine that runs."""


def position_of(state: HierarchyState) -> Position:
    """The position of a hierarchy state."""
    return Position(state.stack[0].source if state.stack else state.state, state.machine, state.state)


@dataclass(frozen=True)
class PairTries:
    """The tries of a pair of a position and a label."""

    position: tuple[str, ...]
    label: frozenset[str]
    tried: int
    """Episodes that have tried the pair."""
    pursued: int
    """Episodes in which the label was pursued from this position, with success or in vain."""


@dataclass(frozen=True)
class TestProgress:
    """How far the tests of a task's machine are. A new machine begins anew."""

    __test__ = False  # not a class of tests for pytest

    tries: tuple[PairTries, ...] = ()
    """The pairs that were tried or pursued."""
    pairs: int = 0
    """The pairs whose positions can be reached by way of pairs that were tried."""
    covered: int = 0
    """Those of them that were tried often enough."""
    out_of_reach: int = 0
    """The others of them that were pursued in vain too often."""

    @property
    def is_complete(self) -> bool:
        """Whether no pair is open."""
        return 0 < self.pairs == self.covered + self.out_of_reach

    def __str__(self) -> str:
        vain = f", {self.out_of_reach:,} are out of reach" if self.out_of_reach else ""
        return f"{self.covered:,} of {self.pairs:,} pairs of a state and a label{vain}"


@dataclass(frozen=True)
class Positions:
    """The positions of a hierarchy, by their numbers, and where labels lead from them."""

    hierarchy: Hierarchy
    """The hierarchy, reduced to the machines that it needs."""
    labels: tuple[Label, ...]
    """The labels, by their numbers."""
    numbers: Mapping[Position, int]
    after: Mapping[tuple[int, int], frozenset[int]]
    """The positions after each pair, and after the empty label; without an entry, the episode is over."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, labels: Sequence[Label]) -> Positions:
        """The first positions of a hierarchy, the initial one first, that these labels lead to."""
        numbers: dict[Position, int] = {}
        after = dict[tuple[int, int], set[int]]()
        start = initial_state(hierarchy)
        numbers[position_of(start)] = 0
        found, left = {start}, [start]
        for state in left:  # grows
            here = numbers[position_of(state)]
            for event, label in enumerate((frozenset[str](), *labels), start=EMPTY):
                following = step(hierarchy, state, label)
                if verdict_of(hierarchy, following) is not Verdict.NEITHER:
                    continue
                position = position_of(following)
                if position not in numbers and len(numbers) == POSITIONS:
                    continue
                after.setdefault((here, event), set()).add(numbers.setdefault(position, len(numbers)))
                if following not in found:
                    found.add(following)
                    left.append(following)
        return cls(hierarchy, tuple(labels), numbers, {pair: frozenset(ends) for pair, ends in after.items()})

    def arrays(self, tries: Iterable[PairTries]) -> tuple[Any, Any]:
        """The numbers of tries and of pursuits by position and label; those of unknown pairs are left out."""
        tried, pursued = np.zeros((2, POSITIONS, EVENTS), np.int32)
        events = {label: number for number, label in enumerate(self.labels)}
        for one in tries:
            number, event = self.numbers.get(Position(*one.position)), events.get(one.label)
            if number is not None and event is not None:
                tried[number, event], pursued[number, event] = one.tried, one.pursued
        return tried, pursued

    def tries(self, tried: Any, pursued: Any) -> tuple[PairTries, ...]:
        """The tries in arrays by position and label."""
        names = tuple(self.numbers)
        return tuple(
            PairTries(tuple(names[i]), self.labels[j], int(tried[i, j]), int(pursued[i, j]))
            for i, j in np.argwhere((tried > 0) | (pursued > 0)).tolist()
            if i < len(names) and j < len(self.labels)
        )

    def reached(self, tried: Any) -> Any:
        """A mask of the pairs whose positions are reached by way of pairs that were tried, from the initial one on."""
        found, left = {0}, [0]
        for here in left:  # grows
            for event in (EMPTY, *np.flatnonzero(tried[here]).tolist()):
                new = self.after.get((here, event), frozenset()) - found
                found |= new
                left += sorted(new)
        mask = np.zeros((POSITIONS, EVENTS), bool)
        mask[sorted(found), : len(self.labels)] = True
        return mask

    def leading(self, is_open: Any) -> Any:
        """A mask of the pairs that lead on to positions from which an open pair is reached."""
        wanted, ways = set(np.flatnonzero(is_open.any(axis=1)).tolist()), np.zeros((POSITIONS, EVENTS), bool)
        while True:
            leading = [pair for pair, ends in self.after.items() if (ends - {pair[0]}) & wanted]
            more = wanted.union(here for here, _ in leading)
            if more == wanted:
                break
            wanted = more
        for here, event in leading:
            if event != EMPTY:
                ways[here, event] = True
        return ways


@dataclass
class Testing:
    """The tests of the machines of all tasks. All that changes is in the progress of tasks; the rest is derived."""

    __test__ = False

    wanted: int
    """Tries of each pair."""
    labels: tuple[Label, ...] = ()
    """The labels that were seen, in the order of their numbers, without the empty one."""
    _positions: dict[str, Positions] = field(default_factory=dict)

    def positions(self, hierarchy: Hierarchy) -> Positions:
        """The positions of a task's hierarchy, which is reduced to the machines that it needs."""
        known = self._positions.get(hierarchy.root)
        if known is None or known.labels != self.labels or known.hierarchy != hierarchy:
            known = self._positions[hierarchy.root] = Positions.of(hierarchy, self.labels)
        return known

    def counted(self, before: TestProgress, hierarchy: Hierarchy, tried: Any = 0, pursued: Any = 0) -> TestProgress:
        """The progress after more tries and pursuits, by position and label."""
        known = self.positions(hierarchy)
        old_tried, old_pursued = known.arrays(before.tries)
        tried, pursued = old_tried + tried, old_pursued + pursued
        reached, covered, vain = self._judged(known, tried, pursued)
        return TestProgress(
            tries=known.tries(tried, pursued),
            pairs=int(reached.sum()),
            covered=int((reached & covered).sum()),
            out_of_reach=int((reached & vain).sum()),
        )

    def _judged(self, known: Positions, tried: Any, pursued: Any) -> tuple[Any, Any, Any]:
        """Masks of the pairs that are reached, covered, and out of reach."""
        covered = tried >= self.wanted
        return known.reached(tried), covered, ~covered & (pursued >= VAIN * self.wanted)

    def efforts(self, progress: TestProgress, hierarchy: Hierarchy) -> Any:
        """The effort that each pair has had, tries and pursuits together; `CLOSED` for those not worth pursuing.

        Worth it are open pairs, and those that lead on to open ones: these are ways that policies may never take.
        """
        known = self.positions(hierarchy)
        tried, pursued = known.arrays(progress.tries)
        reached, covered, vain = self._judged(known, tried, pursued)
        is_open = reached & ~covered & ~vain
        return np.where(is_open | (reached & known.leading(is_open)), tried + pursued, CLOSED).astype(np.int32)


def overlooked(pairs: int, tries: int, share: float) -> float:
    """A bound on the chance that an error was overlooked, min(1, K (1 - ε)^n).

    It holds for errors that show: if the machine is wrong at a pair, each episode in which the label is an event there,
    and which is not cut off, ends otherwise than the machine says with a probability of at least ε, whatever came of
    the episodes before.

    Args:
        pairs: The number K of pairs that were tried often enough.
        tries: The number n of tries of each.
        share: The probability ε.

    >>> f"{overlooked(20, 10, 0.5):.3f}"
    '0.020'
    """
    return min(1.0, pairs * (1 - share) ** tries)
