"""The curriculum of tasks and instances: those with low returns are sampled more often, level by level (Section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError

REVISITS: Final = 0.05
"""The share of episodes for tasks that were given up but may still be learned."""

SUSPECTS: Final = 0.25
"""The share of episodes for tasks whose machines are suspect."""
LAST_SUSPECTS: Final = 0.75
"""The same share, once all returns are high."""

Returns = np.ndarray[Any, np.dtype[np.float64]]
"""Numbers by task and instance."""
Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""A choice of tasks."""


@dataclass(frozen=True)
class Curriculum:
    """Running returns of greedy episodes, and the level that they have earned. Changes make a new curriculum."""

    levels: tuple[int, ...]
    """The level of each task, from 1."""
    instances: int
    weight: float
    """The weight of the old running return in an update with a new return: β."""
    threshold: float
    """The threshold that every running return of a level must exceed for the next level to begin."""
    level: int = 1
    """The present level. All tasks up to it are trained on; it exceeds the highest when everything is mastered."""
    running: tuple[tuple[float, ...], ...] = ()
    """Running returns by task and instance."""
    dropped: tuple[int, ...] = ()
    """Tasks that were given up: levels do not wait for them."""
    revisited: tuple[int, ...] = ()
    """Tasks that were given up but may be learned from new examples: they are trained on now and then."""

    def __post_init__(self) -> None:
        if not self.levels or min(self.levels) < 1 or self.instances < 1:
            raise RewardMachineError("a curriculum has tasks with levels from 1, and at least one instance")
        if not 0 <= self.weight < 1:
            raise RewardMachineError(f"the weight of old returns lies between 0 and 1, not {self.weight}")
        if not self.running:
            object.__setattr__(self, "running", ((0.0,) * self.instances,) * len(self.levels))

    @property
    def returns(self) -> Returns:
        """The running returns as an array."""
        return np.array(self.running)

    @property
    def is_active(self) -> Mask:
        """The mask of tasks in training, without revisited ones."""
        return (np.array(self.levels) <= self.level) & ~self.is_dropped

    @property
    def is_dropped(self) -> Mask:
        """The mask of tasks that were given up."""
        return np.isin(np.arange(len(self.levels)), self.dropped)

    @property
    def is_mastered(self) -> Mask:
        """The mask of tasks of completed levels, which serve for exploration."""
        return np.array(self.levels) < self.level

    @property
    def is_passed(self) -> Mask:
        """The mask of tasks of completed levels, and of present ones with high returns in all instances."""
        return self.is_mastered | (self.is_active & (self.returns > self.threshold).all(axis=1))

    def chances(self, suspects: Sequence[int] = ()) -> Returns:
        """The probability of each pair of a task and an instance in the next episode.

        The score of a pair is 1 - R, where R is its running return. A task is as likely as its highest score, and an
        instance within the task as its own. If all scores are 0, all active pairs are equally likely. Tasks that were
        given up but may find new examples have a small share of the episodes, and suspect ones a larger one.

        Args:
            suspects: The numbers of tasks whose machines are suspect.

        Raises:
            RewardMachineError: Every task was given up.
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
        is_high = self.level > max(self.levels) or (self.returns[self.is_active] > self.threshold).all()
        share = LAST_SUSPECTS if is_high else SUSPECTS
        return self._with_share(self._with_share(chances, self.revisited, REVISITS), suspects, share)

    def _with_share(self, chances: Returns, tasks: Sequence[int], share: float) -> Returns:
        """Leaves a share of the episodes to some of the tasks up to the present level, all pairs alike."""
        chosen = np.isin(np.arange(len(self.levels)), tasks) & (np.array(self.levels) <= self.level)
        if not chosen.any():
            return chances
        shared = np.where(chosen[:, None], 1.0 / (chosen.sum() * self.instances), 0.0)
        mixed: Returns = (1 - share) * chances + share * shared
        return mixed

    def evaluated(self, returns: Returns, unconfirmed: Sequence[int] = (), judged: Mask | None = None) -> Curriculum:
        """The curriculum after a greedy episode of every judged task in each instance.

        Args:
            returns: The returns by task and instance. Those of tasks that are not active are ignored.
            unconfirmed: Tasks whose machines are not confirmed: their level is not mastered yet.
            judged: The mask of evaluated tasks; all active tasks, if not given.
        """
        counts = self.is_active if judged is None else self.is_active & judged
        mixed = self.weight * self.returns + (1 - self.weight) * returns
        kept = np.where(counts[:, None], mixed, self.returns)
        return replace(self, running=_frozen(kept))._risen(unconfirmed)

    def _risen(self, unconfirmed: Sequence[int]) -> Curriculum:
        """The curriculum at the first level that is not mastered.

        A level is mastered when all its running returns exceed the threshold and its machines are confirmed. Several
        levels may be mastered at once, as after a machine of a low level was relearned.
        """
        is_low: Mask = np.any(self.returns <= self.threshold, axis=1) | np.isin(
            np.arange(len(self.levels)), unconfirmed
        )
        level, levels = self.level, np.array(self.levels)
        while level <= max(self.levels) and not (is_low & ~self.is_dropped)[levels == level].any():
            level += 1
        return replace(self, level=level)

    def relearned(self, task: int) -> Curriculum:
        """The curriculum after a new machine: the task's returns become 0, and its level the present one.

        A task that was given up is no longer.
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
        """The curriculum without a task. If no task is left up to the present level, the next one begins.

        Args:
            task: The number of the task.
            for_good: Whether new examples cannot help. Otherwise the task is trained on now and then.
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
    """The curriculum at the beginning of a run: the first level, and returns of 0.

    Args:
        levels: The level of each task, from 1.
        instances: How many instances every task has.
        weight: The weight of the old running return in an update with a new return: β.
        threshold: The threshold that every running return of a level must exceed for the next level to begin.
    """
    return Curriculum(levels=tuple(levels), instances=instances, weight=weight, threshold=threshold)
