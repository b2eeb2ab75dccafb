"""The part of a worker of a cluster: it carries out a unit of runs on its node, and reports how far they are."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, TypeAlias

import jax

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.version import package_version
from rewardmachines.runs.compiled_cache import keep_compiled
from rewardmachines.runs.folder import FolderInUseError, steps_so_far
from rewardmachines.studies.execution import Outcome, Unit, Workplace, attempt, share_gpu
from rewardmachines.studies.results import Result, line_of

Answer: TypeAlias = tuple[str, str]
"""The end of a run, as plain texts: `result` and its line of JSON, or `problem` and what went wrong."""

_REPORT: Final = 1.0
"""The least time between two reports of a run, in seconds."""
_PATIENCE: Final = 60.0
"""Seconds to wait for a worker that was given up to let go of the folder of its run."""


@dataclass(frozen=True)
class Assignment:
    """The message to a worker, beside its runs."""

    root: str
    """The folder of runs on the machine that asks."""
    mark: str
    """The name of a file there. A node that sees it sees the same folder."""
    attempt: int
    """The number of times that the runs have been begun, this time included."""
    version: str
    """The version of this package on the machine that asks."""


class Note(NamedTuple):
    """The progress of a run."""

    attempt: int
    is_shared: bool
    """Whether the machine that asks sees the folder of the run, so that it can go on from its checkpoint."""
    steps: int | None
    """The steps that it has taken so far; None until its first chunk is done."""


Report: TypeAlias = Callable[[Mapping[str, Note]], object]
"""Receives notes of runs, by key."""


class Board:
    """The last note of every run."""

    def __init__(self) -> None:
        self._notes: dict[str, Note] = {}

    def write(self, notes: Mapping[str, Note]) -> None:
        """Takes notes of runs, by key. Those of a worker that was given up come too late."""
        for key, note in notes.items():
            if key not in self._notes or note.attempt >= self._notes[key].attempt:
                self._notes[key] = note

    def read(self) -> dict[str, Note]:
        """The last note of every run, by key."""
        return self._notes


def work(unit: Unit, assignment: Assignment, report: Report, *, uses_gpu: bool) -> Sequence[Answer]:
    """Carries runs out on this node. If the task is cancelled, they are left with a checkpoint.

    Args:
        unit: The runs, which are carried out together.
        assignment: The assignment of the worker.
        report: Receives notes on how far they are.
        uses_gpu: Whether the task was given a GPU.

    Returns:
        The answer of each run. Results are plain texts, so that a difference in versions is noticed.
    """
    if package_version() != assignment.version:
        problem = f"rewardmachines {package_version()} is installed there, and {assignment.version} here"
        return [("problem", f"{_node()}: {problem}")] * len(unit)
    if (missing := _choose_device(uses_gpu)) is not None:
        return [("problem", missing)] * len(unit)
    keep_compiled()
    root = Path(assignment.root)
    is_shared = (root / assignment.mark).is_file()
    place: AbstractContextManager[str | Path] = nullcontext(root)
    if not is_shared:  # the run lives as long as this task; only its result is sent home
        place = TemporaryDirectory(prefix="rewardmachines-", ignore_cleanup_errors=True)
    with place as folder:
        reports = _Reports(unit, Workplace(Path(folder)), assignment.attempt, is_shared, report)
        outcomes = _patient_attempt(unit, Path(folder), reports)
    return [_answer(outcome) for outcome in outcomes]


def _choose_device(uses_gpu: bool) -> str | None:
    """Lets JAX use the device that the task was given, before it takes any; names it if it is not there."""
    share_gpu()
    if not uses_gpu:
        settings: Any = jax.config
        settings.update("jax_platforms", "cpu")  # a GPU of the node may belong to another task
    elif jax.default_backend() == "cpu":
        return f"{_node()}: Ray has a GPU there, but JAX sees none: install JAX for it there, or say --gpus 0"
    return None


def _node() -> str:
    return f"node {os.uname().nodename}"


class _Reports:
    """Reports how far runs are. It is asked after every chunk whether time is up, which it never is here."""

    def __init__(self, unit: Unit, workplace: Workplace, attempt: int, is_shared: bool, report: Report) -> None:
        self._unit, self._workplace, self._report = unit, workplace, report
        self._attempt, self._is_shared = attempt, is_shared
        self._last = -_REPORT
        self._write({run.key: None for run in unit})

    def __call__(self) -> bool:
        if time.monotonic() - self._last >= _REPORT:
            self._last = time.monotonic()
            self._write({run.key: steps_so_far(self._workplace.files(run).metrics) for run in self._unit})
        return False

    def _write(self, steps: Mapping[str, int | None]) -> None:
        self._report({key: Note(self._attempt, self._is_shared, count) for key, count in steps.items()})


def _patient_attempt(unit: Unit, root: Path, reports: _Reports) -> list[Outcome]:
    """Waits for a worker that the cluster has given up, but that has not noticed yet and still writes."""
    end = time.monotonic() + _PATIENCE
    while True:
        outcomes = attempt(unit, root, reports)
        if not any(isinstance(outcome, FolderInUseError) for outcome in outcomes) or time.monotonic() >= end:
            return outcomes
        time.sleep(_REPORT)


def _answer(outcome: Outcome) -> Answer:
    if isinstance(outcome, Result):
        return "result", line_of(outcome)
    assert isinstance(outcome, RewardMachineError), "time is never up for a worker; it is cancelled instead"
    return "problem", str(outcome)
