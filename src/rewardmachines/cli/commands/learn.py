"""The command `hrm learn`: the machines and policies of all tasks together, from interaction alone."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import load_bank
from rewardmachines.agents.presets import Preset
from rewardmachines.cli.arguments.learn import LearnArguments
from rewardmachines.cli.own_environments.learn import learn_in_own
from rewardmachines.cli.own_environments.names import encoding, is_run_of, refuse
from rewardmachines.cli.progress.learn import watching_learning
from rewardmachines.cli.progress.learn_many import watching_many
from rewardmachines.cli.progress.phases import Phases
from rewardmachines.cli.run_options import (
    RunCommand,
    begun_folders,
    check_resumed,
    common_name,
    folders_of_seeds,
    prepare_device,
)
from rewardmachines.cli.shared import tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import instance_seed_of
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun
from rewardmachines.lhrm.learn import learning_rows
from rewardmachines.lhrm.learn_many import learning_rows_of_many
from rewardmachines.lhrm.learner_registry import check_learner
from rewardmachines.lhrm.presets import published_learning_episodes
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, good_return, specs_of_seeds, standard_learning
from rewardmachines.lhrm.stored_run import StoredRun
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import LEARN_GYMNASIUM
from rewardmachines.runs.overrides import changed

QUICK_INSTANCES: Final = 3
QUICK_STEPS: Final = 1_000_000
"""That quick runs may take, unless a budget is given."""


@dataclass(frozen=True)
class Learn(LearnArguments, RunCommand):
    """Learn the machines and the policies of all tasks of a domain, from interaction alone, easy ones first."""

    def run(self) -> int:
        phases = Phases()
        if self.env or (self.resume and self.domain is None and is_run_of(self.output, LEARN_GYMNASIUM)):
            return self._run_in_own(phases)
        bank = None if self.bank is None else load_bank(self.bank)
        if bank is not None and self.seeds > 1:
            raise RewardMachineError("--bank: one run begins with a bank, not several; leave out --seeds")
        spec = self._spec(bank)
        specs = None if spec is None else specs_of_seeds(spec, self.seeds, own_instances=self.own_instances)
        folders = self._folders(spec)
        budget = self._budget(spec)
        if spec is None:
            for number, folder in enumerate(folders):
                self._check_resumed(folder, number if self.seeds > 1 else 0)
        orders = [self._order(folder, specs[n] if specs else None, budget) for n, folder in enumerate(folders)]
        prepare_device()
        phases.end("to start")
        try:
            new = self._learn(folders, specs, orders, budget, bank)
        except KeyboardInterrupt:
            if LearnFolder(folders[0]).config.exists():
                tell(f"stopped; go on with: hrm learn --resume -o {common_name(folders)}")
            raise
        runs = [load_learning(folder) for folder in folders]
        phases.end_run("to learn", runs[0].moments(), is_new=not self.resume)
        status = max(_conclude(run, is_new=number in new) for number, run in enumerate(runs))
        if not self.no_report:
            _report(runs)
            phases.end("for the report")
        phases.tell(quiet=self.quiet)
        return status

    def _run_in_own(self, phases: Phases) -> int:
        """Learns in environments that functions of a module make, or goes on with such a run."""
        refuse(
            {
                "a domain": self.domain is not None,
                "--setting": self.setting is not None,
                "--preset": self.preset is not Preset.FAST,
                "--tasks": bool(self.tasks),
                "--quick": self.quick,
                "--seeds": self.seeds > 1,
                "--instance-seed": self.instance_seed is not None,
                "--own-instances": self.own_instances,
                "--bank": self.bank is not None,
            }
        )
        asked: dict[str, Any] = {}
        if self.resume and not self.env and self._is_given("instances"):
            raise RewardMachineError("--instances belongs to the environments: name them again, with --env")
        if self.env or self.resume:
            asked = {"seed": self.seed, "max_steps": self.max_steps, "learner": self.learner}
            asked |= {"config": self._adjusted, "instances": self._own_beginnings, "encode": encoding(self.encode)}
        if self.resume:  # what is not said holds as when the run began
            asked = {name: value for name, value in asked.items() if self._is_given(name)}
        phases.end("to start")
        run, is_new = learn_in_own(
            self.env, self.output, self._limits(), resume=self.resume, stop_at=self.stop_at, quiet=self.quiet, **asked
        )
        phases.end_run("to learn", run.moments(), is_new=not self.resume)
        status = _conclude(run, is_new=is_new)
        if not self.no_report:
            _report([run])
            phases.end("for the report")
        phases.tell(quiet=self.quiet)
        return status

    def _is_given(self, name: str) -> bool:
        """Whether an argument is given; for settings, whether any that changes them is."""
        changing = ("set", "explore", "callables", "single_trace", "quick", "preset")
        return any(map(super()._is_given, changing)) if name == "config" else super()._is_given(name)

    def _adjusted(self, usual: LhrmConfig) -> LhrmConfig:
        """The settings that are usual for an environment, with the changes that are asked for."""
        return changed(self._config(usual), self.set, within="agent")

    def _folders(self, spec: LearnSpec | None) -> list[Path]:
        """The folder of each run. By its own name, a folder of several runs is each of those that were begun."""
        if self.output is None:
            assert spec is not None
            # Quick runs have folders of their own, which patterns such as runs/learn-* do not match either.
            fresh = "-fresh" if spec.fresh else ""
            base = Path("runs") / f"{'quick' if self.quick else 'learn'}-{spec.domain}-{spec.setting}{fresh}"
            return folders_of_seeds(base, self.seed, self.seeds)
        if self.seeds > 1:
            return folders_of_seeds(self.output, self.seed, self.seeds)
        if spec is None and not LearnFolder(self.output).config.exists():
            return begun_folders(self.output) or [self.output]
        return [self.output]

    def _learn(
        self,
        folders: list[Path],
        specs: list[LearnSpec] | None,
        orders: list[LearnOrder],
        budget: Budget,
        bank: Bank | None,
    ) -> set[int]:
        """Learns, and returns the numbers of the runs for which there was anything to do."""
        limits: dict[str, Any] = {"steps": budget.steps, "seconds": budget.seconds, "episodes": budget.episodes}
        limits |= {"stop_at": self.stop_at if self.resume else orders[0].stop_at, "resume": self.resume}
        new: set[int] = set()
        if len(folders) > 1:
            of_many = learning_rows_of_many(folders, specs, **limits)
            with closing(of_many), watching_many(orders, quiet=self.quiet) as watch_many:
                for number, chunk in of_many:
                    watch_many(number, chunk)
                    new.add(number)
            return new
        chunks = learning_rows(folders[0], specs[0] if specs else None, bank=bank, **limits)
        with closing(chunks), watching_learning(orders[0], quiet=self.quiet) as watch:
            for chunk in chunks:
                watch(chunk)
                new.add(0)
        return new

    def _budget(self, spec: LearnSpec | None) -> Budget:
        """The limits that are given; those that are usual, if there are none and the run is new."""
        limits = self._limits()
        if limits.is_limited or self.resume or spec is None:
            return limits
        if self.preset is Preset.PAPER and not self.quick:
            return Budget(episodes=published_learning_episodes(spec.setting, spec.domain))
        return Budget(steps=QUICK_STEPS) if self.quick else Budget()

    def _order(self, folder: Path, spec: LearnSpec | None, budget: Budget) -> LearnOrder:
        """What the progress display is told: what is asked for, or was asked for when the run began."""
        if not self.resume:
            assert spec is not None
            stop_at = good_return(spec, self.preset) if self.stop_at is None else self.stop_at
            return LearnOrder(spec, budget, stop_at)
        before = load_learning(folder).order
        stop_at = before.stop_at if self.stop_at is None else self.stop_at
        return replace(before, budget=budget if budget.is_limited else before.budget, stop_at=stop_at)

    def _check_resumed(self, folder: Path, number: int) -> None:
        """Refuses arguments that contradict the run in a folder, which is the one of this number among several."""
        begun = load_learning(folder).spec
        given = self._given_places(begun)
        if "seed" in given:
            given["seed"] += number
        if self._is_given("learner"):
            given["learner"] = self.learner
        tasks = domain(begun.domain).quick_tasks if self.quick else self.tasks
        if tasks and sorted(tasks) != sorted(begun.tasks):
            given["tasks"] = tuple(tasks)
        if self.own_instances:
            given["instance_seed"] = instance_seed_of(begun.seed)
        config = begun.config
        if self._is_given("preset"):
            config = standard_learning(begun.domain, begun.setting, begun.tasks, settings=self.preset).config
        if self._is_given("config"):
            given["config"] = self._adjusted(config)
        check_resumed(folder, replace(begun, **given), begun)

    def _spec(self, bank: Bank | None) -> LearnSpec | None:
        """What was said on the command line; nothing, if the folder of a run says it all."""
        name, setting = self._where(bank)
        if name is None:
            if self.resume and self.output is not None:
                return None
            raise RewardMachineError("say where to act (hrm learn craftworld), or --resume -o FOLDER")
        if self.quick and self.tasks:
            raise RewardMachineError("--quick chooses the tasks by itself: leave out --tasks")
        check_learner(self.learner)
        tasks = domain(name).quick_tasks if self.quick else self.tasks
        spec = standard_learning(
            name,
            setting,
            tasks or None,
            settings=self.preset,
            seed=self.seed,
            max_steps=self.max_steps,
            learner=self.learner,
            fresh=self._is_fresh,
            bank=bank,
            **self._grids(QUICK_INSTANCES if self.quick else None),
        )
        return replace(spec, config=changed(self._config(spec.config), self.set, within="agent"))

    def _config(self, config: LhrmConfig) -> LhrmConfig:
        config = replace(config, explores_with=self.explore or config.explores_with)
        if self._is_given("callables"):
            config = replace(config, callables=self.callables)
        if self.quick:
            config = replace(config, goals=config.first_goals)
        return replace(config, first_goals=1, goals=1, examples=1) if self.single_trace else config


def _conclude(run: StoredRun, *, is_new: bool) -> int:
    """Says how it ended, and what is missing."""
    if not is_new:
        tell("nothing left to do: --budget, --episodes or --stop-at asks for more")
    missing, moments = run.missing(), run.moments()
    if moments:
        last, learned = moments[-1], len(run.tasks) - len(missing)
        tell(
            f"{learned} of {len(run.tasks)} tasks learned: {last.steps:,} steps, {last.seconds:,.0f} s, "
            f"{last.learner_seconds:,.1f} s of them to learn machines; {run.folder}"
        )
    for name, message in missing.items():
        tell(f"  {name}: {message}")
    return 1 if missing else 0


def _report(runs: Sequence[LearnRun] | Sequence[GymnasiumRun]) -> None:
    """Writes the report of each run, and of several seeds one beside their runs."""
    from rewardmachines.reports import write_report  # these draw, which only this needs
    from rewardmachines.reports.seeds_report import write_seeds_report

    for run in runs:
        tell(f"wrote {write_report(run, run.files.report)}")
    if len(runs) > 1:
        folder = Path(f"{common_name([run.folder for run in runs])}-report")
        tell(f"wrote {write_seeds_report(runs, folder)}")
