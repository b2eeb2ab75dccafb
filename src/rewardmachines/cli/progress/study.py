"""The progress of a study: which runs are being carried out, how far they are, and which have ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rewardmachines.cli.progress.train import clock, live
from rewardmachines.cli.shared import tell
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.store import Store
from rewardmachines.experiments.study import Study
from rewardmachines.experiments.sweep.attempt import SweepWatcher


class StudyWatcher(SweepWatcher):
    """Is told what happens to runs, and says it: line by line, or in a display."""

    def __init__(self, study: Study, runs: Sequence[PlannedRun], store: Store, *, has_display: bool) -> None:
        self._study, self._runs, self._store = study, runs, store
        self._has_display = has_display
        self._active: dict[str, tuple[PlannedRun, float]] = {}
        self._steps: dict[str, int] = {}
        self._done = len(store.known(runs))
        self._began = time.monotonic()

    def began(self, run: PlannedRun) -> None:
        """A run begins or goes on."""
        self._active[run.key] = run, time.monotonic()
        if not self._has_display:
            tell(f"[{self._done}/{len(self._runs)}] {run.title}")

    def advanced(self, run: PlannedRun, steps: int) -> None:
        """A run whose folder may not be seen from here has taken so many steps."""
        self._steps[run.key] = steps

    def lost(self, run: PlannedRun, reason: str) -> None:
        """The worker of a run was lost, and another will take its place."""
        self._active.pop(run.key, None)
        tell(f"  {run.title}: its worker was lost ({reason}); another one takes over")

    def say(self, message: str) -> None:
        """Something that concerns all runs."""
        tell(message)

    def ended(self, run: PlannedRun, result: Result | Exception | None) -> None:
        """A run has ended, failed, or been left with a checkpoint because time was up."""
        _, began = self._active.pop(run.key, (run, time.monotonic()))
        seconds = time.monotonic() - began
        if isinstance(result, Result):
            self._done += 1
            tell(f"  {run.title}: {result.end} {result.steps:,} steps, {clock(seconds)}")
        elif result is None:
            tell(f"  {run.title}: time is up; it goes on next time")
        else:
            tell(f"  {run.title}: {result}")

    def render(self) -> RenderableType:
        """The display: how many runs are done, and the steps of those that go on."""
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(
            ProgressBar(total=len(self._runs), completed=self._done, width=30),
            f"{self._done} of {len(self._runs)} runs",
            clock(time.monotonic() - self._began),
        )
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        for name in ("run", "steps", "time"):
            table.add_column(name, justify="left" if name == "run" else "right")
        for run, began in list(self._active.values()):
            steps = self._steps.get(run.key) or self._store.state(run, {})[1]
            table.add_row(run.title, f"{steps:,}", clock(time.monotonic() - began))
        return Group(Text(self._study.title, style="bold"), line, table)


class QuietStudyWatcher(StudyWatcher):
    """Says only which runs failed."""

    def lost(self, run: PlannedRun, reason: str) -> None:
        """Another worker takes over, so nothing is wrong."""

    def say(self, message: str) -> None:
        """Says nothing."""

    def ended(self, run: PlannedRun, result: Result | Exception | None) -> None:
        """Says why a run failed."""
        if isinstance(result, Exception):
            tell(f"{run.title}: {result}")


@contextmanager
def watching_study(
    study: Study, runs: Sequence[PlannedRun], store: Store, *, quiet: bool = False
) -> Iterator[StudyWatcher]:
    """Yields a watcher that says what happens to the runs of a study.

    Args:
        study: The study.
        runs: Those of its runs that are carried out.
        store: Where results are kept.
        quiet: Whether it says only which runs failed.
    """
    if quiet:
        yield QuietStudyWatcher(study, runs, store, has_display=True)
        return
    is_terminal = sys.stdout.isatty()
    watcher = StudyWatcher(study, runs, store, has_display=is_terminal)
    if not is_terminal:
        yield watcher
        return
    with live(watcher.render):
        yield watcher
