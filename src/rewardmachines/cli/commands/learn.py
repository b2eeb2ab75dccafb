"""The command `hrm learn`: the machines and policies of all tasks together, from interaction alone."""

from __future__ import annotations

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
from rewardmachines.lhrm.learn import learning_rows
from rewardmachines.lhrm.learner_registry import EXACT, check_learner
from rewardmachines.lhrm.presets import published_learning_episodes
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, standard_learning
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.overrides import changed

QUICK_INSTANCES: Final = 3
QUICK_STEPS: Final = 1_000_000
"""That quick runs may take, unless a budget is given."""


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
    stop_at: float | None = None
    """End when the mean return of three evaluations in a row is at least this, for every task; what the domain calls
    solved if not given, such as 0.95, and 0 for never."""
    explore: Annotated[Exploration | None, tyro.conf.EnumChoicesFromValues] = None
    """Where no machine says what to do: actions at random, also options that are mastered, or also every proposition
    that was seen; what the preset says if not given."""
    callables: Annotated[Callables, tyro.conf.EnumChoicesFromValues] = Callables.LOWER
    """What machines may call: all of lower levels, only those that the true one calls, or none."""
    learner: Annotated[str, tyro.conf.arg(metavar="NAME")] = EXACT
    """Who learns machines: exact finds those with the fewest states; others are registered, or those of a package."""
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
            stop_at = domain(spec.domain).solved_return if self.stop_at is None else self.stop_at
            return LearnOrder(spec, budget, stop_at)
        before = load_learning(folder).order
        stop_at = before.stop_at if self.stop_at is None else self.stop_at
        return replace(before, budget=budget if budget.is_limited else before.budget, stop_at=stop_at)

    def _spec(self) -> LearnSpec | None:
        """What was said on the command line; nothing, if the folder of a run says it all."""
        if self.domain is None:
            if self.resume and self.output is not None:
                return None
            raise RewardMachineError("say where to act (hrm learn craftworld), or --resume -o FOLDER")
        if self.quick and self.tasks:
            raise RewardMachineError("--quick chooses the tasks by itself: leave out --tasks")
        check_learner(self.learner)
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
            learner=self.learner,
        )
        return replace(spec, config=changed(self._config(spec.config), self.set, within="agent"))

    def _config(self, config: LhrmConfig) -> LhrmConfig:
        config = replace(config, explores_with=self.explore or config.explores_with, callables=self.callables)
        if self.quick:
            config = replace(config, goals=config.first_goals)
        return replace(config, first_goals=1, goals=1, examples=1) if self.single_trace else config


def _conclude(run: LearnRun, *, is_new: bool) -> int:
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


def _report(run: LearnRun) -> None:
    from rewardmachines.reports import write_report  # draws, which only this needs

    tell(f"wrote {write_report(run, LearnFolder(run.folder).report)}")
