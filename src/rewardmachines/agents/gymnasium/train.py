"""Agents on Gymnasium environments: the same functions as in the compiled loop, driven from Python.

envs = vectorize(lambda: HierarchyWrapper(LabelingWrapper(env, ...), hierarchy), 16)
trained = train_gymnasium(envs, hierarchy, steps=50_000)
trained.policy.act(observation, label)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rewardmachines.agents.algorithms import check_config
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium.driver import Programs, programs
from rewardmachines.agents.gymnasium.observations import Encode, Reading, reading_of
from rewardmachines.agents.gymnasium.policy import AnyEnv, GymnasiumPolicy
from rewardmachines.agents.gymnasium.settings import GYMNASIUM, GYMNASIUM_CRM, settled
from rewardmachines.agents.gymnasium.vector_env import (
    LabelCodes,
    Sensors,
    action_space,
    autoreset_mode,
    first_observation,
    propositions_of,
)
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.protocol import Losses, Task
from rewardmachines.agents.setup import Plan, build_agent, build_task, prepare, replay_start
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.labels import read_labels
from rewardmachines.envs.gymnasium.checks.single import checked
from rewardmachines.envs.gymnasium.checks.vector import AnyVectorEnv, CheckedVectorEnv


@dataclass(frozen=True)
class Progress:
    """How training is going. Steps and episodes are counted from the beginning."""

    steps: int
    episodes: int
    mean_return: float | None
    """The mean return of the episodes that ended since the last report, exploration included; None, if none did."""
    exploration: float
    """The probability with which an action is left to chance, on average."""
    formula_loss: float
    """The mean loss of the last update: of the Q-functions of formulas, or of CRM's Q-function."""
    call_loss: float
    """The mean loss of the last updates of the Q-functions of machines; 0 for CRM."""


@dataclass(frozen=True)
class Setup:
    """All that does not change during training."""

    plan: Plan
    config: AgentConfig
    task: Task
    programs: Programs
    reading: Reading
    codes: LabelCodes
    first_action: int
    """The least action of the environment; the agent counts its actions from 0."""
    replay_start: int
    """Steps after which there is enough to learn from."""


@dataclass(frozen=True)
class Trained:
    """A trained agent."""

    setup: Setup
    agent_state: Any
    """What it has learned."""
    steps: int
    episodes: int

    @cached_property
    def policy(self) -> GymnasiumPolicy:
        """The greedy policy. It is the same object every time, and remembers where its hierarchy stands."""
        return self.fresh_policy()

    def fresh_policy(self) -> GymnasiumPolicy:
        """One more greedy policy, for another environment."""
        setup = self.setup
        return GymnasiumPolicy(
            programs=setup.programs,
            task=setup.task,
            agent_state=self.agent_state,
            root=setup.plan.lowered.root,
            reading=setup.reading,
            codes=setup.codes,
            first_action=setup.first_action,
        )

    def evaluate(self, env: AnyEnv, episodes: int = 20, *, seed: int = 0) -> float:
        """The mean return of greedy episodes.

        Args:
            env: An environment that is wrapped like those of the training.
            episodes: How many episodes are played.
            seed: For the first reset; the following resets have the seeds after it.
        """
        policy, safe = self.fresh_policy(), checked(env, self.setup.codes.propositions)
        return float(np.mean([policy.play(safe, seed=seed + number) for number in range(episodes)]))


def vectorize(make_env: Callable[[], AnyEnv], count: int) -> AnyVectorEnv:
    """Environments side by side; one that ends is reset within the same step.

    Args:
        make_env: Makes one environment.
        count: How many environments there are.
    """
    return SyncVectorEnv([make_env] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def train_gymnasium(
    envs: AnyVectorEnv,
    hierarchy: Hierarchy,
    *,
    steps: int,
    config: AgentConfig | None = None,
    algorithm: Algorithm | str = Algorithm.HRL,
    labels: Iterable[Iterable[str]] | None = None,
    network: NetworkConfig | None = None,
    encode: Encode | None = None,
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> Trained:
    """Trains an agent on Gymnasium environments, for so many steps of all of them together.

    Args:
        envs: Environments that are labelled and follow the hierarchy:
            `HierarchyWrapper(LabelingWrapper(env, ...), hierarchy)`, side by side.
        hierarchy: What is to be done.
        steps: How many steps to take.
        config: The settings, a `HierarchicalDqnConfig`, or a `CrmConfig` for CRM; those for small problems, if not
            given.
        algorithm: Which agent.
        labels: Those that can be seen; all combinations of propositions, if not given.
        network: What looks at observations; without it `config` says, and without that their shape decides.
        encode: Makes an array of an observation that is none.
        seed: For everything that is left to chance.
        progress: Is called every `config.chunk` vector steps.

    Returns:
        What was learned, with a policy that acts on observations and labels.
    """
    training = begin_training(envs, hierarchy, config, Algorithm(algorithm), labels, network, encode, seed)
    while training.steps < steps:
        training.advance()
        if progress is not None and training.turns % training.setup.config.chunk == 0:
            progress(training.progress())
    return Trained(training.setup, training.agent_state, training.steps, training.episodes)


def begin_training(
    envs: AnyVectorEnv,
    hierarchy: Hierarchy,
    config: AgentConfig | None = None,
    algorithm: Algorithm = Algorithm.HRL,
    labels: Iterable[Iterable[str]] | None = None,
    network: NetworkConfig | None = None,
    encode: Encode | None = None,
    seed: int = 0,
) -> Training:
    """A training in which everything is checked and reset, and nothing learned. Arguments as for `train_gymnasium`."""
    autoreset_mode(envs)  # an error is better raised before the reset than after it
    if config is not None:
        check_config(algorithm, config)
    first = CheckedVectorEnv(envs).reset(seed=seed)
    example = first_observation(envs, first[0])
    reading = reading_of(envs.single_observation_space, encode, example)
    usual: AgentConfig = GYMNASIUM_CRM if algorithm is Algorithm.CRM else GYMNASIUM
    settings = replace(settled(config, usual, network, reading.shape), environments=envs.num_envs)
    setup = _setup(envs, hierarchy, algorithm, labels, settings, reading)
    return Training(setup, Sensors(envs, reading, setup.codes), first, seed)


def _setup(
    envs: AnyVectorEnv,
    hierarchy: Hierarchy,
    algorithm: Algorithm,
    labels: Iterable[Iterable[str]] | None,
    config: AgentConfig,
    reading: Reading,
) -> Setup:
    actions = action_space(envs)
    propositions = propositions_of(envs)
    seen = None if labels is None else read_labels(labels, propositions)
    plan = prepare(hierarchy, algorithm, propositions, seen)
    agent = build_agent(plan, config, reading.shape, int(actions.n), reading.recall)
    codes = LabelCodes(plan.lowered.bits, None if seen is None else frozenset(seen))
    task = build_task(plan, None)
    start = replay_start(config, task)
    return Setup(
        plan=plan,
        config=config,
        task=task,
        programs=programs(agent, reading.recall),
        reading=reading,
        codes=codes,
        first_action=int(actions.start),
        replay_start=start,
    )


class Training:
    """A training under way. Gymnasium environments change as they are stepped, so this object does, too."""

    def __init__(self, setup: Setup, sensors: Sensors, first: tuple[Any, dict[str, Any]], seed: int) -> None:
        self.setup, self.sensors = setup, sensors
        self.key = jax.random.key(seed)
        moment = sensors.moment(*first)
        self.agent_state = setup.programs.create(setup.task, moment.memory[0], np.random.default_rng(seed))
        begin_key = jax.random.fold_in(self.key, 1)
        self.crew = setup.programs.begin(setup.task, setup.plan.lowered.root, *moment, begin_key)
        self.turns = self.steps = self.episodes = 0
        self._running, self._finished = np.zeros(len(moment.label)), list[float]()
        self._losses = Losses(jnp.float32(0), jnp.float32(0))

    def advance(self) -> None:
        """Takes a step of every environment, and learns after it."""
        self.key, act_key, observe_key, learn_key = jax.random.split(self.key, 4)
        does, task = self.setup.programs, self.setup.task
        actions, self.agent_state, self.crew = does.act(task, self.agent_state, self.crew, act_key)
        result, rewards = self.sensors.step(np.asarray(actions))
        self.agent_state, self.crew = does.observe(task, self.agent_state, self.crew, result, observe_key)
        self.turns += 1
        self.steps += int(np.sum(result.is_valid))
        self._count(rewards, np.asarray(result.is_over))
        if self.steps >= self.setup.replay_start:
            self.agent_state, self._losses = does.learn(task, self.agent_state, learn_key)

    def _count(self, rewards: Any, is_over: Any) -> None:
        self._running += rewards
        self._finished += self._running[is_over].tolist()
        self.episodes += int(is_over.sum())
        self._running[is_over] = 0

    def progress(self) -> Progress:
        """How training is going; returns of episodes are those since the last call."""
        mean = float(np.mean(self._finished)) if self._finished else None
        self._finished.clear()
        exploring = self.setup.programs.exploration(self.setup.task, self.agent_state)
        return Progress(
            steps=self.steps,
            episodes=self.episodes,
            mean_return=mean,
            exploration=float(exploring),
            formula_loss=float(self._losses.formulas),
            call_loss=float(self._losses.calls),
        )
