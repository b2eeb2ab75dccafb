"""The command `hrm study`: many runs, and the tables, figures and claims that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.table import Table as Shown

from rewardmachines.cli.arguments.study import StudyArguments
from rewardmachines.cli.progress.phases import process_age
from rewardmachines.cli.progress.study import StudyWatcher, watching_study
from rewardmachines.cli.run_options import prepare_device, read_budget
from rewardmachines.cli.shared import Command, console, tell, write_text
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.cells import Table
from rewardmachines.experiments.claims import check_claims, claims_table
from rewardmachines.experiments.execution import unfinished
from rewardmachines.experiments.figures import drawings, write_figures
from rewardmachines.experiments.made import this_device
from rewardmachines.experiments.page import study_page
from rewardmachines.experiments.plan import PlannedRun, planned_runs
from rewardmachines.experiments.report import paper_parts, paper_results, report
from rewardmachines.experiments.schedule import Schedule, known_durations
from rewardmachines.experiments.selection import chosen_runs
from rewardmachines.experiments.store import Store
from rewardmachines.experiments.study import Study as StudyData
from rewardmachines.experiments.study import load_study, study_names
from rewardmachines.experiments.sweep.attempt import Outcome, share_gpu
from rewardmachines.experiments.sweep.local import sweep
from rewardmachines.experiments.sweep.ray import Resources, sweep_on_ray
from rewardmachines.experiments.tables import make_tables

_CLOSING: Final = 5.0
"""Seconds of a budget that are left for tables, figures and the end of processes."""


@dataclass(frozen=True)
class Study(StudyArguments, Command):
    """Carry out many runs, and make tables, figures and claims of them."""

    def run(self) -> int:
        if self.only and self.action not in ("run", "status"):
            raise RewardMachineError(f"--only chooses runs for hrm study run and status, not for {self.action}")
        if self.output is not None and self.action in ("list", "status"):
            raise RewardMachineError(f"-o is for the page of hrm study run, show and report; {self.action} writes none")
        store = Store(self.results, self.runs)
        if self.action == "list":
            return _list()
        if self.action == "report":
            return self._report(store)
        if self.study is None:
            raise RewardMachineError(f"say which study to {self.action}: {', '.join(study_names())}, or a TOML file")
        study = load_study(self.study)
        check_claims(study.claims)
        runs = planned_runs(study, self.seeds)
        if self.action == "show":
            return _show(study, runs, store, self.output)
        chosen = chosen_runs(runs, self.only)
        if self.action == "status":
            return _status(study, chosen, store)
        self._carry_out(study, chosen, store)
        if study.studies:
            return _count(chosen, store)
        _show(study, runs, store, self.output)
        return 0 if len(store.known(chosen)) == len(chosen) else 1

    def _report(self, store: Store) -> int:
        """Writes the page of all studies of the paper, and their figures."""
        if self.study is not None:
            raise RewardMachineError("report is about all studies of the paper; for one: hrm study show STUDY -o PAGE")
        parts = paper_parts(store)
        for part in parts:
            write_figures(part.drawings(store))
        write_text(report(parts, store, _folder(self.output)), self.output)
        return 0

    def _carry_out(self, study: StudyData, runs: tuple[PlannedRun, ...], store: Store) -> None:
        self._check_place()
        seconds = None if self.budget is None else self._seconds(self.budget)
        known = store.keep(runs)
        todo = unfinished(runs, store.workplace, tuple(known))
        if not todo and self.quiet:
            return
        if not todo:
            tell(f"all {len(runs)} runs are done")
            return
        if self.on == "local":  # otherwise others compute, and a GPU of this machine must not be taken away from them
            if (self.jobs or 1) > 1 or seconds is not None:  # runs have processes of their own
                share_gpu()
            prepare_device(self.device)
        schedule = None
        if seconds is not None:
            # What came before, and what comes after, belongs to the time that it takes.
            seconds = max(1.0, seconds - process_age() - _CLOSING)
            schedule = Schedule(store.workplace, known_durations(runs, known, this_device()))
        with (
            watching_study(study, runs, store, quiet=self.quiet) as watch,
            closing(self._swept(todo, store.runs, seconds, watch, schedule)) as swept,
        ):
            for run, result in swept:
                watch.ended(run, result)
                store.keep(runs)

    def _swept(
        self,
        todo: Sequence[PlannedRun],
        root: Path,
        seconds: float | None,
        watch: StudyWatcher,
        schedule: Schedule | None,
    ) -> Generator[tuple[PlannedRun, Outcome]]:
        """Carries the runs out where it was asked for."""
        if self.on == "ray":
            resources = Resources(1.0 if self.cpus is None else self.cpus, self.gpus)
            return sweep_on_ray(todo, root, address=self.address, seconds=seconds, resources=resources, watcher=watch)
        jobs = 1 if self.jobs is None else self.jobs
        return sweep(todo, root, jobs=jobs, seconds=seconds, watcher=watch, schedule=schedule)

    def _check_place(self) -> None:
        """Refuses options that mean nothing where the runs are to be carried out."""
        if self.on == "ray":
            if self.device is not None:
                raise RewardMachineError("--device speaks of this machine: leave it out with --on ray")
            if self.jobs is not None:
                raise RewardMachineError("--jobs speaks of this machine: on Ray, say with --cpus what each is given")
            return
        for name in ("address", "cpus", "gpus"):
            if getattr(self, name) is not None:
                raise RewardMachineError(f"--{name} is for runs on a Ray cluster: add --on ray")

    @staticmethod
    def _seconds(text: str) -> float:
        seconds = read_budget(text).seconds
        if seconds is None:
            raise RewardMachineError(f"--budget {text}: a study is limited by time, such as 10m or 2h")
        return seconds


def _list() -> int:
    table = Shown("study", "runs", "what", title="Studies that come with the package")
    for name in study_names():
        study = load_study(name)
        table.add_row(name, str(len(planned_runs(study))), study.title)
    console().print(table)
    return 0


def _status(study: StudyData, runs: tuple[PlannedRun, ...], store: Store) -> int:
    """Says of every run how far it is. The exit status is 1 as long as runs are missing."""
    known = store.known(runs)
    table = Shown("run", "state", "steps", "key", title=study.title)
    states = [store.state(run, known) for run in runs]
    for run, (state, steps) in zip(runs, states, strict=True):
        table.add_row(run.title, state, f"{steps:,}" if steps else "", run.key)
    console().print(table)
    counted = Counter(state for state, _ in states)
    tell(", ".join(f"{count} {state}" for state, count in counted.items()))
    return 0 if set(counted) <= {"done", "interrupted"} else 1


def _count(runs: tuple[PlannedRun, ...], store: Store) -> int:
    """Says how many runs of each study have results."""
    known = store.known(runs)
    for study in dict.fromkeys(run.study for run in runs):
        own = {run.key for run in runs if run.study == study}
        tell(f"{study}: {len(own & known.keys())} of {len(own)} runs are done")
    tell("hrm study report -o PAGE writes what came of them")
    return 0 if {run.key for run in runs} <= known.keys() else 1


def _show(study: StudyData, runs: tuple[PlannedRun, ...], store: Store, output: Path | None) -> int:
    """Shows tables, writes figures and the page if it is wanted, and names the runs that are missing."""
    if study.studies:
        raise RewardMachineError(f"{study.name} consists of studies: hrm study show {study.studies[0]}, or report")
    known = store.known(runs)
    if not known:
        tell(f"there are no results yet: hrm study run {study.name}")
        return 1
    tables = make_tables(study, runs, known)
    if study.claims:
        every = paper_results(paper_parts(store)) | known
        tables.append(claims_table(study.claims, list(every.values())))
    for table in tables:
        _print(table)
    missing = [run.title for run in runs if run.key not in known]
    drawn = drawings(study, runs, known, store.folder(study.name))
    write_figures(drawn)
    for drawing in drawn:
        tell(f"wrote {', '.join(map(str, drawing.files.values()))}")
    if output is not None:
        write_text(study_page(study, runs, known, tables, drawn, _folder(output)), output)
    if missing:
        tell(f"{len(missing)} of {len(runs)} runs are missing: {'; '.join(missing[:5])}{' …' if missing[5:] else ''}")
    return 0 if not missing else 1


def _folder(page: Path | None) -> Path:
    """The folder of a page, to which its links are relative; the present one, for what is printed."""
    return Path() if page is None else page.parent


def _print(table: Table) -> None:
    shown = Shown(*table.header, title=table.title, caption="\n".join(table.remarks) or None)
    for row in table.rows:
        shown.add_row(*row)
    console().print(shown)
