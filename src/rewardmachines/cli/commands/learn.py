"""The command `hrm learn`: the machines and policies of all tasks together, from interaction alone."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import tyro

from rewardmachines.agents.presets import Preset
from rewardmachines.cli.progress.learn import watching_learning
from rewardmachines.cli.run_options import RunCommand, keep_compiled
from rewardmachines.cli.shared import Flag, tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.presets import published_learning_episodes
from rewardmachines.lhrm.run import LhrmRun, learning_rows, load_learning
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, standard_learning
from rewardmachines.runs.overrides import changed

QUICK_INSTANCES: Final = 3
QUICK_STEPS: Final = 1_000_000
"""That quick runs may take, unless a budget is given."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Budget:
    """What a run may take: steps, seconds, episodes, or whatever it needs."""

    steps: int | None = None
    seconds: float | None = None
    episodes: int | None = None


def read_budget(text: str) -> Budget:
    """A number of steps, or a time with its unit.

    >>> read_budget("1.5h")
    Budget(steps=None, seconds=5400.0, episodes=None)
    """
    found = re.fullmatch(r"(\d[\d_,]*|\d+\.\d*)([smh]?)", text.strip())
    number = float(re.sub("[_,]", "", found.group(1))) if found else 0.0
    if found is None or not number or (not found.group(2) and "." in found.group(1)):
        raise RewardMachineError(
            f"--budget {text}: write a number of steps, such as 500000, or a time, such as 90s, 30m or 2h"
        )
    unit = found.group(2)
    return Budget(seconds=number * _UNITS[unit]) if unit else Budget(steps=int(number))


@dataclass(frozen=True)
class Learn(RunCommand):
    """Learn the machines and the policies of all tasks of a domain, from interaction alone, easy ones first.

    The environments show labels and say how episodes end, no more. Machines are learned from traces, call those learned
    before them, and are learned again when an episode shows that they are wrong.

    Try:
      hrm learn craftworld --setting op
      hrm learn craftworld --quick
      hrm learn waterworld --setting wod --tasks rg bc "rg&bc" --budget 2h
      hrm learn --resume -o runs/learn-craftworld-op-0

    It ends when all tasks are learned, or when the budget is spent; Ctrl-C stops it at any time, --resume goes on. The
    folder holds config.json, metrics.jsonl, timing.jsonl, events/ (tensorboard --logdir FOLDER), machines/ (hrm draw),
    examples/ (hrm induce), policies.safetensors, a checkpoint and, in the end, report/index.html. Exit status 1 if a
    task is not learned in the end, with a line that says what is missing.
    """

    tasks: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TASK")] = ()
    """What to learn; all tasks of the domain if not given (hrm library lists them)."""
    quick: Flag = False
    """Three tasks on two levels, in three instances, with fewer traces to begin with: a minute or two."""
    budget: Annotated[str | None, tyro.conf.arg(metavar="STEPS|TIME")] = None
    """What it may take: a number of environment steps, such as 500000, or a time, such as 90s, 30m or 2h; whatever it
    needs if not given."""
    episodes: int | None = None
    """How many episodes it may take, of all tasks together; as many as published if no budget is given, with the preset
    paper."""
    stop_at: float | None = None
    """End when the mean return of three evaluations in a row is at least this, for every task; what the domain says if
    not given (0.95 in CraftWorld, 0.75 in WaterWorld), 0 for never."""
    explore: Annotated[Exploration | None, tyro.conf.EnumChoicesFromValues] = None
    """Where no machine says what to do: actions at random, also options that are mastered, or also every proposition
    that was seen; what the preset says if not given."""
    callables: Annotated[Callables, tyro.conf.EnumChoicesFromValues] = Callables.LOWER
    """What machines may call: all of lower levels, only those that the true one calls, or none."""
    single_trace: Flag = False
    """Learn the first machine of a task from the first goal trace."""
    no_report: Flag = False
    """Do not write a report in the end."""

    def run(self) -> int:
        spec = self._spec()
        folder = self.output or self._default_folder(spec)
        budget = self._budget(spec)
        order = self._order(folder, spec, budget)
        keep_compiled()
        is_new = self._learn(folder, spec, order, budget)
        run = load_learning(folder)
        status = _conclude(run, is_new=is_new)
        if not self.no_report:
            _report(run)
        return status

    def _default_folder(self, spec: LearnSpec | None) -> Path:
        """Quick runs have one of their own, which patterns such as runs/learn-* do not match either."""
        assert spec is not None
        return Path("runs") / f"{'quick' if self.quick else 'learn'}-{spec.domain}-{spec.setting}-{spec.seed}"

    def _learn(self, folder: Path, spec: LearnSpec | None, order: LearnOrder, budget: Budget) -> bool:
        """Whether there was anything to do."""
        chunks = learning_rows(
            folder,
            spec,
            stop_at=self.stop_at,
            steps=budget.steps,
            seconds=budget.seconds,
            episodes=budget.episodes,
            resume=self.resume,
        )
        is_new = False
        try:
            with closing(chunks), watching_learning(order) as watch:
                for chunk in chunks:
                    watch(chunk)
                    is_new = True
        except KeyboardInterrupt:
            if LearnFolder(folder).config.exists():
                tell(f"stopped; go on with: hrm learn --resume -o {folder}")
            raise
        return is_new

    def _budget(self, spec: LearnSpec | None) -> Budget:
        if self.budget is not None or self.episodes is not None:
            return replace(Budget() if self.budget is None else read_budget(self.budget), episodes=self.episodes)
        if self.resume or spec is None:
            return Budget()
        if self.preset is Preset.PAPER and not self.quick:
            return Budget(episodes=published_learning_episodes(spec.setting, spec.domain))
        return Budget(steps=QUICK_STEPS) if self.quick else Budget()

    def _order(self, folder: Path, spec: LearnSpec | None, budget: Budget) -> LearnOrder:
        """As the run will see it."""
        if not self.resume:
            assert spec is not None
            stop_at = domain(spec.domain).solved_return if self.stop_at is None else self.stop_at
            return LearnOrder(spec, stop_at, budget.steps, budget.seconds, budget.episodes)
        before = load_learning(folder).order
        if budget != Budget():
            before = replace(before, steps=budget.steps, seconds=budget.seconds, episodes=budget.episodes)
        return before if self.stop_at is None else replace(before, stop_at=self.stop_at)

    def _spec(self) -> LearnSpec | None:
        """What was said on the command line; nothing, if the folder of a run says it all."""
        if self.domain is None:
            if self.resume and self.output is not None:
                return None
            raise RewardMachineError("say where to act (hrm learn craftworld), or --resume -o FOLDER")
        if self.quick and self.tasks:
            raise RewardMachineError("--quick chooses the tasks by itself: leave out --tasks")
        tasks = domain(self.domain).quick_tasks if self.quick else self.tasks
        spec = standard_learning(
            self.domain,
            self._setting(),
            tasks or None,
            settings=self.preset,
            seed=self.seed,
            instances=min(self.instances, QUICK_INSTANCES) if self.quick else self.instances,
            instance_seed=self.instance_seed,
            max_steps=self.max_steps,
        )
        return replace(spec, config=changed(self._config(spec.config), self.set, within="agent"))

    def _config(self, config: LhrmConfig) -> LhrmConfig:
        config = replace(config, explores_with=self.explore or config.explores_with, callables=self.callables)
        if self.quick:
            config = replace(config, goals=config.first_goals)
        return replace(config, first_goals=1, goals=1, examples=1) if self.single_trace else config


def _conclude(run: LhrmRun, *, is_new: bool) -> int:
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


def _report(run: LhrmRun) -> None:
    from rewardmachines.reports import write_report  # draws, which only this needs

    tell(f"wrote {write_report(run, LearnFolder(run.folder).report)}")
