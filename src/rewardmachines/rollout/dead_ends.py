"""Checks of LHRM's assumption that all tasks share their dead ends.

Formula options learn from the steps of all tasks, and avoid the dead ends of all of them; a machine that is called and
rejects makes its caller reject. Both are right only if a dead end of one task is a dead end of every task. Labels are
compared, not states, so findings are evidence, not proofs, and their absence proves nothing either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import show_label

LEAST: Final = 10
"""The number of times that a label must be observed in each task before there is a finding."""

MUST_BE_SHARED: Final = (
    "What is a dead end in one task must be one in all: options learn from the steps of all tasks to avoid it, "
    "and a machine that is called and rejects makes its caller reject."
)


class DeadEndWarning(UserWarning):
    """Dead ends do not satisfy the assumption of LHRM."""


class Sight(Enum):
    """The event that a label indicated in an episode.

    PASSED: the episode went on. GOAL, DEAD_END: it ended there. HIDDEN: it ended in a dead end that no label shows: the
    label was empty, or still that of the step before.
    """

    PASSED = "passed"
    GOAL = "goal"
    DEAD_END = "dead end"
    HIDDEN = "hidden"


def sight(label: Label, *, is_event: bool, is_goal: bool, is_dead_end: bool) -> Sight | None:
    """The event that the label of a step indicated; None if it is empty or did not change.

    Args:
        label: The label after the step.
        is_event: Whether it differs from the label before.
        is_goal: Whether the episode ended at the goal.
        is_dead_end: Whether it ended in a dead end.
    """
    if is_dead_end:
        return Sight.DEAD_END if label and is_event else Sight.HIDDEN
    if not is_event or not label:
        return None
    return Sight.GOAL if is_goal else Sight.PASSED


@dataclass(frozen=True)
class NotShared:
    """The finding that a label is a dead end of one task and none of another."""

    label: Label
    dead_in: str
    """The task in which it is a dead end."""
    alive_in: str
    """The task in which it is none."""
    dead_ends: int
    """The number of dead ends of the first task at the label."""
    passed: int
    """The number of times that the second task went on at the label."""
    goals: int
    """The number of times that the second task reached its goal at the label."""

    def __str__(self) -> str:
        ways = [
            f"went on {_times(self.passed)}" if self.passed else "",
            f"reached the goal {_times(self.goals)}" if self.goals else "",
        ]
        return (
            f"at the label {show_label(self.label)}, '{self.dead_in}' ended in a dead end {_times(self.dead_ends)}, "
            f"while '{self.alive_in}' {' and '.join(filter(None, ways))}. {MUST_BE_SHARED} "
            f"Let '{self.alive_in}' end there, too, or let '{self.dead_in}' go on"
        )


@dataclass(frozen=True)
class NotShown:
    """The finding that a task has dead ends that no label shows."""

    task: str
    dead_ends: int

    def __str__(self) -> str:
        return (
            f"'{self.task}' ended in a dead end {_times(self.dead_ends)} without a label of its own: there was none, "
            "or the same as one step before. A dead end that no label shows cannot be learned as one, so the task will "
            "be given up. Let a proposition be true at dead ends"
        )


Finding: TypeAlias = NotShared | NotShown


class DeadEnds:
    """Counters of the events that labels indicated, by task. Each finding is reported once."""

    def __init__(self, least: int = LEAST) -> None:
        self._least = least
        self._counts: Counter[tuple[str, Label, Sight]] = Counter()
        self._told: set[tuple[str | Label, ...]] = set()

    def see(self, task: str, label: Label, what: Sight, times: int = 1) -> None:
        """Counts a label. Hidden dead ends are counted together, whatever their labels."""
        self._counts[task, frozenset() if what is Sight.HIDDEN else label, what] += times

    @property
    def counts(self) -> dict[tuple[str, Label, Sight], int]:
        """The number of events of each kind for each label, by task."""
        return dict(self._counts)

    def news(self) -> list[Finding]:
        """The findings that were not reported before."""
        return [*self._not_shown(), *self._not_shared()]

    def _not_shown(self) -> list[Finding]:
        return [
            NotShown(task, times)
            for (task, _, what), times in self._counts.items()
            if what is Sight.HIDDEN and times >= self._least and self._is_new((task,))
        ]

    def _not_shared(self) -> list[Finding]:
        tasks = dict.fromkeys(task for task, _, _ in self._counts)
        return [
            self._not_shared_by(label, dead, alive)
            for dead, label, what in self._counts
            if what is Sight.DEAD_END and self._is_dead(dead, label)
            for alive in tasks
            if self._is_alive(alive, label) and self._is_new((dead, alive, label))
        ]

    def _not_shared_by(self, label: Label, dead: str, alive: str) -> NotShared:
        passed, goals = self._survived(alive, label)
        return NotShared(
            label=label,
            dead_in=dead,
            alive_in=alive,
            dead_ends=self._counts[dead, label, Sight.DEAD_END],
            passed=passed,
            goals=goals,
        )

    def _is_dead(self, task: str, label: Label) -> bool:
        """Whether a label was a dead end often enough, and mostly: otherwise the dead end depends on earlier labels."""
        ends = self._counts[task, label, Sight.DEAD_END]
        return ends >= self._least and ends >= sum(self._survived(task, label))

    def _is_alive(self, task: str, label: Label) -> bool:
        """Whether a label was seen often enough, and never at a dead end."""
        return not self._counts[task, label, Sight.DEAD_END] and sum(self._survived(task, label)) >= self._least

    def _survived(self, task: str, label: Label) -> tuple[int, int]:
        """The number of times that the task went on at the label, and that it reached its goal there."""
        return self._counts[task, label, Sight.PASSED], self._counts[task, label, Sight.GOAL]

    def _is_new(self, what: tuple[str | Label, ...]) -> bool:
        """Whether a finding is new; it is then marked as reported."""
        is_new = what not in self._told
        self._told.add(what)
        return is_new


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
