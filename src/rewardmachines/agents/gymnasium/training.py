"""An agent that learns in Gymnasium environments, step by step: the same functions as in the compiled loop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from rewardmachines.agents.algorithms import check_config
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium.driver import Programs, StepResult, programs
from rewardmachines.agents.gymnasium.observations import Encode, Memory, Reading, reading_of
from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.agents.gymnasium.settings import AskedConfig, settled, usual_settings
from rewardmachines.agents.gymnasium.vector_env import (
    LabelCodes,
    Moment,
    Sensors,
    autoreset_mode,
    discrete_actions,
    first_observation,
    limit_of_first,
    propositions_of,
)
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.protocol import Losses, Task
from rewardmachines.agents.setup import Plan, build_agent, build_task, looks_ahead, prepare, replay_start
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.labels import read_labels
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

    def policy(self, agent_state: Any) -> GymnasiumPolicy:
        """A policy that acts greedily by what an agent has learned. Every environment needs one of its own."""
        return GymnasiumPolicy(
            programs=self.programs,
            task=self.task,
            agent_state=agent_state,
            root=self.plan.lowered.root,
            reading=self.reading,
            codes=self.codes,
            first_action=self.first_action,
        )


def setup_of(
    hierarchy: Hierarchy,
    algorithm: Algorithm,
    config: AgentConfig,
    *,
    reading: Reading,
    actions: spaces.Discrete,
    propositions: tuple[str, ...],
    labels: Iterable[Iterable[str]] | None,
) -> Setup:
    """All that does not change during training.

    Args:
        hierarchy: What is to be done.
        algorithm: Which agent.
        config: Its settings, with networks that fit observations.
        reading: How observations are read.
        actions: The actions of the environment.
        propositions: What its labels are made of.
        labels: Those that can be seen; all combinations of propositions, if not given.

    Raises:
        RewardMachineError: The hierarchy speaks of something else than the propositions, or is over at once.
    """
    seen = None if labels is None else read_labels(labels, propositions)
    plan = prepare(hierarchy, algorithm, propositions, seen, looks_ahead=looks_ahead(config))
    agent = build_agent(plan, config, reading.shape, int(actions.n), reading.recall)
    task = build_task(plan, None)
    return Setup(
        plan=plan,
        config=config,
        task=task,
        programs=programs(agent, reading.recall),
        reading=reading,
        codes=LabelCodes(plan.lowered.bits, None if seen is None else frozenset(seen)),
        first_action=int(actions.start),
        replay_start=replay_start(config, task),
    )


def begin_training(
    envs: AnyVectorEnv,
    hierarchy: Hierarchy,
    config: AskedConfig = None,
    algorithm: Algorithm = Algorithm.HRL,
    labels: Iterable[Iterable[str]] | None = None,
    network: NetworkConfig | None = None,
    encode: Encode | None = None,
    seed: int = 0,
) -> Training:
    """A training in which everything is checked and reset, and nothing learned. Arguments as for `train_gymnasium`."""
    autoreset_mode(envs)  # an error is better raised before the reset than after it
    if isinstance(config, AgentConfig):
        check_config(algorithm, config)
    first = CheckedVectorEnv(envs).reset(seed=seed)
    reading = reading_of(envs.single_observation_space, encode, first_observation(envs, first[0]))
    usual = usual_settings(algorithm, reading, limit_of_first(envs))
    settings = settled(config, usual, network, reading.shape)
    setup = setup_of(
        hierarchy,
        algorithm,
        replace(settings, environments=envs.num_envs),
        reading=reading,
        actions=discrete_actions(envs.single_action_space),
        propositions=propositions_of(envs),
        labels=labels,
    )
    sensors = Sensors(envs, reading, setup.codes, bool(settings.environment_reward))
    return Training(setup, sensors, sensors.moment(*first), seed)


class Sensing(Protocol):
    """Steps environments side by side and reports what each step brought."""

    def step(self, actions: Memory) -> tuple[StepResult, Memory]:
        """Takes a step of every environment. Returns what it brought, and the rewards."""


class Training:
    """A training under way. Gymnasium environments change as they are stepped, so this object does, too."""

    def __init__(self, setup: Setup, sensors: Sensing, first: Moment, seed: int) -> None:
        self.setup, self.sensors = setup, sensors
        self.key = jax.random.key(seed)
        self.agent_state = setup.programs.create(setup.task, first.memory[0], np.random.default_rng(seed))
        begin_key = jax.random.fold_in(self.key, 1)
        self.crew = setup.programs.begin(setup.task, setup.plan.lowered.root, *first, begin_key)
        self.turns = self.steps = self.episodes = self.goals = 0
        self.cut_off = 0
        """Episodes that were cut off by a limit of steps, and not ended by the task or the environment itself."""
        self._running, self._finished = np.zeros(len(first.label)), list[float]()
        self.losses = Losses(jnp.float32(0), jnp.float32(0))
        """Of the last update."""

    def advance(self) -> bool:
        """Takes a step of every environment, and learns after it, if there is enough to learn from.

        Returns:
            Whether something was learned.
        """
        self.key, act_key, observe_key, learn_key = jax.random.split(self.key, 4)
        does, task = self.setup.programs, self.setup.task
        actions, self.agent_state, self.crew = does.act(task, self.agent_state, self.crew, act_key)
        result, rewards = self.sensors.step(np.asarray(actions))
        self.agent_state, self.crew = does.observe(task, self.agent_state, self.crew, result, observe_key)
        self.turns += 1
        self.steps += int(np.sum(result.is_valid))
        self._count(rewards, np.asarray(result.is_over), np.asarray(result.is_terminated))
        learns = self.steps >= self.setup.replay_start
        if learns:
            self.agent_state, self.losses = does.learn(task, self.agent_state, learn_key)
        return learns

    def _count(self, rewards: Any, is_over: Any, is_terminated: Any) -> None:
        self._running += rewards
        finished = self._running[is_over].tolist()
        self._finished += finished
        self.episodes += len(finished)
        self.goals += sum(returned > 0 for returned in finished)
        self.cut_off += int(np.sum(is_over & ~is_terminated))
        self._running[is_over] = 0

    @property
    def exploration(self) -> float:
        """The probability with which an action is left to chance, on average."""
        return float(self.setup.programs.exploration(self.setup.task, self.agent_state))

    def progress(self) -> Progress:
        """How training is going; returns of episodes are those since the last call."""
        mean = float(np.mean(self._finished)) if self._finished else None
        self._finished.clear()
        return Progress(
            steps=self.steps,
            episodes=self.episodes,
            mean_return=mean,
            exploration=self.exploration,
            formula_loss=float(self.losses.formulas),
            call_loss=float(self.losses.calls),
        )
