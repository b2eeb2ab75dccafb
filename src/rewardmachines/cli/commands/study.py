"""The command `hrm study`: many runs, and the tables, figures and claims that are made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import tyro
from rich.table import Table as Shown

from rewardmachines.cli.device import Device, prepare_device
from rewardmachines.cli.displays import process_age
from rewardmachines.cli.numbers import read_budget
from rewardmachines.cli.shared import Command, Output, Quiet, console, log, write_text
from rewardmachines.core.errors import RewardMachineError

if TYPE_CHECKING:
    from rewardmachines.cli.study_progress import StudyWatcher
    from rewardmachines.studies.execution import Outcome, Schedule
    from rewardmachines.studies.plan import PlannedRun
    from rewardmachines.studies.store import Store
    from rewardmachines.studies.study import Study as StudyData
    from rewardmachines.studies.tables import Table

_CLOSING: Final = 5.0
"""Seconds of a budget that are left for tables, figures and the end of processes."""


@dataclass(frozen=True)
class Study(Command):
    """Carry out many runs, and make tables, figures and claims of them.

    A study is data: the studies of the paper come with the package, and a TOML file is a study of your own
    (docs/studies.md). Every run has a folder of its own and can be interrupted; what has been run is never run again.

    Try:
      hrm study list
      hrm study run smoke
      hrm study run paper/op --jobs 2 --budget 2h
      hrm study run paper --budget 9m
      hrm study run paper/default --only frl --only wd --device gpu
      hrm study show paper/op
      hrm study status mine.toml
      hrm study report -o docs/results.md
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.studies.report", "rewardmachines.cli.study_progress")

    action: Annotated[Literal["list", "run", "show", "status", "report"], tyro.conf.Positional]
    """The action: list studies, run one, show its results, show the state of its runs, or write the page of all
    studies of the paper."""
    study: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="STUDY")] = None
    """The name of a study, such as smoke, or a TOML file."""
    seeds: int | None = None
    """The number of runs of each kind; as in the study if not given."""
    jobs: int | None = None
    """The number of runs side by side on this machine, each in a process of its own; 1 if not given."""
    on: Literal["local", "ray"] = "local"
    """The engine: this machine, or a Ray cluster."""
    address: Annotated[str | None, tyro.conf.arg(metavar="ADDRESS")] = None
    """The address of the Ray cluster, HOST:PORT, or auto for one that runs on this machine; RAY_ADDRESS if not given,
    and without that, one is started on this machine."""
    cpus: float | None = None
    """The number of cores of a task on the Ray cluster; 1 if not given."""
    gpus: float | None = None
    """The number of GPUs of a task on the Ray cluster, or a share of one; 1 if not given and there are any."""
    budget: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """The time budget, such as 10m or 2h. Runs that can be expected to end in that time come first; what is not
    done by then goes on next time."""
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME")] = ()
    """Carry out, or look at, some runs only: by block, setting, task or algorithm, such as frl; repeat for more."""
    device: Device | None = None
    """The device; a GPU if there is one, if not given."""
    runs: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("runs") / "studies"
    """The folder of runs."""
    results: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """The folder of results, figures among them."""
    output: Output = None
    """The file to which run, show and report write their page; if not given, report prints it, others write none."""
    quiet: Quiet = False

    def run(self) -> int:
        from rewardmachines.studies import claims, plan, store

        if self.only and self.action not in ("run", "status"):
            raise RewardMachineError(f"--only chooses runs for hrm study run and status, not for {self.action}")
        if self.output is not None and self.action in ("list", "status"):
            raise RewardMachineError(f"-o is for the page of hrm study run, show and report; {self.action} writes none")
        kept = store.Store(self.results, self.runs)
        if self.action == "list":
            return _list()
        if self.action == "report":
            return self._report(kept)
        study = self._study()
        claims.check_claims(study.claims)
        runs = plan.planned_runs(study, self.seeds)
        if self.action == "show":
            return _show(study, runs, kept, self.output)
        chosen = plan.chosen_runs(runs, self.only)
        if self.action == "status":
            return _status(study, chosen, kept)
        self._carry_out(study, chosen, kept)
        if study.studies:
            return _count(chosen, kept)
        _show(study, runs, kept, self.output)
        return 0 if len(kept.known(chosen)) == len(chosen) else 1

    def _study(self) -> StudyData:
        """The study that is named.

        Raises:
            RewardMachineError: None is, or there is no such study.
        """
        from rewardmachines.studies.study import load_study, study_names

        if self.study is None:
            raise RewardMachineError(f"say which study to {self.action}: {', '.join(study_names())}, or a TOML file")
        return load_study(self.study)

    def _report(self, store: Store) -> int:
        """Writes the page of all studies of the paper, and their figures."""
        from rewardmachines.studies import figures, report

        if self.study is not None:
            raise RewardMachineError("report is about all studies of the paper; for one: hrm study show STUDY -o PAGE")
        parts = report.paper_parts(store)
        for part in parts:
            figures.write_figures(part.drawings(store))
        write_text(report.report(parts, store, _folder(self.output)), self.output)
        return 0

    def _carry_out(self, study: StudyData, runs: tuple[PlannedRun, ...], store: Store) -> None:
        from rewardmachines.cli.study_progress import watching_study
        from rewardmachines.studies.execution import Schedule, known_durations, share_gpu, unfinished
        from rewardmachines.studies.summaries import this_device

        self._check_place()
        seconds = self._seconds()
        known = store.keep(runs)
        todo = unfinished(runs, store.workplace, tuple(known))
        if not todo:
            if not self.quiet:
                log(f"all {len(runs)} runs are done")
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
        from rewardmachines.studies.sweep.local import sweep
        from rewardmachines.studies.sweep.ray import Resources, sweep_on_ray

        if self.on == "ray":
            resources = Resources(1.0 if self.cpus is None else self.cpus, self.gpus)
            return sweep_on_ray(todo, root, address=self.address, seconds=seconds, resources=resources, watcher=watch)
        jobs = 1 if self.jobs is None else self.jobs
        return sweep(todo, root, jobs=jobs, seconds=seconds, watcher=watch, schedule=schedule)

    def _check_place(self) -> None:
        """Refuses options that mean nothing where the runs are to be carried out."""
        if self.on == "ray":
            others = {
                "device": "speaks of this machine: leave it out with --on ray",
                "jobs": "speaks of this machine: on Ray, say with --cpus what each is given",
            }
        else:
            others = dict.fromkeys(("address", "cpus", "gpus"), "is for runs on a Ray cluster: add --on ray")
        for name, why in others.items():
            if getattr(self, name) is not None:
                raise RewardMachineError(f"--{name} {why}")

    def _seconds(self) -> float | None:
        """The time that the study may take, if it is limited."""
        seconds = None if self.budget is None else read_budget(self.budget).seconds
        if seconds is None and self.budget is not None:
            raise RewardMachineError(f"--budget {self.budget}: a study is limited by time, such as 10m or 2h")
        return seconds


def _list() -> int:
    from rewardmachines.studies.plan import planned_runs
    from rewardmachines.studies.study import load_study, study_names

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
    log(", ".join(f"{count} {state}" for state, count in counted.items()))
    return 0 if set(counted) <= {"done", "interrupted"} else 1


def _count(runs: tuple[PlannedRun, ...], store: Store) -> int:
    """Says how many runs of each study have results."""
    known = store.known(runs)
    for study in dict.fromkeys(run.study for run in runs):
        own = {run.key for run in runs if run.study == study}
        log(f"{study}: {len(own & known.keys())} of {len(own)} runs are done")
    log("hrm study report -o PAGE writes what came of them")
    return 0 if {run.key for run in runs} <= known.keys() else 1


def _show(study: StudyData, runs: tuple[PlannedRun, ...], store: Store, output: Path | None) -> int:
    """Shows tables, writes figures and the page if it is wanted, and names the runs that are missing."""
    from rewardmachines.studies import claims, figures, report, tables

    if study.studies:
        raise RewardMachineError(f"{study.name} consists of studies: hrm study show {study.studies[0]}, or report")
    known = store.known(runs)
    if not known:
        log(f"there are no results yet: hrm study run {study.name}")
        return 1
    made = tables.make_tables(study, runs, known)
    if study.claims:
        every = report.paper_results(report.paper_parts(store)) | known
        made.append(claims.claims_table(study.claims, list(every.values())))
    for table in made:
        _print(table)
    missing = [run.title for run in runs if run.key not in known]
    drawn = figures.drawings(study, runs, known, store.folder(study.name))
    figures.write_figures(drawn)
    for drawing in drawn:
        log(f"wrote {', '.join(map(str, drawing.files.values()))}")
    if output is not None:
        write_text(report.study_page(study, runs, known, made, drawn, _folder(output)), output)
    if missing:
        log(f"{len(missing)} of {len(runs)} runs are missing: {'; '.join(missing[:5])}{' …' if missing[5:] else ''}")
    return 0 if not missing else 1


def _folder(page: Path | None) -> Path:
    """The folder of a page, to which its links are relative; the present one, for what is printed."""
    return Path() if page is None else page.parent


def _print(table: Table) -> None:
    shown = Shown(*table.header, title=table.title, caption="\n".join(table.remarks) or None)
    for row in table.rows:
        shown.add_row(*row)
    console().print(shown)
