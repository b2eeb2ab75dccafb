"""The limits of a run."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class Budget:
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
        return self != Budget()

    def is_spent(self, steps: int, episodes: int, seconds: float) -> bool:
        """Whether a run has reached one of the limits.

        Args:
            steps: Environment steps that the run has taken so far.
            episodes: Episodes that have ended in it so far.
            seconds: Wall-clock time that it has taken so far.
        """
        spent = ((steps, self.steps), (episodes, self.episodes), (seconds, self.seconds))
        return any(limit is not None and count >= limit for count, limit in spent)
