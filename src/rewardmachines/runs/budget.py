"""How long a run may take."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.core.errors import RewardMachineError


@dataclass(frozen=True)
class Budget:
    """Limits of a run. What is reached first ends it; without any limit, nothing but success does."""

    steps: int | None = None
    """Steps of environments: in training, of each seed; in LHRM, of all environments together."""
    episodes: int | None = None
    """Episodes: in training, of each seed; in LHRM, of all tasks together."""
    seconds: float | None = None
    """Wall-clock time, without the pauses between a kill and a resumption."""

    def __post_init__(self) -> None:
        for name, count in (("step", self.steps), ("episode", self.episodes)):
            if count is not None and count < 1:
                raise RewardMachineError(f"at least one {name} is needed, not {count}")
        if self.seconds is not None and not self.seconds > 0:
            raise RewardMachineError(f"more than {self.seconds:g} seconds are needed")

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self != Budget()

    def is_spent(self, steps: int, episodes: int, seconds: float) -> bool:
        """Whether a run that has taken so much has reached a limit."""
        spent = ((steps, self.steps), (episodes, self.episodes), (seconds, self.seconds))
        return any(limit is not None and count >= limit for count, limit in spent)
