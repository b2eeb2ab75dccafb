"""The command `hrm train`: policies for a task, at every level of its hierarchy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import load_bank
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun
from rewardmachines.agents.presets import SOLVED_RETURN, Preset, good_training_return, published_episodes
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.spec import TrainOrder, TrainSpec, standard_spec
from rewardmachines.agents.training.train import training_rows
from rewardmachines.cli.arguments.train import TrainArguments
from rewardmachines.cli.banks import tell_skills
from rewardmachines.cli.own_environments.names import encoding, is_run_of, refuse
from rewardmachines.cli.own_environments.train import default_folder, train_in_own
from rewardmachines.cli.progress.phases import Phases
from rewardmachines.cli.progress.train import Watched, Watcher, watching
from rewardmachines.cli.run_options import RunCommand, check_resumed, prepare_device
from rewardmachines.cli.shared import read_hierarchy, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.language import compile_task
from rewardmachines.reports.training_report import write_training_report
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import TRAIN_GYMNASIUM
from rewardmachines.runs.overrides import changed

STEPS: Final = 2_000_000

T = TypeVar("T")


@dataclass(frozen=True)
class Train(TrainArguments, RunCommand):
    """Learn policies for a task, at every level of its hierarchy, and keep them in a folder."""

    def run(self) -> int:
        phases = Phases()
        if self.env is not None or (self.resume and self.domain is None and is_run_of(self.output, TRAIN_GYMNASIUM)):
            return self._run_in_own(phases)
        bank = None if self.bank is None else load_bank(self.bank)
        spec, tree = self._asked(bank)
        folder = self.output or _default_folder(spec)
        prepare_device()
        if bank is not None and spec is not None and tree is not None and not (self.resume or self.quiet):
            tell_skills(spec, tree, bank)
        budget = self._budget(spec)
        order = self._order(folder, spec, budget)
        stop_at = self.stop_at if self.resume else order.stop_at
        last: Sequence[Row] = []
        chunks = training_rows(
            folder,
            spec,
            tree,
            budget.steps,
            episodes=budget.episodes,
            seconds=budget.seconds,
            stop_at=stop_at,
            resume=self.resume,
            bank=bank,
        )
        phases.end("to start")
        try:
            with closing(chunks), self._watching(order) as watch:
                for rows in chunks:
                    watch(rows)
                    last = rows
        except KeyboardInterrupt:
            if (folder / "config.json").exists():
                tell(f"stopped; go on with: hrm train --resume -o {folder}")
            raise
        run = load_run(folder)
        phases.end_run("to train", run.moments(), is_new=not self.resume)
        _conclude(run, last)
        phases.tell(quiet=self.quiet)
        return 0

    def _watching(self, order: TrainOrder) -> AbstractContextManager[Watcher]:
        """What is told of every chunk, and shows it."""
        return watching(Watched(_title(order.spec), order.budget, order.spec.seeds), quiet=self.quiet)

    def _run_in_own(self, phases: Phases) -> int:
        """Trains in an environment that a function of a module makes, or goes on with such a run."""
        refuse(
            {
                "a domain": self.domain is not None,
                "--setting": self.setting is not None,
                "--preset": self.preset is not Preset.FAST,
                "--seeds": self.seeds > 1,
                "--instance-seed": self.instance_seed is not None,
                "--own-instances": self.own_instances,
                "--bank": self.bank is not None,
            }
        )
        tree = self._own_hierarchy()
        task = self.task or (None if tree is None else tree.root)
        budget = self._own_budget()
        asked: dict[str, Any] = {"seed": self.seed, "max_steps": self.max_steps, "algorithm": self.algorithm}
        asked |= {"instances": self._own_beginnings, "config": partial(changed, changes=self.set)}
        asked["encode"] = encoding(self.encode)
        if self.resume:  # what is not said holds as when the run began
            asked = {
                name: value for name, value in asked.items() if self._is_given("set" if name == "config" else name)
            }
        folder = self.output or default_folder(self.env or "", task or "", self.algorithm.value, self.seed)
        stop_at = self.stop_at if self.resume else _or(self.stop_at, SOLVED_RETURN)
        phases.end("to start")
        run, rows = train_in_own(
            self.env, tree, folder, budget, resume=self.resume, quiet=self.quiet, task=task, stop_at=stop_at, **asked
        )
        phases.end_run("to train", run.moments(), is_new=not self.resume)
        _conclude(run, rows[-1:])
        if not self.no_report:
            tell(f"wrote {write_training_report(run, run.files.report)}")
            phases.end("for the report")
        phases.tell(quiet=self.quiet)
        return 0

    def _own_hierarchy(self) -> Hierarchy | None:
        """The hierarchy of a task in an environment of somebody else; None to go on with what the run was begun with.

        Raises:
            RewardMachineError: It is missing, or is not one.
        """
        if self.hierarchy is not None:
            return read_hierarchy(self.hierarchy)
        if self.task is not None:
            return compile_task(self.task)
        if self.resume:
            return None
        raise RewardMachineError('say what to learn: --task "lookout ; goal", or --hierarchy FILE')

    def _own_budget(self) -> Budget:
        """The limits that are given; the usual one, if there is none and the run is new."""
        limits = self._with_steps(self._limits())
        return limits if limits.is_limited or self.resume else Budget(steps=STEPS)

    def _asked(self, bank: Bank | None) -> tuple[TrainSpec | None, Hierarchy | None]:
        """What was said on the command line; nothing, if the folder of a run says it all."""
        name, setting = self._where(bank)
        if name is None:
            if self.resume and self.output is not None:
                self._check_resumed(self.output)
                return None, None if self.hierarchy is None else read_hierarchy(self.hierarchy)
            raise RewardMachineError("say where to act (hrm train craftworld --task cake), or --resume -o FOLDER")
        tree = None if self.hierarchy is None else read_hierarchy(self.hierarchy)
        task = self.task or (tree.root if tree is not None else None)
        if task is None:
            raise RewardMachineError("say what to learn: --task NAME (hrm library lists them), or --hierarchy FILE")
        spec = standard_spec(
            name,
            setting,
            task,
            self.algorithm,
            settings=self.preset,
            seed=self.seed,
            seeds=self.seeds,
            max_steps=self.max_steps,
            own_instances=self.own_instances,
            fresh=self._is_fresh,
            bank=bank,
            trains_bank=self.train_bank,
            **self._grids(),
        )
        if self.set:
            spec = replace(spec, config=changed(spec.config, self.set))
        if bank is not None and tree is None:
            tree = task_with_bank(bank, spec.elsewhere().scenario(), spec.task)
        return spec, tree

    def _check_resumed(self, folder: Path) -> None:
        """Refuses arguments that contradict the run in a folder."""
        begun = load_run(folder).spec
        given = self._given_places(begun)
        given |= {name: getattr(self, name) for name in ("task", "seeds", "own_instances") if self._is_given(name)}
        if self._is_given("train_bank"):
            given["trains_bank"] = self.train_bank
        if self._is_given("algorithm") and self.algorithm is not begun.algorithm:
            # The settings of another algorithm are none of this run: there is nothing more to compare.
            check_resumed(folder, {"algorithm": self.algorithm.value}, {"algorithm": begun.algorithm.value})
        config = begun.config
        if self._is_given("preset"):
            config = standard_spec(
                begun.domain, begun.setting, begun.task, begun.algorithm, settings=self.preset, fresh=bool(begun.fresh)
            ).config
        check_resumed(folder, replace(begun, config=changed(config, self.set), **given), begun)

    def _order(self, folder: Path, spec: TrainSpec | None, budget: Budget) -> TrainOrder:
        """What the progress display is told: what is asked for, or was asked for when the run began."""
        if not self.resume:
            assert spec is not None
            return TrainOrder(spec, budget, _or(self.stop_at, good_training_return(self.preset)))
        before = load_run(folder).order
        return replace(before, budget=budget if budget.is_limited else before.budget)

    def _budget(self, spec: TrainSpec | None) -> Budget:
        """The limits that are given; those that are usual, if there are none and the run is new."""
        limits = self._with_steps(self._limits())
        if limits.is_limited or self.resume or spec is None:
            return limits
        if self.preset is Preset.PAPER:
            return Budget(episodes=published_episodes(spec.setting, spec.domain))
        return Budget(steps=STEPS)

    def _with_steps(self, limits: Budget) -> Budget:
        """The limits with that of --steps among them."""
        if self.steps is None:
            return limits
        if limits.steps is not None:
            raise RewardMachineError("--steps and --budget both say how many steps: leave one of them out")
        return replace(limits, steps=self.steps)


def _or(given: T | None, otherwise: T) -> T:
    return otherwise if given is None else given


def _default_folder(spec: TrainSpec | None) -> Path:
    assert spec is not None
    fresh = "fresh-" if spec.fresh else ""
    name = f"{spec.domain}-{spec.setting}-{spec.task}-{spec.algorithm.value}-{fresh}{spec.seed}"
    return Path("runs") / (name.replace("/", "-") if spec.bank is None else re.sub(r"[^\w.+&]+", "-", name))


def _title(spec: TrainSpec) -> str:
    seeds = f"seeds {spec.seed} to {spec.seed + spec.seeds - 1}" if spec.seeds > 1 else f"seed {spec.seed}"
    return f"{spec.domain} {spec.setting} · {spec.task} · {spec.algorithm.value} · {seeds}"


def _conclude(run: TrainRun | TrainGymnasiumRun, last: Sequence[Row]) -> None:
    moments = run.moments()
    if not last and isinstance(run, TrainRun) and run.is_zero_shot:
        returns = [value for evaluation in run.evaluate() for value in evaluation.returns]
        mean = sum(returns) / len(returns)
        tell(f"no step was taken: greedy return {mean:.2f} in {len(returns)} episodes; {run.folder}")
        return
    if not last:
        done = f"{moments[-1].steps:,} steps are" if moments else "everything is"
        tell(f"nothing left to do: {done} done, or it was good enough; --steps or --stop-at asks for more")
        return
    is_spent = run.order.budget.is_spent(last[0].steps, last[0].episodes, moments[-1].seconds)
    early = "" if is_spent else ": good enough"
    tell(f"{last[0].steps:,} steps, {last[0].episodes:,} episodes{early}, {moments[-1].seconds:,.0f} s; {run.folder}")
