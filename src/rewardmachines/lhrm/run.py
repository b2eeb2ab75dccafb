"""Runs of LHRM that are folders: they can be watched, killed, resumed, reported on, and acted with."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rewardmachines.agents.policy import Policy
from rewardmachines.agents.training.metrics import read_records
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs.registry import domain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.checkpoint import read_saved
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.diagnosis import mean_returns, what_is_missing
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.journal import LearnJournal, LearnMoment, row_check
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.policies import Actor, TaskEvaluation
from rewardmachines.lhrm.snapshot import put_back
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.interrupt import defer_interrupt
from rewardmachines.traces import Trace

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import ScenarioEnv


class Chunk(NamedTuple):
    """What is told of a chunk."""

    run: Lhrm
    """As it is now."""
    row: Row
    moment: LearnMoment


Callback = Callable[[Chunk], object]


@dataclass(frozen=True)
class LhrmRun:
    """A run on disk, finished or not. What was read once is not read again."""

    folder: Path
    spec: LearnSpec
    order: LearnOrder

    @property
    def _place(self) -> LearnFolder:
        return LearnFolder(self.folder)

    @cached_property
    def worlds(self) -> CompiledWorlds:
        """Where it learns, with the true hierarchies of its tasks."""
        return self.spec.worlds()

    @property
    def tasks(self) -> tuple[str, ...]:
        """Lowest first: the order in which rows speak of them."""
        return tuple(task.name for task in self.worlds.tasks)

    @property
    def levels(self) -> dict[str, int]:
        return {task.name: task.level for task in self.worlds.tasks}

    # -- what happened

    def rows(self) -> list[Row]:
        """A row for each chunk."""
        return list(read_records(Row, self._place.metrics, row_check(self.tasks, self.worlds.instances)))

    def moments(self) -> list[LearnMoment]:
        """When each chunk was done."""
        return list(read_records(LearnMoment, self._place.timing))

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Those that were learned, by task, lowest first."""
        return self._place.read_machines(self.tasks)

    def examples(self) -> dict[str, tuple[Trace, ...]]:
        """What the learned ones must explain."""
        return self._place.read_examples(self.tasks)

    # -- as of the last checkpoint

    @cached_property
    def _last(self) -> Lhrm:
        """Without its arrays; it cannot go on."""
        run = Lhrm(self.worlds, self.spec.config, Solvers(), seed=self.spec.seed)
        path = self._place.checkpoint
        if path.exists():
            put_back(run, read_saved(path).snapshot, str(path))
        return run

    def learnings(self) -> dict[str, Learning]:
        """How the machines came about, by task."""
        return dict(self._last.learnings)

    def first(self) -> dict[str, int]:
        """Episodes from the beginning of its level to the first machine of a task."""
        return dict(self._last.first)

    def activated(self) -> dict[int, int]:
        """The episode at which each level began."""
        return dict(self._last.activated)

    @property
    def level(self) -> int:
        """One more than the highest when everything is mastered."""
        return self._last.curriculum.level

    def returns(self) -> dict[str, float]:
        """Means of the last evaluations, three at most; 0 before the first."""
        return mean_returns(self._last)

    def missing(self) -> dict[str, str]:
        """What every task that is not learned well enough lacks, in words; nothing, if all are."""
        ended = [row.ended for row in self.rows()]
        episodes = {name: sum(row[i] for row in ended) for i, name in enumerate(self.tasks)}
        return what_is_missing(self._last, episodes, self.order.stop_at)

    # -- acting

    @cached_property
    def _actor(self) -> Actor:
        if not self._place.policies.exists():
            raise RewardMachineError(f"{self.folder}: there are no policies yet")
        worlds = self.spec.worlds()
        return Actor(self._place.policies, Lhrm(worlds, self.spec.config, Solvers(), seed=self.spec.seed), worlds)

    def evaluate(self) -> list[TaskEvaluation]:
        """The policies that were written last, greedily, in all instances."""
        return self._actor.evaluate()

    def policy(self, task: str) -> Policy:
        """Acts on observations, with the hierarchy that was learned."""
        self.check_task(task)
        return self._actor.policy(task)

    def environment(self, task: str, instance: int | None = None, render_mode: str | None = None) -> ScenarioEnv:
        """Where it was learned, as a Gymnasium environment, with the true hierarchy of the task."""
        from rewardmachines.envs.gymnasium.single import (
            ScenarioEnv,  # here, because training runs where Gymnasium is not installed
        )

        self.check_task(task)
        spec = self.spec
        return ScenarioEnv(
            spec.domain,
            spec.setting,
            self.worlds.tree(task),
            instance=instance,
            instances=spec.instances,
            base_seed=spec.instance_seed,
            observation=spec.config.agent.observation,
            max_steps=spec.max_steps,
            render_mode=render_mode,
        )

    def check_task(self, task: str) -> None:
        """Whether it is one of them."""
        if task not in self.tasks:
            hint = suggestion(task, self.tasks) or f"; there are {', '.join(self.tasks)}"
            raise RewardMachineError(f"{self.folder}: there is no task '{task}' in this run{hint}")


def load_learning(folder: str | Path) -> LhrmRun:
    """A run of `learn`, finished or not.

    Args:
        folder: Where it was made.

    Raises:
        RewardMachineError: There is no such run.
    """
    order = LearnFolder(Path(folder)).read_order()
    return LhrmRun(Path(folder), order.spec, order)


def learn(
    folder: str | Path,
    spec: LearnSpec | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    callbacks: Sequence[Callback] = (),
    resume: bool = False,
    learner: MachineLearner | None = None,
) -> LhrmRun:
    """Learns machines and policies in a new folder, or goes on in one.

    Each callback is told every chunk. See `learning_rows` for the rest.
    """
    with closing(
        learning_rows(
            folder, spec, stop_at=stop_at, steps=steps, seconds=seconds, episodes=episodes, resume=resume,
            learner=learner,
        )
    ) as chunks:  # fmt: skip
        for chunk in chunks:
            for callback in callbacks:
                callback(chunk)
    return load_learning(folder)


def learning_rows(
    folder: str | Path,
    spec: LearnSpec | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    resume: bool = False,
    learner: MachineLearner | None = None,
) -> Generator[Chunk]:
    """Learns, and gives every chunk. Whoever stops asking leaves a checkpoint behind.

    It ends when the mean return of three consecutive evaluations is at least `stop_at` for all tasks at once, those
    given up aside; 0 is never, and what is usual for the domain holds if it is not given. It ends early after so many
    steps, seconds or episodes, or when all tasks were given up. To resume, nothing but the folder is needed: what was
    asked for when the run began holds, except for what is given anew; steps, seconds and episodes go together.

    Machines come from `learner`, or from the exact one if nobody is given. The folder does not tell who it was: whoever
    resumes a run with a learner of their own gives it again.
    """
    place, budget = LearnFolder(Path(folder)), (steps, seconds, episodes)
    order = _asked_again(place, spec, stop_at, budget) if resume else _asked(place, spec, stop_at, budget)
    worlds = order.spec.worlds()
    with Solvers() as solvers:
        # What is wrong is told before anything is written.
        run = Lhrm(worlds, order.spec.config, solvers, seed=order.spec.seed, learner=learner)
        with place.writable():
            if not resume:
                place.begin()
            place.write_order(order)
            with closing(LearnJournal(place, run)) as journal:
                yield from _chunks(order, run, journal)


_Budget = tuple[int | None, float | None, int | None]
"""Steps, seconds and episodes."""


def _asked(place: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: _Budget) -> LearnOrder:
    place.check_free()
    if spec is None:
        raise RewardMachineError("a new run needs a spec")
    return LearnOrder(spec, domain(spec.domain).solved_return if stop_at is None else stop_at, *budget)


def _asked_again(place: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: _Budget) -> LearnOrder:
    order = place.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{place.path}: the run was begun with other settings: {differs}")
    if budget == (None, None, None):
        budget = order.steps, order.seconds, order.episodes
    return LearnOrder(order.spec, order.stop_at if stop_at is None else stop_at, *budget)


def _chunks(order: LearnOrder, run: Lhrm, journal: LearnJournal) -> Iterator[Chunk]:
    while not _is_over(order, run, journal):
        try:
            with defer_interrupt():
                row, moment = journal.advance()
            yield Chunk(run, row, moment)
        except (KeyboardInterrupt, GeneratorExit):
            journal.checkpoint()
            raise
    journal.checkpoint()


def _is_over(order: LearnOrder, run: Lhrm, journal: LearnJournal) -> bool:
    if order.steps is not None and run.tally.steps >= order.steps:
        return True
    if order.seconds is not None and journal.seconds >= order.seconds:
        return True
    if order.episodes is not None and run.tally.episodes >= order.episodes:
        return True
    return run.is_stuck or (order.stop_at > 0 and run.is_done(order.stop_at))
