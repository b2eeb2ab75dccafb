"""The worlds of tasks in the domains of this project: environment, true hierarchies and agent in one compiled program.

The *truth*, the environment's own hierarchy, says how an episode ends; the agent sees only labels and ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.loop import draw_pairs, where_rows
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses, Ready
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.interaction import NOTHING, Crew, Endings, Knowledge, Stepper, StepResult
from rewardmachines.lhrm.machine_pool import ranked
from rewardmachines.lhrm.worlds.protocol import Counts, RunState
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.runs.compile_ahead import Program


class Truth(NamedTuple):
    """The environment's own hierarchies."""

    tables: Tables
    root: Int32[Array, " T"]


class EnvironmentStates(NamedTuple):
    """N environments as they really are."""

    state: Any
    truth: State
    steps: Int32[Array, " N"]


@dataclass(frozen=True)
class Course:
    """Environments and agent together. All methods are pure."""

    stepper: Stepper
    environment: AnyEnvironment
    max_steps: int

    def begin(self, knowledge: Knowledge, truth: Truth, key: PRNGKeyArray) -> tuple[Crew, EnvironmentStates]:
        """Everybody at the beginning of an episode."""
        pairs = draw_pairs(knowledge.chances, self.stepper.agent.config.environments, key)
        return self._begun(knowledge, truth, *pairs, jax.random.fold_in(key, 1))

    def _begun(
        self, knowledge: Knowledge, truth: Truth, task: Any, instance: Any, key: PRNGKeyArray
    ) -> tuple[Crew, EnvironmentStates]:
        state = jax.vmap(partial(self.environment.reset, knowledge.world))(instance)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        true = jax.vmap(lambda root, first: hierarchy_step(truth.tables, initial_state(truth.tables, root), first))(
            truth.root[task], label
        )
        environments = EnvironmentStates(state, true, jnp.zeros(task.shape, jnp.int32))
        return self.stepper.begun(
            knowledge, task, instance, self._result(truth, environments, label), key
        ), environments

    def _result(self, truth: Truth, environments: EnvironmentStates, label: Any) -> StepResult:
        end = jax.vmap(partial(verdict, truth.tables))(environments.truth)
        return StepResult(
            jax.vmap(self.environment.remember)(environments.state), label, end, environments.steps >= self.max_steps
        )

    def _stepped(
        self, knowledge: Knowledge, truth: Truth, environments: EnvironmentStates, before: Any, actions: Any
    ) -> tuple[EnvironmentStates, StepResult]:
        state = jax.vmap(partial(self.environment.step, knowledge.world))(environments.state, actions)
        label = jax.vmap(partial(self.environment.label, knowledge.world))(state)
        moved = jax.vmap(partial(move_on_event, truth.tables))(environments.truth, before, label)
        after = EnvironmentStates(state, moved.after, environments.steps + 1)
        return after, self._result(truth, after, label)

    def restart(
        self,
        knowledge: Knowledge,
        truth: Truth,
        now: tuple[Crew, EnvironmentStates],
        which: Bool[Array, " N"],
        key: Any,
    ) -> tuple[Crew, EnvironmentStates]:
        """New episodes where it is said."""
        restarted: tuple[Crew, EnvironmentStates] = where_rows(which, self.begin(knowledge, truth, key), now)
        return restarted

    # -- a chunk

    def chunk(
        self, knowledge: Knowledge, truth: Truth, state: RunState, ready: Ready, most: Int32[Array, ""]
    ) -> tuple[RunState, Counts]:
        """Vector steps until there were enough of them, or of episodes, or everybody waits."""

        def goes_on(carry: tuple[Int32[Array, ""], RunState, Counts]) -> Bool[Array, ""]:
            number, state, so_far = carry
            everybody_waits = (state.crew.waiting != NOTHING).all()
            return (number < self.stepper.agent.config.chunk) & ~everybody_waits & (so_far.episodes.sum() < most)

        def step(carry: tuple[Int32[Array, ""], RunState, Counts]) -> tuple[Int32[Array, ""], RunState, Counts]:
            number, state, so_far = carry
            state, counts = self._vector_step(knowledge, truth, state, ready)
            return number + 1, state, jax.tree.map(jnp.add, so_far, counts)

        none, zero, nothing = jnp.zeros(knowledge.root.shape, jnp.int32), jnp.int32(0), jnp.float32(0)
        start = (zero, state, Counts(none, none, zero, Losses(nothing, nothing)))
        number, state, total = jax.lax.while_loop(goes_on, step, start)
        return state, total._replace(losses=jax.tree.map(lambda x: x / jnp.maximum(number, 1), total.losses))

    def _vector_step(
        self, knowledge: Knowledge, truth: Truth, state: RunState, ready: Ready
    ) -> tuple[RunState, Counts]:
        key, explore_key, take_key, begin_key, learn_key = jax.random.split(state.key, 5)
        actions, agent, crew = self.stepper.explore(knowledge, state.agent, state.crew, explore_key)
        environments, result = self._stepped(knowledge, truth, state.environments, crew.label, actions)
        agent, after, endings = self.stepper.take(knowledge, agent, crew, actions, result, take_key)
        is_due, unlearned = learning_due(state.unlearned, endings.is_live)
        agent, losses = self.stepper.agent.learn(knowledge.task, agent, learn_key, is_due & ready)
        after, environments = self.restart(knowledge, truth, (after, environments), endings.is_over, begin_key)
        return RunState(agent, after, environments, unlearned, key), counted(knowledge, crew, endings, losses)

    # -- evaluation

    def evaluate(
        self, knowledge: Knowledge, truth: Truth, agent: AgentState, task: Any, instance: Any, wanted: Any, key: Any
    ) -> tuple[Float[Array, " N"], Int32[Array, " N"]]:
        """The return of a greedy episode of each pair that is wanted, and its length."""
        crew, environments = self._begun(knowledge, truth, task, instance, jax.random.fold_in(key, 1))
        longest = self.stepper.agent.config.evaluate_steps or self.max_steps

        def goes_on(carry: Any) -> Any:
            return ~carry[2].all()

        def step(carry: tuple[Crew, EnvironmentStates, Any, Any, Any]) -> tuple[Crew, EnvironmentStates, Any, Any, Any]:
            crew, environments, is_done, returned, key = carry
            key, act_key, follow_key = jax.random.split(key, 3)
            actions, acted = self.stepper.exploit(knowledge, agent, crew, act_key)
            moved, result = self._stepped(knowledge, truth, environments, crew.label, actions)
            after, is_over, won = self.stepper.follow(knowledge, acted, actions, result, follow_key)
            kept = where_rows(is_done, (crew, environments), (after, moved))
            return *kept, is_done | is_over | (moved.steps >= longest), returned + (won & ~is_done), key

        nobody = ~wanted | ~knowledge.is_learned[task]
        start = (crew, environments, nobody, jnp.zeros(task.shape), key)
        _, environments, _, returned, _ = jax.lax.while_loop(goes_on, step, start)
        return returned, environments.steps


def learning_due(
    unlearned: Int32[Array, ""], is_live: Bool[Array, " N"]
) -> tuple[Bool[Array, ""], Int32[Array, ""]]:  # fmt: skip
    """Whether there was a step for every environment since the agent last learned, and how many there were since.

    Environments that wait make no steps. Were there a round of learning after every vector step all the same, there
    would be more updates for each step than the settings say.
    """
    steps = unlearned + is_live.sum(dtype=jnp.int32)
    is_due = steps >= is_live.shape[0]
    return is_due, jnp.where(is_due, steps - is_live.shape[0], steps)


def counted(knowledge: Knowledge, crew: Crew, endings: Endings, losses: Losses) -> Counts:
    """What a vector step adds to the counts of a chunk."""
    nothing = jnp.zeros(knowledge.root.shape, jnp.int32)
    return Counts(
        episodes=nothing.at[crew.task].add(endings.is_ended.astype(jnp.int32)),
        goals=nothing.at[crew.task].add(endings.is_goal.astype(jnp.int32)),
        steps=endings.is_live.sum(dtype=jnp.int32),
        losses=losses,
    )


class Programs:
    """What is compiled, once each."""

    def __init__(self, course: Course) -> None:
        self.begin = Program(course.begin)
        self.restart = Program(course.restart)
        self.chunk = Program(course.chunk, donate=[2])
        self.evaluate = Program(course.evaluate)


programs = cache(Programs)
"""The same for equal courses: nothing is compiled twice."""


class CompiledWorlds:
    """A domain in one of its settings, some of its tasks."""

    def __init__(self, scenario: Scenario, tasks: Sequence[str] | None = None, *, flat: bool = False) -> None:
        """All tasks, if none are named. What is learned flat is all on one level."""
        self.scenario = scenario
        names = list(tasks) if tasks is not None else list(scenario.domain.tasks)
        if not names:
            raise RewardMachineError("there is no task to learn")
        self._trees = {name: scenario.task(name) for name in names}
        levels = {name: 1 if flat else tree.height for name, tree in self._trees.items()}
        self.tasks = ranked(levels)
        self.propositions = scenario.environment.propositions
        self.instances = len(scenario.instances)
        self.world = scenario.world
        self.shape = scenario.environment.observation_shape
        self.actions = scenario.environment.actions
        lowered = scenario.lower([self._trees[task.name] for task in self.tasks])
        self._truth = Truth(lowered.tables, jnp.asarray(lowered.roots, jnp.int32))
        self._course: Course | None = None

    def tree(self, name: str) -> Hierarchy:
        """The true hierarchy of a task."""
        return self._trees[name]

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(sorted(tree[tree.root].callees)) for name, tree in self._trees.items()}

    def prepare(self, config: LhrmConfig, depth: int) -> None:
        environment, limit = self.scenario.environment, self.scenario.max_steps
        agent = HierarchicalAgent(config.agent, self.shape, self.actions, depth, environment.recall)
        self._course = Course(Stepper(agent, limit, config.patience), environment, limit)

    @property
    def _programs(self) -> Programs:
        assert self._course is not None, "prepare comes first"
        return programs(self._course)

    def create(self, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray) -> RunState:
        assert self._course is not None, "prepare comes first"
        crew_key, key = jax.random.split(key)
        crew, environments = self._programs.begin(knowledge, self._truth, crew_key)
        memory = jax.tree.map(lambda x: x[0], crew.now)
        agent = self._course.stepper.agent.create(knowledge.task, memory, chance)
        fresh = RunState(agent, crew, environments, jnp.int32(0), key)
        owned: RunState = jax.tree.map(
            lambda x: x.copy(), fresh
        )  # every array on its own, so that it can be given away
        return owned

    def chunk(self, knowledge: Knowledge, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        if not self._programs.evaluate.is_expected:
            nobody = np.zeros(len(self.tasks), bool)
            self._programs.evaluate.expect(*self._greedily(knowledge, state.agent, nobody, 0))
        done: tuple[RunState, Counts] = self._programs.chunk(knowledge, self._truth, state, learns, most)
        return done

    def restart(self, knowledge: Knowledge, state: RunState, which: Any) -> RunState:
        key, restart_key = jax.random.split(state.key)
        now, mask = (state.crew, state.environments), jnp.asarray(which)
        crew, environments = self._programs.restart(knowledge, self._truth, now, mask, restart_key)
        return state._replace(crew=crew, environments=environments, key=key)

    def evaluate(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> Any:
        return self.greedy_episodes(knowledge, agent, wanted, seed)[0]

    def greedy_episodes(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> tuple[Any, Any]:
        """Returns as `evaluate` has them, and lengths."""
        returns, lengths = self._programs.evaluate(*self._greedily(knowledge, agent, wanted, seed))
        shape = len(self.tasks), self.instances
        return np.asarray(returns, np.float64).reshape(shape), np.asarray(lengths).reshape(shape)

    def _greedily(self, knowledge: Knowledge, agent: AgentState, wanted: Any, seed: int) -> tuple[Any, ...]:
        """What an evaluation is called with."""
        tasks, instances = len(self.tasks), self.instances
        task = jnp.repeat(jnp.arange(tasks, dtype=jnp.int32), instances)
        instance = jnp.tile(jnp.arange(instances, dtype=jnp.int32), tasks)
        each = jnp.repeat(jnp.asarray(wanted), instances)
        return knowledge, self._truth, agent, task, instance, each, jax.random.key(seed)
