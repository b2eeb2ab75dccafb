"""Which tasks and instances are trained on: rather those that still go badly, level by level (Section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError

REVISITS: Final = 0.05
"""The share of episodes of tasks that were given up and may still be learned."""

Returns = np.ndarray[Any, np.dtype[np.float64]]
"""By task and instance."""


@dataclass(frozen=True)
class Curriculum:
    """Running returns of greedy episodes, and the level that they have earned. Every change is a new one."""

    levels: tuple[int, ...]
    """Of each task, from 1."""
    instances: int
    weight: float
    """What is kept of a running return when a new one comes in: β."""
    threshold: float
    """What every running return of a level must exceed for the next level to begin."""
    level: int = 1
    """All tasks up to it are trained on; one more than the highest when everything is mastered."""
    running: tuple[tuple[float, ...], ...] = ()
    dropped: tuple[int, ...] = ()
    """Tasks that were given up: nothing waits for them."""
    revisited: tuple[int, ...] = ()
    """Those of them that may still be learned from new examples: they are trained on now and then."""

    def __post_init__(self) -> None:
        if not self.levels or min(self.levels) < 1 or self.instances < 1:
            raise RewardMachineError("a curriculum has tasks with levels from 1, and at least one instance")
        if not 0 <= self.weight < 1:
            raise RewardMachineError(f"the weight of old returns lies between 0 and 1, not {self.weight}")
        if not self.running:
            object.__setattr__(self, "running", ((0.0,) * self.instances,) * len(self.levels))

    @property
    def returns(self) -> Returns:
        return np.array(self.running)

    @property
    def is_active(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which tasks are trained on."""
        return (np.array(self.levels) <= self.level) & ~self.is_dropped

    @property
    def is_dropped(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        return np.isin(np.arange(len(self.levels)), self.dropped)

    @property
    def is_mastered(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which tasks belong to levels that are completed: they may be called, and explored with."""
        return np.array(self.levels) < self.level

    def chances(self) -> Returns:
        """How likely each pair is to be trained on next; they sum to one.

        A task as its worst instance, 1 - R; within it an instance likewise. Where nothing is left to gain, all alike.
        """
        if not self.is_active.any():
            raise RewardMachineError("there is no task left to train on")
        missing = np.where(self.is_active[:, None], np.clip(1 - self.returns, 0, 1), 0.0)
        tasks, within = missing.max(axis=1), missing.sum(axis=1, keepdims=True)
        if tasks.sum() <= 0:
            missing = np.broadcast_to(self.is_active[:, None], missing.shape).astype(float)
            tasks, within = missing.max(axis=1), missing.sum(axis=1, keepdims=True)
        instances = np.divide(missing, within, out=np.zeros_like(missing), where=within > 0)
        chances: Returns = (tasks / tasks.sum())[:, None] * instances
        return self._with_revisits(chances)

    def _with_revisits(self, chances: Returns) -> Returns:
        """A small share of the episodes goes to tasks that were given up, all alike: new examples may help them."""
        again = np.isin(np.arange(len(self.levels)), self.revisited) & (np.array(self.levels) <= self.level)
        if not again.any():
            return chances
        shared = np.where(again[:, None], 1.0 / (again.sum() * self.instances), 0.0)
        mixed: Returns = (1 - REVISITS) * chances + REVISITS * shared
        return mixed

    def evaluated(self, returns: Returns) -> Curriculum:
        """After a greedy episode of every active pair; what is said of other tasks does not count."""
        mixed = self.weight * self.returns + (1 - self.weight) * returns
        kept = np.where(self.is_active[:, None], mixed, self.returns)
        return replace(self, running=_frozen(kept))._risen()

    def _risen(self) -> Curriculum:
        """One level up if the present one is mastered: all its running returns are above the threshold."""
        here = (np.array(self.levels) == self.level) & ~self.is_dropped
        if self.level > max(self.levels) or (self.returns[here] <= self.threshold).any():
            return self
        return replace(self, level=self.level + 1)

    def relearned(self, task: int) -> Curriculum:
        """After a new machine: the task has everything to show again, and its level becomes the present one.

        A task that was given up is one to be learned again.
        """
        returns = self.returns
        returns[task] = 0
        return replace(
            self,
            running=_frozen(returns),
            level=min(self.level, self.levels[task]),
            dropped=tuple(one for one in self.dropped if one != task),
            revisited=tuple(one for one in self.revisited if one != task),
        )

    def given_up(self, task: int, *, for_good: bool = True) -> Curriculum:
        """Without the task. If nobody is left on this level, the next one begins.

        Args:
            task: Which one.
            for_good: Whether new examples cannot help. Otherwise it is trained on now and then.
        """
        dropped = tuple(sorted({*self.dropped, task}))
        revisited = {*self.revisited} - {task} if for_good else {*self.revisited, task}
        level = self.level
        while level <= max(self.levels) and all(i in dropped for i, own in enumerate(self.levels) if own <= level):
            level += 1
        return replace(self, dropped=dropped, revisited=tuple(sorted(revisited)), level=level)


def _frozen(returns: Returns) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in returns)


def curriculum(levels: Sequence[int], instances: int, *, weight: float, threshold: float) -> Curriculum:
    """At the beginning: nothing has been returned yet."""
    return Curriculum(tuple(levels), instances, weight, threshold)
