"""Whether tasks share their dead ends, as LHRM takes for granted, going by what is seen of them.

Options for formulas learn from the steps of all tasks, and avoid what was a dead end in any of them; a machine that is
called and rejects makes its caller reject. Both are right only if a dead end of one task is one of every task. States
are not compared, only labels are: what is found is a sign, not a proof, and nothing found is no proof either.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import show_label

LEAST: Final = 10
"""How often something must have been seen in each task before it is said."""

MUST_BE_SHARED: Final = (
    "What is a dead end in one task must be one in all: options learn from the steps of all tasks to avoid it, "
    "and a machine that is called and rejects makes its caller reject."
)


class DeadEndWarning(UserWarning):
    """Dead ends are not what LHRM takes them for."""


class Sight(Enum):
    """What a label stood for. HIDDEN: a dead end at which there was no label, or still the one of the step before."""

    PASSED = "passed"
    GOAL = "goal"
    DEAD_END = "dead end"
    HIDDEN = "hidden"


def sight(label: Label, *, is_event: bool, is_goal: bool, is_dead_end: bool) -> Sight | None:
    """What there is to say of a step; nothing where labels do not change."""
    if is_dead_end:
        return Sight.DEAD_END if label and is_event else Sight.HIDDEN
    if not is_event or not label:
        return None
    return Sight.GOAL if is_goal else Sight.PASSED


@dataclass(frozen=True)
class NotShared:
    """A label that is a dead end of one task and none of another."""

    label: Label
    dead_in: str
    alive_in: str
    dead_ends: int
    passed: int
    goals: int

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
    """Dead ends of a task that no label shows."""

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
    """Counts what labels stood for, task by task, and says each finding once."""

    def __init__(self, least: int = LEAST) -> None:
        self._least = least
        self._counts: Counter[tuple[str, Label, Sight]] = Counter()
        self._told: set[tuple[str | Label, ...]] = set()

    def see(self, task: str, label: Label, what: Sight, times: int = 1) -> None:
        """Hidden dead ends are counted together, whatever else was visible."""
        self._counts[task, frozenset() if what is Sight.HIDDEN else label, what] += times

    def news(self) -> list[Finding]:
        """What was not said before."""
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
            NotShared(label, dead, alive, times, *self._survived(alive, label))
            for (dead, label, what), times in self._counts.items()
            if what is Sight.DEAD_END and self._is_dead(dead, label)
            for alive in tasks
            if self._is_alive(alive, label) and self._is_new((dead, alive, label))
        ]

    def _is_dead(self, task: str, label: Label) -> bool:
        """Often enough, and as a rule: where it depends on what was before, it may in other tasks, too."""
        ends = self._counts[task, label, Sight.DEAD_END]
        return ends >= self._least and ends >= sum(self._survived(task, label))

    def _is_alive(self, task: str, label: Label) -> bool:
        """Often enough, and without exception."""
        return not self._counts[task, label, Sight.DEAD_END] and sum(self._survived(task, label)) >= self._least

    def _survived(self, task: str, label: Label) -> tuple[int, int]:
        return self._counts[task, label, Sight.PASSED], self._counts[task, label, Sight.GOAL]

    def _is_new(self, what: tuple[str | Label, ...]) -> bool:
        """Takes note that it was said."""
        is_new = what not in self._told
        self._told.add(what)
        return is_new


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
