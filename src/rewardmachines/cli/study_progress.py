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

from rewardmachines.cli.displays import clock, live
from rewardmachines.cli.shared import log, plain_table
from rewardmachines.studies.execution import SweepWatcher
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.store import Store
from rewardmachines.studies.study import Study


class StudyWatcher(SweepWatcher):
    """Says what happens to the runs of a study: line by line, in a display, or only which of them fail."""

    def __init__(self, study: Study, runs: Sequence[PlannedRun], store: Store, *, quiet: bool) -> None:
        self._study, self._runs, self._store = study, runs, store
        self._quiet, self.has_display = quiet, not quiet and sys.stdout.isatty()
        self._active: dict[str, tuple[PlannedRun, float]] = {}
        self._steps: dict[str, int] = {}
        self._done = len(store.known(runs))
        self._began = time.monotonic()

    def began(self, run: PlannedRun) -> None:
        """A run begins or goes on."""
        self._active[run.key] = run, time.monotonic()
        if not self.has_display:
            self.say(f"[{self._done}/{len(self._runs)}] {run.title}")

    def advanced(self, run: PlannedRun, steps: int) -> None:
        """A run whose folder may not be seen from here has taken this number of steps."""
        self._steps[run.key] = steps

    def lost(self, run: PlannedRun, reason: str) -> None:
        """The worker of a run was lost, and another will take its place."""
        self._active.pop(run.key, None)
        self.say(f"  {run.title}: its worker was lost ({reason}); another one takes over")

    def say(self, message: str) -> None:
        """Says something that is nothing to worry about."""
        if not self._quiet:
            log(message)

    def ended(self, run: PlannedRun, result: Result | Exception | None) -> None:
        """A run has ended, failed, or been left with a checkpoint because time was up."""
        _, began = self._active.pop(run.key, (run, time.monotonic()))
        if isinstance(result, Exception):
            log(f"{'' if self._quiet else '  '}{run.title}: {result}")
        elif result is None:
            self.say(f"  {run.title}: time is up; it goes on next time")
        else:
            self._done += 1
            self.say(f"  {run.title}: {result.end} {result.steps:,} steps, {clock(time.monotonic() - began)}")

    def render(self) -> RenderableType:
        """The display: how many runs are done, and the steps of those that go on."""
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_row(
            ProgressBar(total=len(self._runs), completed=self._done, width=30),
            f"{self._done} of {len(self._runs)} runs",
            clock(time.monotonic() - self._began),
        )
        rows = []
        for run, began in list(self._active.values()):
            steps = self._steps.get(run.key) or self._store.state(run, {})[1]
            rows.append((run.title, f"{steps:,}", clock(time.monotonic() - began)))
        return Group(Text(self._study.title, style="bold"), line, plain_table(("run", "steps", "time"), rows, ("run",)))


@contextmanager
def watching_study(
    study: Study, runs: Sequence[PlannedRun], store: Store, *, quiet: bool = False
) -> Iterator[StudyWatcher]:
    """Yields a watcher that says what happens to the runs of a study.

    Args:
        study: The study.
        runs: The runs of the study that are carried out.
        store: The store of results.
        quiet: Whether it says only which runs failed.
    """
    watcher = StudyWatcher(study, runs, store, quiet=quiet)
    if not watcher.has_display:
        yield watcher
        return
    with live(watcher.render):
        yield watcher
