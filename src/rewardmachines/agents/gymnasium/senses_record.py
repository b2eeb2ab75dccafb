"""What policies read and do, as a record that JSON can hold: enough to act again without the environment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gymnasium import spaces

from rewardmachines.agents.gymnasium.observations import CHANNELS_FIRST, Encode
from rewardmachines.agents.gymnasium.reading_record import ReadingRecord
from rewardmachines.agents.gymnasium.senses import Senses
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.named_function import named_function


@dataclass(frozen=True)
class SensesRecord:
    """What the environments of all tasks have in common: what policies read and do."""

    propositions: tuple[str, ...]
    """What labels are made of."""
    observations: ReadingRecord
    """How observations are read."""
    actions: int
    """The number of actions."""
    first_action: int
    """The least action of the environments; policies count theirs from 0."""

    @classmethod
    def of(cls, senses: Senses) -> SensesRecord:
        """The record of what environments have in common."""
        return cls(
            propositions=senses.propositions,
            observations=ReadingRecord.of(senses.reading),
            actions=int(senses.actions.n),
            first_action=int(senses.actions.start),
        )

    @property
    def action_space(self) -> spaces.Discrete:
        """The actions of the environments."""
        return spaces.Discrete(self.actions, start=self.first_action)

    def encode(self, where: str) -> Encode | None:
        """What observations are encoded by, if they are encoded; the module of a function is imported.

        Args:
            where: The text with which error messages begin.

        Raises:
            RewardMachineError: It has no name, or cannot be found by it.
        """
        if self.observations.recall.moves_channels:
            return CHANNELS_FIRST
        name = self.observations.encode
        if self.observations.is_encoded and name is None:
            raise RewardMachineError(
                f"{where}: encode was given as a function that cannot be found again by a name: give it again"
            )
        return None if name is None else named_function(name, "encode")

    @property
    def without_names(self) -> SensesRecord:
        """The record without the name of the function that encodes observations, which may change."""
        return replace(self, observations=replace(self.observations, encode=None))
