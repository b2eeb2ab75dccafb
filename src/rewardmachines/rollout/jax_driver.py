"""Domains that are written in JAX: environments and agent are compiled as one program.

The *truth*, the environment's own hierarchy, decides how an episode ends while hierarchies are learned: the agent
observes only labels and ends. Given hierarchies are the truth themselves, and their states are the agent's beliefs.
Arrays have a row for each of N environments. `T` counts tasks, `I` instances, `S` parallel runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray, UInt32

from rewardmachines.agents.batches import TrainingInstances, draw_pairs, unless_stopped, where_rows
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses, Ready
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.interface import AnyEnvironment, RecallOf
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered import State, Tables, initial_state, move_on_event, verdict
from rewardmachines.lowered import step as hierarchy_step
from rewardmachines.rollout.compile_ahead import KEPT, CompiledProgram
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.interface import Encode
from rewardmachines.rollout.noise import PerceptNoise
from rewardmachines.rollout.policy import Encoding, plain_encoding
from rewardmachines.rollout.suite import ranked
from rewardmachines.rollout.tables import (
    INCOMPLETE,
    NOTHING,
    Counts,
    Endings,
    Episodes,
    Percept,
    RunState,
    TaskTables,
    copied,
    no_tests,
)


class Truth(NamedTuple):
    """The environment's own hierarchies: one pool of machines, and the root of each of T tasks."""

    tables: Tables
    root: Int32[Array, " T"]


class EnvStates(NamedTuple):
    """The hidden states of N environments, which the agent does not observe."""

    state: Any
    truth: State | None
    """The states of the true hierarchies; None if the agent follows these hierarchies."""
    steps: Int32[Array, " N"]
    """Steps since the episodes began."""
    label: UInt32[Array, "N W"] | None = None
    """The true labels, where wrong ones may be shown."""


Both = tuple[Episodes, EnvStates]
"""The agent's half and the environments' half of N environments."""


@dataclass(frozen=True)
class JaxRollout:
    """Environments and agent together. All methods are pure; equal rollouts share their compiled programs."""

    interaction: Interaction
    environment: AnyEnvironment
    max_steps: int
    fresh: TrainingInstances | None = None
    """The instances that episodes begin in, if they differ from the instances of evaluations."""
    noise: PerceptNoise | None = None
    """The noise of what the agent observes, apart from greedy episodes."""

    # -- beginnings

    def begin(self, tables: TaskTables, truth: Truth | None, key: PRNGKeyArray) -> Both:
        """Begins an episode in every environment, of tasks and instances that are drawn."""
        task, instance = draw_pairs(tables.chances, self.interaction.agent.config.environments, key)
        if self.fresh is not None:
            instance = self.fresh.draw(len(instance), jax.random.fold_in(key, 2))
        noise_key = None if self.noise is None else jax.random.fold_in(key, 3)
        return self._begin_pairs(tables, truth, task, instance, jax.random.fold_in(key, 1), noise_key)

    def restart(
        self, tables: TaskTables, truth: Truth | None, now: Both, which: Bool[Array, " N"], key: PRNGKeyArray
    ) -> Both:
        """Begins new episodes in the selected environments.

        A compiled program cannot begin episodes in a subset only: a beginning is computed for every environment, and
        kept where the mask is true.
        """
        restarted: Both = where_rows(which, self.begin(tables, truth, key), now)
        return restarted

    def _begin_pairs(
        self,
        tables: TaskTables,
        truth: Truth | None,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        key: PRNGKeyArray,
        noise_key: PRNGKeyArray | None = None,
    ) -> Both:
        world = tables.task.world
        state = jax.vmap(partial(self.environment.reset, world))(instance)
        label = jax.vmap(partial(self.environment.label, world))(state)
        true = None
        if truth is not None:  # the first label is an event, although there was none before that it could differ from
            true = jax.vmap(lambda root, first: hierarchy_step(truth.tables, initial_state(truth.tables, root), first))(
                truth.root[task], label
            )
        environments = EnvStates(state, true, jnp.zeros(task.shape, jnp.int32), self._hidden(label))
        percept = self._percept(truth, environments, label, noise_key)
        return self.interaction.begin(tables, task, instance, percept, key), environments

    # -- steps

    def _hidden(self, label: UInt32[Array, "N W"]) -> UInt32[Array, "N W"] | None:
        """The true labels, if wrong ones may be shown."""
        return None if self.noise is None or not self.noise.rates.labels else label

    def _percept(
        self,
        truth: Truth | None,
        environments: EnvStates,
        label: UInt32[Array, "N W"],
        noise_key: PRNGKeyArray | None = None,
        before: UInt32[Array, "N W"] | None = None,
        shown: UInt32[Array, "N W"] | None = None,
    ) -> Percept:
        """The percept of the agent: the label, and the verdict of the truth as the end of the episode.

        Args:
            truth: The true hierarchies.
            environments: The environments after the step.
            label: The true labels.
            noise_key: The random key of noise; without it, the percept is true.
            before: The true labels before the step; None at the beginning of episodes.
            shown: The labels that were shown before the step.
        """
        end = None
        if truth is not None:
            assert environments.truth is not None
            end = jax.vmap(partial(verdict, truth.tables))(environments.truth)
        memory = jax.vmap(self.environment.remember)(environments.state)
        is_cut = environments.steps >= self.max_steps
        if self.noise is not None and noise_key is not None:
            label_key, end_key = jax.random.split(noise_key)
            label = self.noise.label(label, before, shown, label_key)
            if end is not None:
                end, is_cut = self.noise.outcome(end, is_cut, end_key)
        return Percept(memory, label, end, is_cut)

    def _stepped(
        self,
        tables: TaskTables,
        truth: Truth | None,
        environments: EnvStates,
        before: UInt32[Array, "N W"],
        actions: Int32[Array, " N"],
        noise_key: PRNGKeyArray | None = None,
    ) -> tuple[EnvStates, Percept]:
        """Steps all environments; `before` are the labels that were shown before the step.

        Environments that wait are stepped as well, since all rows are computed anyway. The result is ignored, and they
        begin new episodes before they go on.
        """
        world = tables.task.world
        state = jax.vmap(partial(self.environment.step, world))(environments.state, actions)
        label = jax.vmap(partial(self.environment.label, world))(state)
        true, was = None, before if environments.label is None else environments.label
        if truth is not None:
            assert environments.truth is not None
            true = jax.vmap(partial(move_on_event, truth.tables))(environments.truth, was, label).after
        after = EnvStates(state, true, environments.steps + 1, self._hidden(label))
        return after, self._percept(truth, after, label, noise_key, was, before)

    def chunk(
        self,
        tables: TaskTables,
        truth: Truth | None,
        state: RunState,
        ready: bool | Bool[Array, "*S"],
        most: Int32[Array, "*S"],
        *,
        many: bool = False,
    ) -> tuple[RunState, Counts]:
        """Makes vector steps until the chunk is complete, enough episodes have ended, or all environments wait.

        Args:
            tables: The hierarchies; those of several runs, along a leading axis.
            truth: The true hierarchies, which are those of all runs; None where hierarchies are given.
            state: The state; those of several runs, along a leading axis.
            ready: Whether the Q-functions of formulas learn, for each run.
            most: The number of ended episodes with which the chunk of each run ends; a run with 0 takes no step.
            many: Whether there are several runs, each of which equals the same run alone. The loop is outside the
                `vmap` then, because a loop inside would copy the replay memories of all runs at every step. A run whose
                chunk is over waits for all other runs: its state stays unchanged.
        """
        step = jax.vmap(self.vector_step, in_axes=(0, None, 0, 0, 0)) if many else self.vector_step

        def is_going(state: RunState, so_far: Counts) -> Bool[Array, "*S"]:
            has_time = so_far.episodes.sum(axis=-1) < most
            search = state.episodes.search
            return has_time if search is None else has_time & ~(search.waiting != NOTHING).all(axis=-1)

        def goes_on(carry: Any) -> Any:
            turn, _, state, so_far = carry
            return (turn < self.interaction.agent.config.chunk) & is_going(state, so_far).any()

        def once(carry: Any) -> Any:
            turn, number, state, so_far = carry
            goes = is_going(state, so_far)
            state, counts = step(tables, truth, state, ready, goes if many else None)
            return turn + 1, number + goes, state, jax.tree.map(jnp.add, so_far, counts)

        most = jnp.asarray(most)
        zero, nothing = jnp.zeros(most.shape, jnp.int32), jnp.zeros(most.shape, jnp.float32)
        none = jnp.zeros(tables.root.shape, jnp.int32)
        losses, no_pairs = Losses(nothing, nothing), no_tests(tables)
        start = (jnp.int32(0), zero, state, Counts(none, none, zero, losses, nothing, no_pairs))
        _, number, state, total = jax.lax.while_loop(goes_on, once, start)
        losses = jax.tree.map(lambda x: x / jnp.maximum(number, 1), total.losses)
        exploration = self.interaction.agent.exploration
        rate = (jax.vmap(exploration) if many else exploration)(tables.task, state.agent)
        return state, total._replace(losses=losses, exploration=rate)

    def vector_step(
        self,
        tables: TaskTables,
        truth: Truth | None,
        state: RunState,
        ready: Ready,
        is_going: Bool[Array, ""] | None = None,
    ) -> tuple[RunState, Counts]:
        """Makes one step in all environments that do not wait: act, store, learn, and begin new episodes.

        If `is_going` is false, it is as if the step had not been made. A program for many runs cannot branch: such a
        run computes the step without a live environment, so that its agent neither remembers nor learns, and its
        environments and its random key are restored afterwards.
        """
        before = self._resting(state.episodes, is_going)
        # New episodes come last: no stored transition may mix two episodes.
        key, explore_key, observe_key, begin_key, learn_key = jax.random.split(state.key, 5)
        actions, agent, episodes = self.interaction.explore(tables, state.agent, before, explore_key)
        noise_key = None if self.noise is None else jax.random.fold_in(explore_key, 4)
        environments, percept = self._stepped(tables, truth, state.environments, episodes.label, actions, noise_key)
        if is_going is not None and not self.interaction.learns_machines:
            agent = unless_stopped(is_going, agent, state.agent)
            percept = percept._replace(is_live=jnp.broadcast_to(is_going, actions.shape))
        agent, after, endings = self.interaction.observe(tables, agent, episodes, actions, percept, observe_key)
        tested = self.interaction.tested(tables, after, endings)
        is_due, unlearned = learning_due(state.unlearned, endings.is_live)
        agent, losses = self.interaction.agent.learn(tables.task, agent, learn_key, is_due & ready)
        after, environments = self.restart(tables, truth, (after, environments), endings.is_over, begin_key)
        after, environments, key = unless_stopped(
            is_going, (after, environments, key), (state.episodes, state.environments, state.key)
        )
        counts = counted(tables, episodes, endings, losses)._replace(pairs=tested)
        return RunState(agent, after, environments, unlearned, key), counts

    def _resting(self, episodes: Episodes, is_going: Bool[Array, ""] | None) -> Episodes:
        """The episodes, which all wait if the run does not go on."""
        if is_going is None or episodes.search is None:
            return episodes
        waiting = jnp.where(is_going, episodes.search.waiting, INCOMPLETE)
        return episodes._replace(search=episodes.search._replace(waiting=waiting))

    # -- evaluation

    def evaluate(
        self,
        tables: TaskTables,
        truth: Truth | None,
        agent: Any,
        task: Int32[Array, " N"],
        instance: Int32[Array, " N"],
        wanted: Bool[Array, " N"],
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, " N"], Int32[Array, " N"]]:
        """The return and the length of a greedy episode of each wanted pair of a task and an instance.

        The loop goes on until the last episode is over. Episodes that are over keep their state meanwhile.
        """
        episodes, environments = self._begin_pairs(tables, truth, task, instance, jax.random.fold_in(key, 1))
        longest = self.interaction.agent.config.evaluate_steps or self.max_steps

        def goes_on(carry: Any) -> Any:
            return ~carry[2].all()

        def step(carry: tuple[Episodes, EnvStates, Any, Any, Any]) -> tuple[Episodes, EnvStates, Any, Any, Any]:
            episodes, environments, is_done, returned, key = carry
            key, act_key, follow_key = jax.random.split(key, 3)
            actions, acted = self.interaction.exploit(tables, agent, episodes, act_key)
            moved, percept = self._stepped(tables, truth, environments, episodes.label, actions)
            after, is_over, won = self.interaction.follow(tables, acted, actions, percept, follow_key)
            kept = where_rows(is_done, (episodes, environments), (after, moved))
            return *kept, is_done | is_over | (moved.steps >= longest), returned + (won & ~is_done), key

        is_left_out = ~wanted  # done before the first step, with a return of 0
        if tables.exploration is not None:
            is_left_out |= ~tables.exploration.is_learned[task]
        start = (episodes, environments, is_left_out, jnp.zeros(task.shape), key)
        _, environments, _, returned, _ = jax.lax.while_loop(goes_on, step, start)
        return returned, environments.steps


def learning_due(
    unlearned: Int32[Array, ""], is_live: Bool[Array, " N"]
) -> tuple[Bool[Array, ""], Int32[Array, ""]]:  # fmt: skip
    """Whether there was a step for every environment since the last round of learning.

    Environments that wait make no steps. With a round of learning after every vector step, there would be more updates
    for each step than the settings say.

    Args:
        unlearned: Steps since the last round, before this vector step.
        is_live: The environments that make a step in this vector step.

    Returns:
        Whether a round of learning is due, and the steps that count for the next round.
    """
    steps = unlearned + is_live.sum(dtype=jnp.int32)
    is_due = steps >= is_live.shape[0]
    return is_due, jnp.where(is_due, steps - is_live.shape[0], steps)


def counted(tables: TaskTables, episodes: Episodes, endings: Endings, losses: Losses) -> Counts:
    """The counts of a chunk after a vector step. `episodes` are those before it, with their old tasks."""
    nothing = jnp.zeros(tables.root.shape, jnp.int32)
    return Counts(
        episodes=nothing.at[episodes.task].add(endings.is_ended.astype(jnp.int32)),
        goals=nothing.at[episodes.task].add(endings.is_goal.astype(jnp.int32)),
        steps=endings.is_live.sum(dtype=jnp.int32),
        losses=losses,
        exploration=jnp.float32(0),
    )


class Programs:
    """The functions of a rollout, each compiled once: for one run, or for several parallel runs."""

    def __init__(self, rollout: JaxRollout, lanes: int | None = None) -> None:
        many = lanes is not None
        self.begin = CompiledProgram(rollout.begin)
        self.restart = CompiledProgram(rollout.restart)
        self.chunk = CompiledProgram(partial(rollout.chunk, many=many), donate=[2])
        in_lanes = jax.vmap(rollout.evaluate, in_axes=(0, None, 0, None, None, 0, 0))
        self.evaluate = CompiledProgram(in_lanes if many else rollout.evaluate)
        self.join = jax.jit(lambda trees: jax.tree.map(lambda *each: jnp.stack(each), *trees))
        self.split = jax.jit(
            lambda tree: [jax.tree.map(lambda x, lane=lane: x[lane], tree) for lane in range(lanes or 0)]
        )


compiled_programs = lru_cache(KEPT)(Programs)
"""The programs of a rollout. Equal rollouts share their programs, so that nothing is compiled twice."""


@dataclass(frozen=True)
class JaxDriver:
    """Calls the compiled programs of a rollout: a chunk or an evaluation is a single call."""

    rollout: JaxRollout
    truth: Truth | None
    tasks: int
    instances: int

    @property
    def interaction(self) -> Interaction:
        return self.rollout.interaction

    @property
    def _programs(self) -> Programs:
        return compiled_programs(self.rollout)

    def create(self, tables: TaskTables, chance: Chance, key: PRNGKeyArray) -> RunState:
        begin_key, key = jax.random.split(key)
        episodes, environments = self._programs.begin(tables, self.truth, begin_key)
        memory = jax.tree.map(lambda x: np.zeros(x.shape[1:], x.dtype), episodes.now)  # only shapes and types matter
        agent = self.interaction.agent.create(tables.task, memory, chance)
        created: RunState = copied(RunState(agent, episodes, environments, jnp.int32(0), key))
        return created

    def shapes(self, tables: TaskTables) -> Any:
        return jax.eval_shape(lambda: self.create(tables, np.random.default_rng(0), jax.random.key(0)))

    def chunk(self, tables: TaskTables, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        if not self._programs.evaluate.is_expected:  # it is compiled beside the first chunk, not after it
            none = np.zeros(self.tasks, bool)
            self._programs.evaluate.expect(*self.evaluation(tables, state.agent, none, 0))
        done: tuple[RunState, Counts] = self._programs.chunk(tables, self.truth, state, learns, most)
        return done

    def restart(self, tables: TaskTables, state: RunState, which: Any) -> RunState:
        key, restart_key = jax.random.split(state.key)
        now, mask = (state.episodes, state.environments), jnp.asarray(which)
        episodes, environments = self._programs.restart(tables, self.truth, now, mask, restart_key)
        return state._replace(episodes=episodes, environments=environments, key=key)

    def evaluate(self, tables: TaskTables, agent: Any, wanted: Any, seed: int) -> tuple[Any, Any]:
        returns, lengths = self._programs.evaluate(*self.evaluation(tables, agent, wanted, seed))
        shape = self.tasks, self.instances
        return np.asarray(returns, np.float64).reshape(shape), np.asarray(lengths).reshape(shape)

    def evaluation(self, tables: TaskTables, agent: Any, wanted: Any, seed: int) -> tuple[Any, ...]:
        """The arguments of the compiled evaluation: a row for each pair, with the instances of a task in sequence."""
        task = np.repeat(np.arange(self.tasks, dtype=np.int32), self.instances)
        instance = np.tile(np.arange(self.instances, dtype=np.int32), self.tasks)
        each = np.repeat(np.asarray(wanted), self.instances)
        return tables, self.truth, agent, task, instance, each, jax.random.key(seed)


class JaxSuite:
    """A domain in one of its settings, with some of its tasks."""

    def __init__(
        self, scenario: Scenario, tasks: Sequence[str] | None = None, *, flat: bool = False, given: bool = False
    ) -> None:
        """Lowers the true hierarchies of the tasks, unless the agent is given its hierarchies.

        Args:
            scenario: The domain in one of its settings, with its instances.
            tasks: The names of the tasks; all of the domain, if not given.
            flat: Whether machines call nothing, so that all tasks are on one level.
            given: Whether hierarchies are given, and decide how episodes end. Tasks may then have any names.

        Raises:
            RewardMachineError: There are no tasks.
        """
        self.scenario = scenario
        names = list(tasks) if tasks is not None else list(scenario.domain.tasks)
        if not names:
            raise RewardMachineError("there is no task to learn")
        self._trees = {} if given else {name: scenario.task(name) for name in names}
        is_on_one_level = flat or given
        self.tasks = ranked({name: 1 if is_on_one_level else self._trees[name].height for name in names})
        self.propositions = scenario.environment.propositions
        self.instances = len(scenario.instances)
        self.shape = scenario.environment.observation_shape
        self.actions = scenario.environment.actions
        self.recall = RecallOf(scenario.environment)
        self.max_steps = scenario.max_steps
        self._truth: Truth | None = None
        if not given:
            lowered = scenario.lower([self._trees[task.name] for task in self.tasks])
            self._truth = Truth(lowered.tables, jax.device_put(np.asarray(lowered.roots, np.int32)))

    @property
    def world(self) -> Any:
        return self.scenario.training_world

    @property
    def curriculum_instances(self) -> int:
        return 1 if self.scenario.fresh else self.instances

    @property
    def dependencies(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(sorted(tree[tree.root].callees)) for name, tree in self._trees.items()}

    def driver(self, interaction: Interaction) -> JaxDriver:
        scenario = self.scenario
        fresh = TrainingInstances(self.instances, scenario.fresh) if scenario.fresh else None
        noise = None if self._truth is None else PerceptNoise.of(scenario)
        rollout = JaxRollout(interaction, scenario.environment, scenario.max_steps, fresh, noise)
        return JaxDriver(rollout, self._truth, len(self.tasks), self.instances)

    @property
    def encoding(self) -> Encoding:
        return plain_encoding(self.shape, self.propositions)

    # All that changes is in the `RunState`, and no two domains have the same name.

    def record(self) -> None:
        return None

    def restore(self, record: Any, where: str) -> None:  # noqa: ARG002
        return None

    def check(self, encode: Encode | None, where: str) -> None:  # noqa: ARG002
        return None

    def close(self) -> None:
        return None
