"""Event files, in which TensorBoard finds the curves of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_FLUSH_SECONDS: Final = 30.0
"""The seconds after which events are written to the disk."""


class Events:
    """The event files of a run, which are written where tensorboardX is installed.

    Its `SummaryWriter` would start a thread with a queue for processes, whose semaphores outlive a process that is
    ended from outside.
    """

    def __init__(self, folder: Path, steps: int) -> None:
        """Opens a new event file.

        Args:
            folder: The folder of event files.
            steps: The steps that the run has taken. TensorBoard hides what an earlier process wrote of later steps.
        """
        self._writer: Any = None
        try:
            from tensorboardX.event_file_writer import EventsWriter
            from tensorboardX.proto import event_pb2
        except ImportError:
            return
        folder.mkdir(parents=True, exist_ok=True)
        self._writer, self._flushed = EventsWriter(str(folder / "events")), time.monotonic()
        if steps:
            begun = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._write(steps + 1, file_version="brain.Event:2")
            self._write(steps + 1, session_log=begun)

    def add(self, scalars: Mapping[str, float], steps: int) -> None:
        """Adds a point to the curve of each name, at this number of steps."""
        if self._writer is None:
            return
        from tensorboardX.proto.summary_pb2 import Summary
        from tensorboardX.summary import scalar

        values = [value for name, number in scalars.items() for value in scalar(name, number).value]
        self._write(steps, summary=Summary(value=values))
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self._writer.flush()
            self._flushed = time.monotonic()

    def close(self) -> None:
        """Writes what is still in memory."""
        if self._writer is not None:
            self._writer.close()

    def _write(self, steps: int, **content: Any) -> None:
        from tensorboardX.proto.event_pb2 import Event

        self._writer.write_event(Event(wall_time=time.time(), step=steps, **content))
