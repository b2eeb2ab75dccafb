"""The stopping rule of runs, which compares the state of an algorithm with the limits in its config."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rewardmachines.core.errors import RewardMachineError

if TYPE_CHECKING:
    from rewardmachines.rollout.algorithm import ChunkedRun
    from rewardmachines.runs.config import RunConfig


class End(Enum):
    """Why a run has ended, in words."""

    LEARNED = "done"
    EXHAUSTED = "nothing more can be learned"
    SPENT = "the budget is spent"


def end_of(config: RunConfig, run: ChunkedRun, seconds: float) -> End | None:
    """Why a run has ended; None while it goes on.

    Args:
        config: The config of the run.
        run: The algorithm, between two chunks.
        seconds: The wall-clock time that it has taken.
    """
    if is_learned(run, config.stop_at):
        return End.LEARNED
    if run.is_exhausted:
        return End.EXHAUSTED
    return End.SPENT if config.budget.is_spent(run.counters.steps, run.counters.episodes, seconds) else None


def is_learned(run: ChunkedRun, stop_at: float) -> bool:
    """Whether every task has lately returned enough; 0 asks for more than any return."""
    return stop_at > 0 and (run.lowest_return or 0.0) >= stop_at


@dataclass(frozen=True)
class RunBudget:
    """The limits of a run. It ends with the first that is reached; without any limit, only success ends it."""

    steps: int | None = None
    """The largest number of steps of all environments together."""
    episodes: int | None = None
    """The largest number of episodes of all tasks together."""
    seconds: float | None = None
    """The longest wall-clock time, in which pauses between a kill and a resumption do not count."""

    def __post_init__(self) -> None:
        for name, count in (("step", self.steps), ("episode", self.episodes)):
            if count is not None and count < 1:
                raise RewardMachineError(f"at least one {name} is needed, not {count}")
        if self.seconds is not None and not self.seconds > 0:
            raise RewardMachineError(f"more than {self.seconds:g} seconds are needed")

    @property
    def is_limited(self) -> bool:
        """Whether any limit is set."""
        return self != RunBudget()

    def is_spent(self, steps: int, episodes: int, seconds: float) -> bool:
        """Whether a run has reached one of the limits.

        Args:
            steps: Environment steps that the run has taken so far.
            episodes: Episodes that have ended in it so far.
            seconds: Wall-clock time that it has taken so far.
        """
        spent = ((steps, self.steps), (episodes, self.episodes), (seconds, self.seconds))
        return any(limit is not None and count >= limit for count, limit in spent)
