"""Event files, in which TensorBoard finds the curves of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Events:
    """The event files of a run, which are written where tensorboardX is installed."""

    def __init__(self, folder: Path, steps: int) -> None:
        """Opens a new event file.

        Args:
            folder: The folder of event files.
            steps: The steps that the run has taken. TensorBoard hides what an earlier process wrote of later steps.
        """
        self._writer: Any = None
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            return
        self._writer = SummaryWriter(str(folder), purge_step=steps + 1 if steps else None, max_queue=1000)

    def add(self, scalars: Mapping[str, float], steps: int) -> None:
        """Adds a point to the curve of each name, at this number of steps."""
        if self._writer is not None:
            for name, value in scalars.items():
                self._writer.add_scalar(name, value, steps)

    def close(self) -> None:
        """Writes what is still in memory."""
        if self._writer is not None:
            self._writer.close()
