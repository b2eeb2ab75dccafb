"""A training session in environments of one task: chunks of steps, evaluations between them, and counts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.runs.episodes import EpisodeSensors, TrainedTask, environments_of
from rewardmachines.agents.gymnasium.runs.evaluation import greedy_episodes
from rewardmachines.agents.gymnasium.runs.spec import TrainGymnasiumSpec
from rewardmachines.agents.gymnasium.senses import Senses, senses_of
from rewardmachines.agents.gymnasium.training import Setup, Training, setup_of
from rewardmachines.agents.protocol import Losses
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.session import LEAST_WEIGHT
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.making import make_checked


def look_at(task: TrainedTask, encode: Encode | None) -> Senses:
    """Makes an environment once, to see what it shows and takes.

    Args:
        task: The task.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.

    Raises:
        RewardMachineError: It cannot be made, is not labelled, or cannot be acted in.
    """
    with closing(make_checked(task.make_env, task=task.name)) as env:
        return senses_of([task], [env], encode)


def setup_of_spec(spec: TrainGymnasiumSpec, hierarchy: Hierarchy, encode: Encode | None) -> Setup:
    """All of a run that does not change during training. No environment is needed for it.

    Args:
        spec: What is trained.
        hierarchy: The hierarchy of the task.
        encode: The function that encodes observations, if the run has one.

    Raises:
        RewardMachineError: The hierarchy does not fit the propositions, or encode is missing.
    """
    return setup_of(
        hierarchy,
        spec.algorithm,
        spec.config,
        reading=spec.senses.observations.reading(encode),
        actions=spec.senses.action_space,
        propositions=spec.senses.propositions,
        labels=spec.labels,
    )


@dataclass
class Tally:
    """The counts of a session that its training does not keep."""

    chunks: int
    """Chunks that are done."""
    evaluated: int
    """Episodes that had ended at the last evaluation."""
    returns: tuple[float, ...]
    """The running return in each instance, from which the curriculum computes its weights."""


class Session:
    """Trains an agent, chunk by chunk. If the environment is decided by its seeds, so is the result."""

    def __init__(self, spec: TrainGymnasiumSpec, task: TrainedTask, encode: Encode | None) -> None:
        """Opens environments and begins episodes; nothing is learned yet.

        Args:
            spec: What is trained.
            task: The task, with its environment.
            encode: The function that encodes observations, if the run has one.
        """
        self.spec, self.task = spec, task
        self.setup = setup = setup_of_spec(spec, task.hierarchy, encode)
        senses = Senses(spec.senses.action_space, spec.senses.propositions, setup.reading, setup.codes)
        count, longest = spec.config.environments, spec.max_steps
        self.environments = environments_of(task, senses, count, longest, spec.seed)
        self.sensors = EpisodeSensors(
            self.environments,
            count,
            spec.instances,
            np.random.default_rng([spec.seed, 1]),
            pays=bool(spec.config.environment_reward),
        )
        limit = min(longest, spec.config.evaluate_steps or longest)
        self.evaluation = environments_of(task, senses, spec.greedy_episodes, limit, spec.seed + 1)
        self.tally = Tally(0, 0, (0.0,) * (spec.instances or 0))
        try:
            self.training = Training(setup, self.sensors, self.sensors.begin(np.ones(count, bool)), spec.seed)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes all environments. A session that goes on begins its next episodes in new ones."""
        self.environments.close()
        self.evaluation.close()

    def advance(self) -> Row:
        """Computes one chunk, and an evaluation if it is due."""
        training, config = self.training, self.spec.config
        goals, episodes, losses = training.goals, training.episodes, list[Losses]()
        for _ in range(config.chunk):
            if training.advance():
                losses.append(training.losses)
            if self._is_due_by_episodes:
                break
        self.tally.chunks += 1
        evaluation = self._evaluation() if self._is_due else None
        formula_loss, call_loss = _means(losses)
        return Row(
            seed=self.spec.seed,
            chunk=self.tally.chunks,
            steps=training.steps,
            episodes=training.episodes,
            goals=training.goals - goals,
            ended=training.episodes - episodes,
            formula_loss=formula_loss,
            call_loss=call_loss,
            exploration=training.exploration,
            returns=None if evaluation is None else evaluation[0],
            lengths=None if evaluation is None else evaluation[1],
        )

    @property
    def _is_due_by_episodes(self) -> bool:
        """Whether so many episodes have ended since the last evaluation that another is due."""
        every = self.spec.config.evaluate_episodes
        return every is not None and self.training.episodes >= (self.tally.evaluated // every + 1) * every

    @property
    def _is_due(self) -> bool:
        if self.spec.config.evaluate_episodes is not None:
            return self._is_due_by_episodes
        return self.tally.chunks % self.spec.config.evaluate_every == 0

    def _evaluation(self) -> tuple[tuple[float, ...], tuple[int, ...]]:
        """The returns and lengths of greedy episodes. Instances that are mastered become rare."""
        count = self.spec.greedy_episodes
        goals, lengths = greedy_episodes(
            self.setup, self.training.agent_state, self.evaluation, count, self.tally.chunks
        )
        self.tally.evaluated = self.training.episodes
        if self.spec.instances is not None:
            weight = self.spec.config.curriculum_weight
            self.tally.returns = tuple((weight * np.array(self.tally.returns) + (1 - weight) * goals).tolist())
            self.weigh()
        return tuple(goals.tolist()), tuple(lengths.tolist())

    def weigh(self) -> None:
        """Draws instances from now on by what the curriculum has counted."""
        if self.tally.returns:
            self.sensors.weights = np.maximum(1 - np.array(self.tally.returns), LEAST_WEIGHT)


def _means(losses: Sequence[Losses]) -> tuple[float, float]:
    """The mean losses over a chunk; 0 if nothing was learned in it."""
    if not losses:
        return 0.0, 0.0
    formulas, calls = (float(jnp.stack(kind).mean()) for kind in zip(*losses, strict=True))
    return formulas, calls
