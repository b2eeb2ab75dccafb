"""How observations are read, as a record that JSON can hold: enough to act again without the environment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rewardmachines.agents.gymnasium.observations import CHANNELS_FIRST, Encode, ObservationError, Reading, Recalling
from rewardmachines.runs.named_function import name_of


@dataclass(frozen=True)
class ReadingRecord:
    """A `Reading` with its functions by name."""

    shape: tuple[int, ...]
    """The shape of what a network is shown."""
    dtype: str
    """The name of the type of what is remembered."""
    recall: Recalling
    start: int
    """The least number of a discrete space."""
    is_encoded: bool
    """Whether observations are encoded by a function."""
    encode: str | None
    """The name of this function, if it can be found by one."""

    @classmethod
    def of(cls, reading: Reading) -> ReadingRecord:
        """The record of a reading."""
        return cls(
            shape=reading.shape,
            dtype=reading.dtype.name,
            recall=reading.recall,
            start=reading.start,
            is_encoded=reading.encode is not None,
            encode=None if reading.encode is None else name_of(reading.encode),
        )

    def reading(self, encode: Encode | None) -> Reading:
        """The reading again.

        Args:
            encode: What observations are encoded by, if they are encoded. No function is imported for it. That
                channels come first is in the record, and need not be said again.

        Raises:
            ObservationError: Such a function is missing, or not needed.
        """
        if encode == CHANNELS_FIRST and self.recall.moves_channels:
            encode = None
        if self.is_encoded and encode is None:
            name = "a function" if self.encode is None else self.encode
            raise ObservationError(f"observations were encoded by {name}: pass it again, as encode=")
        if encode is not None and not self.is_encoded:
            raise ObservationError("observations were not encoded: leave out encode=")
        if encode is not None and not callable(encode):
            raise ObservationError("observations were encoded by a function: pass it again, as encode=")
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            raise ObservationError(f"there are no observations of type '{self.dtype}'") from None
        return Reading(self.shape, dtype, self.recall, self.start, encode)
