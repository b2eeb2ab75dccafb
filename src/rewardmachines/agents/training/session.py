"""A training session in memory: its compiled programs, the states of all seeds, and its counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.chunk_metrics import Assignments, ChunkMetrics
from rewardmachines.agents.loop import Limits, Trainer, TrainingState
from rewardmachines.agents.protocol import Task
from rewardmachines.agents.setup import GivenBank, Problem, build_task, problem, replay_start
from rewardmachines.agents.training.beginning import begin_training
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.scenario import Scenario
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.compile_ahead import KEPT, Program

LEAST_WEIGHT = 0.01
"""The least weight of an instance in the curriculum, so that mastered instances are still visited."""
MANY: Final = 2**31 - 1
"""The largest number of episodes or steps that can be counted on the device."""

Counts = np.ndarray[Any, np.dtype[np.int64]]
"""A number for each seed."""


@dataclass
class Tally:
    """The counts of a session so far, by seed: all of its state that is not on the device."""

    chunks: int
    """Chunks that are done; the same for all seeds."""
    steps: Counts
    """Environment steps that each seed has taken."""
    episodes: Counts
    """Episodes of each seed that have ended."""
    evaluated: Counts
    """Episodes of each seed that had ended at its last evaluation."""
    returns: np.ndarray[Any, np.dtype[np.float64]]
    """The running return of each seed in each instance, from which the curriculum computes its weights."""


@dataclass
class Session:
    """Trains the agents of all seeds, chunk by chunk. The result does not depend on the clock."""

    spec: TrainSpec
    hierarchy: Hierarchy
    """The hierarchy of the task."""
    budget: Budget = field(default_factory=Budget)
    """The limits of each seed. The session itself does not look at the limit of time."""
    bank: Bank | None = None
    """The bank of skills that agents begin with, if the specification names one."""
    tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        seeds, instances = self.spec.seeds, self.spec.instances
        none = np.zeros(seeds, np.int64)
        self.tally = Tally(0, none.copy(), none.copy(), none.copy(), np.zeros((seeds, instances)))
        self._state: TrainingState | None = None

    @cached_property
    def scenario(self) -> Scenario:
        """The domain in its setting, with the instances of the first seed."""
        return self.spec.scenario()

    @cached_property
    def problem(self) -> Problem:
        """The hierarchy, the trainer and the arrays of the task of the first seed, ready to be compiled."""
        given = None if self.bank is None else GivenBank(self.bank, self.spec.trains_bank)
        return problem(self.scenario, self.hierarchy, self.spec.algorithm, self.spec.config, given)

    @cached_property
    def _task(self) -> Task:
        """The arrays of the task. If seeds have instances of their own, its world has a leading axis of seeds."""
        task = self.problem.task
        if not self._has_worlds:
            return task
        worlds = [build_task(self.problem.plan, self._scenario_of(s).world).world for s in range(self.spec.seeds)]
        return _with_world(task, _stack(worlds))

    @property
    def _has_worlds(self) -> bool:
        """Whether each of several seeds has a world of its own."""
        return self.spec.own_instances and self.spec.seeds > 1

    def _scenario_of(self, s: int) -> Scenario:
        """The scenario of the seed with index `s`."""
        return self.spec.of_seed(self.spec.seed + s).scenario()

    def _task_of(self, s: int) -> Task:
        """The arrays of the task for the seed with index `s` alone."""
        task = self._task
        return _with_world(task, jax.tree.map(lambda x: x[s], task.world)) if self._has_worlds else task

    @property
    def steps(self) -> int:
        """The steps that each seed has taken so far. If some wait for others, the largest number."""
        return int(self.tally.steps.max())

    @property
    def is_finished(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which seeds have spent their budget of steps or of episodes."""
        steps, episodes = self.budget.steps, self.budget.episodes
        is_finished = np.zeros(self.spec.seeds, bool)
        if steps is not None:
            is_finished |= self.tally.steps >= steps
        if episodes is not None:
            is_finished |= self.tally.episodes >= episodes
        return is_finished

    @cached_property
    def replay_start(self) -> int:
        """The steps that a seed takes before its replay buffer holds enough experiences to learn from."""
        return replay_start(self.spec.config, self.problem.task)

    @property
    def learns(self) -> bool:
        """Whether replay buffers hold enough experiences to learn from."""
        return self.steps >= self.replay_start

    @property
    def state(self) -> TrainingState:
        """The states of all agents and environments, on the device."""
        if self._state is None:
            self._state = self._fresh_state()
        return self._state

    @state.setter
    def state(self, state: TrainingState) -> None:
        self._state = state

    def _fresh_state(self) -> TrainingState:
        spec, root = self.spec, self._assignments().root
        chances = self._spread(np.asarray(self._assignments().weight))
        each = [
            begin_training(self.problem, self._task_of(s), Assignments(root, chances[s]), spec.seed + s)
            for s in range(spec.seeds)
        ]
        # Copies of all arrays, so that their memory can be donated.
        joined: TrainingState = jax.device_put(each[0], may_alias=False) if spec.seeds == 1 else _stack(each)
        return joined

    def _squeezed(self, tree: Any) -> Any:
        """Drops the axis of seeds if there is only one seed, because programs are faster without it."""
        return jax.tree.map(lambda x: x[0], tree) if self.spec.seeds == 1 else tree

    def _spread(self, tree: Any) -> Any:
        """Adds the axis of seeds again if there is only one seed."""
        return jax.tree.map(lambda x: x[None], tree) if self.spec.seeds == 1 else tree

    @cached_property
    def _programs(self) -> _Programs:
        task_axes = _axes_by_world(self.problem.task) if self._has_worlds else None
        return _compiled_programs(self.problem.trainer, many=self.spec.seeds > 1, task_axes=task_axes)

    def _assignments(self) -> Assignments:
        """The task of all environments, and the weights by which instances are drawn: mastered ones are rare.

        Fresh instances are all alike, and have the weight of one.
        """
        weight = np.maximum(1 - self.tally.returns, LEAST_WEIGHT)[:, None, :]
        if self.spec.fresh:
            weight = np.ones((self.spec.seeds, 1, 1))
        root = np.asarray(self.problem.plan.lowered.roots[:1], np.int32)
        return Assignments(*jax.device_put((root, self._squeezed(weight.astype(np.float32)))))

    def advance(self) -> list[Row]:
        """Computes one chunk, and an evaluation if it is due; returns a row for each seed."""
        if not self._programs.evaluate.is_expected:
            self._programs.evaluate.expect(*self._evaluation_arguments())
        self._state, metrics = self._chunk()
        counted: ChunkMetrics = self._spread(jax.tree.map(np.asarray, metrics))
        self.tally.chunks += 1
        self.tally.steps += self.spec.config.environments * counted.turns.astype(np.int64)
        self.tally.episodes += counted.episodes.sum(axis=(1, 2))
        evaluation = None
        if self._is_due:
            evaluation = self.evaluate()
            weight = self.spec.config.curriculum_weight
            self.tally.returns = weight * self.tally.returns + (1 - weight) * evaluation[0]
            self.tally.evaluated = self.tally.episodes.copy()
        exploring = self._spread(np.asarray(self._programs.exploration(self._task, self.state.agent)))
        return [self._row(s, counted, float(exploring[s]), evaluation) for s in range(self.spec.seeds)]

    def _chunk(self) -> tuple[TrainingState, ChunkMetrics]:
        """Computes a chunk; only its beginning, if an evaluation or the end of the budget falls into it."""
        programs, arguments = self._programs, (self._task, self._assignments(), self.state)
        goes_by_episodes = self.spec.config.evaluate_episodes is not None or self.budget.episodes is not None
        result: tuple[TrainingState, ChunkMetrics] = (
            programs.chunk_until(*arguments, self._limits()) if goes_by_episodes
            else programs.chunk(*arguments, self.learns)
        )  # fmt: skip
        return result

    def _limits(self) -> Limits:
        """The episodes until each seed is evaluated or its budget ends, and the steps until it begins to learn."""
        most = np.minimum(self._next_evaluation, MANY if self.budget.episodes is None else self.budget.episodes)
        left = np.where(self.is_finished, 0, np.clip(most - self.tally.episodes, 0, MANY))
        start = np.clip(self.replay_start - self.tally.steps, 0, MANY)
        return Limits(*jax.device_put(self._squeezed((left.astype(np.int32), start.astype(np.int32)))))

    @property
    def _next_evaluation(self) -> Counts:
        """The number of episodes after which each seed is evaluated next."""
        every = self.spec.config.evaluate_episodes
        if every is None:
            return np.full(self.spec.seeds, MANY, np.int64)
        return (self.tally.evaluated // every + 1) * every

    @property
    def _is_due(self) -> bool:
        """Whether an evaluation is due. Seeds are evaluated together, so the first ones wait for the others."""
        if self.spec.config.evaluate_episodes is None:
            return self.tally.chunks % self.spec.config.evaluate_every == 0
        is_due = self.tally.episodes >= self._next_evaluation
        return bool(is_due.any() and (is_due | self.is_finished).all())

    def _row(self, s: int, counted: ChunkMetrics, exploring: float, evaluation: Any) -> Row:
        """The row of the seed with index `s` after a chunk."""
        return Row(
            seed=self.spec.seed + s,
            chunk=self.tally.chunks,
            steps=int(self.tally.steps[s]),
            episodes=int(self.tally.episodes[s]),
            goals=int(counted.goals[s].sum()),
            ended=int(counted.episodes[s].sum()),
            formula_loss=float(counted.losses.formulas[s]),
            call_loss=float(counted.losses.calls[s]),
            exploration=exploring,
            returns=None if evaluation is None else tuple(map(float, evaluation[0][s])),
            lengths=None if evaluation is None else tuple(map(int, evaluation[1][s])),
        )

    def evaluate(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Evaluates the agents of all seeds.

        Returns:
            The returns and the lengths of greedy episodes, by seed and instance.
        """
        evaluated = self._programs.evaluate(*self._evaluation_arguments())
        returns, lengths = self._spread(jax.tree.map(np.asarray, evaluated))
        return returns, lengths

    def _evaluation_arguments(self) -> tuple[Any, ...]:
        """The arguments of the program that evaluates."""
        instance = np.arange(self.spec.instances, dtype=np.int32)
        root = np.full(self.spec.instances, self.problem.plan.lowered.root, np.int32)
        return self._task, root, instance, self.state.agent, jax.random.key(self.tally.chunks)


@jax.jit
def _stack(trees: Sequence[Any]) -> Any:
    """Trees of equal shapes as one, along a leading axis; a single program for all of their arrays."""
    return jax.tree.map(lambda *each: jnp.stack(each), *trees)


def _with_world(task: Task, world: Any) -> Task:
    """The task in another world, or in those of several seeds."""
    changed: Task = eqx.tree_at(lambda task: task.world, task, world)
    return changed


def _axes_by_world(task: Task) -> Any:
    """For `vmap` over seeds: each has its own world, and all share the rest of the task."""
    return eqx.tree_at(lambda task: task.world, jax.tree.map(lambda _: None, task), 0, is_leaf=lambda x: x is None)


class _Programs:
    """The compiled programs of a trainer, for one seed or for many, whose tasks may differ in arrays with an axis."""

    def __init__(self, trainer: Trainer[Any], *, many: bool, task_axes: Any) -> None:
        shared: Any = None
        by_seed: Any = 0
        axes = Assignments(shared, by_seed)  # all seeds have the same root, and each has its own weights

        def over_seeds(function: Any, in_axes: Any) -> Any:
            return jax.vmap(function, in_axes=in_axes) if many else function

        self.chunk = Program(over_seeds(trainer.chunk, (task_axes, axes, 0, None)), donate=[2])
        self.chunk_until = Program(partial(trainer.chunk_until, many=many, task_axes=task_axes), donate=[2])
        self.evaluate = Program(over_seeds(trainer.evaluate, (task_axes, None, None, 0, None)))
        self.exploration = Program(over_seeds(trainer.agent.exploration, (task_axes, 0)))


_compiled_programs = lru_cache(KEPT)(_Programs)
"""Equal trainers get the same programs, so that nothing is compiled twice."""
