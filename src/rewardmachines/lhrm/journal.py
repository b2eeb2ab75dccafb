"""A run that is written down as it goes: metrics at every chunk, machines when they are new, checkpoints now and then.

A run depends on its spec alone, so nothing that was learned since the last checkpoint is ever lost: after a kill, the
same is learned again. A checkpoint only saves the time that this takes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from rewardmachines.agents.training.checkpoint import Marks
from rewardmachines.agents.training.folder import machine_text
from rewardmachines.agents.training.metrics import Check, Events, Expected, Lines, Moment
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import dump_traces
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.checkpoint import read_checkpoint, write_checkpoint, write_policies
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.runs.written import WrittenFiles

CHECKPOINT_SECONDS: Final = 20
"""Between two checkpoints, at least."""
NEWS_SECONDS: Final = 5
"""The same if a machine was learned: that may have taken long."""


@dataclass(frozen=True)
class LearnMoment(Moment):
    """When a chunk was done, with what was learned from it."""

    learner_seconds: float
    """Of the seconds, those that searches for machines took."""


class LearnJournal:
    """Of one process. Nothing that it does reaches the run, but for the checkpoint that it starts from."""

    def __init__(self, place: LearnFolder, run: Lhrm) -> None:
        self._place, self._run = place, run
        has_begun = place.checkpoint.exists()
        marks = self._go_back() if has_begun else Marks()
        self._metrics, self._timing = self._open(marks)
        self._events = Events(place.events, run.tally.steps)
        self._shelf = _Shelf(place)
        self._shelf.put(run)
        self._began = time.monotonic() - marks.seconds
        self._saved_at = time.monotonic()
        self._saved_chunks = run.tally.chunks if has_begun else -1
        self._is_whole = True

    def _go_back(self) -> Marks:
        try:
            return read_checkpoint(self._place.checkpoint, self._run)
        except RewardMachineError as problem:
            raise RewardMachineError(f"{problem}; without this file, the run would start from its beginning") from None

    def _open(self, marks: Marks) -> tuple[Lines, Lines]:
        run, tally = self._run, self._run.tally
        check = row_check(run.tasks, run.worlds.instances)
        rows = Expected(Row, "chunk", tally.chunks, tally.chunks, length=marks.metrics, check=check)
        moments = Expected(LearnMoment, "steps", tally.steps, tally.chunks, length=marks.timing)
        return Lines(self._place.metrics, rows), Lines(self._place.timing, moments)

    @property
    def seconds(self) -> float:
        """Since the run began; pauses do not count."""
        return time.monotonic() - self._began

    def advance(self) -> tuple[Row, LearnMoment]:
        """One chunk; a checkpoint, if the last one is old."""
        self._is_whole = False
        row = self._run.advance()
        moment = LearnMoment(row.steps, round(self.seconds, 3), round(self._learner_seconds, 3))
        self._metrics.add([row])
        self._timing.add([moment])
        self._events.add(_scalars(row, self._run.tasks), row.steps)
        if row.learned:
            self._shelf.put(self._run)
        self._is_whole = True
        if time.monotonic() - self._saved_at >= (NEWS_SECONDS if row.learned else CHECKPOINT_SECONDS):
            self.checkpoint()
        return row, moment

    @property
    def _learner_seconds(self) -> float:
        return sum(learning.seconds for learning in self._run.learnings.values())

    def checkpoint(self) -> None:
        """Unless nothing is new, or a chunk was broken off."""
        run, place = self._run, self._place
        if not self._is_whole or run.tally.chunks == self._saved_chunks:
            return
        marks = Marks(self._metrics.settle(), self._timing.settle(), self.seconds)
        write_policies(place.policies, run, marks)
        write_checkpoint(place.checkpoint, run, marks)
        self._saved_at, self._saved_chunks = time.monotonic(), run.tally.chunks

    def close(self) -> None:
        for file in (self._metrics, self._timing, self._events):
            file.close()


class _Shelf:
    """What was learned, a file for each machine and each set of examples. Only what has changed is written.

    Files of others in the same folders are left alone: see `WrittenFiles`.
    """

    def __init__(self, place: LearnFolder) -> None:
        self._place, self._written = place, WrittenFiles(place.path)
        self._held: Mapping[Path, str] = {}

    def put(self, run: Lhrm) -> None:
        """Files of what has to be learned again are taken away."""
        wanted: dict[Path, str] = {}
        for name in run.pool.learned:
            wanted[self._place.machine_file(name)] = machine_text(run.pool.hierarchy(name).rooted(name))
            wanted[self._place.example_file(name)] = dump_traces(run.learnings[name].examples.traces)
        for name in run.tasks:
            for path in (self._place.machine_file(name), self._place.example_file(name)):
                if path not in wanted:
                    self._written.remove(path)
        for path, content in wanted.items():
            if self._held.get(path) != content:
                self._written.write(path, content)
        self._held = wanted


def row_check(tasks: tuple[str, ...], instances: int) -> Check:
    """What must hold of the rows of a run with these tasks and so many instances."""

    def problem(row: Row) -> str | None:
        by_task = {"goals": row.goals, "ended": row.ended, "collected": row.collected, "running": row.running}
        for name, values in (by_task if row.returns is None else {**by_task, "returns": row.returns}).items():
            if len(values) != len(tasks):
                return f"'{name}' must have {len(tasks)} entries, not {len(values)}"
        for returns in row.returns or ():
            if len(returns) != instances:
                return f"'returns' must have {instances} entries for each task, not {len(returns)}"
        return next((f"there is no task '{e.task}' in this run" for e in row.learned if e.task not in tasks), None)

    return problem


def _scalars(row: Row, tasks: tuple[str, ...]) -> dict[str, float]:
    """For TensorBoard."""
    found: dict[str, float] = {
        "episodes": row.episodes,
        "level": row.level,
        "loss of formulas": row.formula_loss,
        "loss of calls": row.call_loss,
    }
    for name, ended, goals in zip(tasks, row.ended, row.goals, strict=True):
        if ended:
            found[f"goals while exploring/{name}"] = goals / ended
    for name, returns in zip(tasks, row.returns or (), strict=False):
        found[f"greedy return/{name}"] = float(np.mean(returns))
    return found
