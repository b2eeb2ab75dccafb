"""A session that is written down as it goes: metrics at every chunk, checkpoints now and then."""

from __future__ import annotations

import time
from typing import Final

from rewardmachines.agents.training.checkpoint import Marks, read_checkpoint, write_checkpoint, write_policy
from rewardmachines.agents.training.folder import Folder
from rewardmachines.agents.training.metrics import Events, Expected, Lines, Moment, row_check, scalars
from rewardmachines.agents.training.session import Row, Session
from rewardmachines.core.errors import RewardMachineError

CHECKPOINT_SECONDS: Final = 20
"""Between two checkpoints, at least."""


class Journal:
    """Of one process. Nothing that it does reaches the session, but for the checkpoint that it starts from."""

    def __init__(self, place: Folder, session: Session) -> None:
        self._place, self._session = place, session
        marks = self._go_back() if place.checkpoint.exists() else Marks()
        self._metrics, self._timing = self._open(marks)
        self._events = Events(place.events, session.steps)
        self._began = time.monotonic() - marks.seconds
        self._saved_at = time.monotonic()
        self._saved_chunks = session.tally.chunks if place.checkpoint.exists() else -1
        self._is_whole = True

    def _go_back(self) -> Marks:
        try:
            return read_checkpoint(self._place.checkpoint, self._session)
        except RewardMachineError as problem:
            raise RewardMachineError(f"{problem}; without this file, the run would start from its beginning") from None

    def _open(self, marks: Marks) -> tuple[Lines, Lines]:
        session, chunks = self._session, self._session.tally.chunks
        rows = Expected(
            Row, "chunk", chunks, chunks * session.spec.seeds, length=marks.metrics, check=row_check(session.spec)
        )
        moments = Expected(Moment, "steps", session.steps, chunks, length=marks.timing)
        return Lines(self._place.metrics, rows), Lines(self._place.timing, moments)

    def advance(self) -> list[Row]:
        """One chunk; a checkpoint, if there was an evaluation and the last one is old."""
        self._is_whole = False
        rows = self._session.advance()
        self._metrics.add(rows)
        self._timing.add([Moment(self._session.steps, round(time.monotonic() - self._began, 3))])
        for row in rows:
            self._events.add(scalars(row), row.steps)
        self._is_whole = True
        if rows[0].returns is not None and time.monotonic() - self._saved_at >= CHECKPOINT_SECONDS:
            self.checkpoint()
        return rows

    def checkpoint(self) -> None:
        """Unless nothing is new, or a chunk was broken off."""
        session, place = self._session, self._place
        if not self._is_whole or session.tally.chunks == self._saved_chunks:
            return
        marks = Marks(self._metrics.settle(), self._timing.settle(), time.monotonic() - self._began)
        for number in range(session.spec.seeds):
            write_policy(place.policy(session.spec.task, session.spec.seed + number), session, number)
        write_checkpoint(place.checkpoint, session, marks)
        self._saved_at, self._saved_chunks = time.monotonic(), session.tally.chunks

    def close(self) -> None:
        for file in (self._metrics, self._timing, self._events):
            file.close()
