"""Many episodes in lockstep, as a vector environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Unpack

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.episodes import Episode
from rewardmachines.envs.gymnasium.face import ScenarioFace, ScenarioOptions, Words
from rewardmachines.envs.pictures import picture

Observations = np.ndarray[Any, np.dtype[np.float32]]
Actions = np.ndarray[Any, np.dtype[np.int64]]
Instances = np.ndarray[Any, np.dtype[np.int32]]

BEGINNING: Final = 64
"""Episodes that one call begins in the places of those that are over."""


class ScenarioVectorEnv(ScenarioFace, VectorEnv[Observations, Actions, Any]):
    """Many episodes in lockstep, each with a task and an instance of its own.

    `task` is one task for all or one for each environment. An episode that ends is followed by the next within the same
    step; its last observation is in `info["final_obs"]`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 8,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        domain: str,
        setting: str,
        task: str | Hierarchy | Sequence[str | Hierarchy] | None = None,
        *,
        num_envs: int = 1,
        **options: Unpack[ScenarioOptions],
    ) -> None:
        self.num_envs = num_envs
        tasks = [task] * num_envs if task is None or isinstance(task, (str, Hierarchy)) else list(task)
        if len(tasks) != num_envs:
            raise RewardMachineError(f"{len(tasks)} tasks for {num_envs} environments: give one, or one for each")
        self._prepare(domain, setting, tasks, **options)
        self._roots = np.array(self.lowered.roots, np.int32)
        self.single_observation_space, self.single_action_space = self._spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes: Episode | None = None

    @property
    def episodes(self) -> Episode:
        """The states of all episodes; every array has an axis for them in front."""
        if self._episodes is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        return self._episodes

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        chosen = (options or {}).get("instance")
        instances = self._next_instances() if chosen is None else self._checked_instances(chosen)
        self._episodes, observations = self._programs.begin_all(
            self.scenario.world, self.lowered.tables, instances, self._roots
        )
        return np.asarray(observations), self._info(self.episodes)

    def step(self, actions: Actions) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        instances = self._next_instances()  # drawn in every step, whether or not an episode ends
        after, result, observed = self._programs.advance_all(
            self.scenario.world, self.lowered.tables, self.episodes, np.asarray(actions, np.int32)
        )
        goal, terminated, truncated = (np.asarray(part) for part in (result.goal, result.terminated, result.truncated))
        self._episodes, observations, done = after, np.asarray(observed), terminated | truncated
        final: dict[str, Any] = {}
        if done.any():
            final = self._final(done, observations, {**self._info(after), "goal": goal})
            observations = self._begin(np.flatnonzero(done), instances, observations)
        info = {**self._info(self.episodes), "goal": goal, "_goal": np.ones(self.num_envs, bool), **final}
        return observations, np.asarray(result.reward, np.float64), terminated, truncated, info

    def _begin(self, places: Any, instances: Instances, observations: Observations) -> Observations:
        """Begins the next episode where one is over, some at a time.

        Returns:
            The observations, with the first ones of these episodes.
        """
        observations = observations.copy()
        for some in np.split(places, range(BEGINNING, len(places), BEGINNING)):
            padded = np.resize(some, BEGINNING)  # one size, so that one program suffices for any number
            which = np.full(self.num_envs, -1, np.int32)
            which[some] = np.arange(len(some))
            self._episodes, first = self._programs.begin_some(
                self.scenario.world, self.lowered.tables, self.episodes, which, instances[padded], self._roots[padded]
            )
            observations[some] = np.asarray(first)[: len(some)]
        observations.flags.writeable = False  # as those are that come from the device
        return observations

    def _final(self, done: Any, last: Any, info: dict[str, Any]) -> dict[str, Any]:
        """The last observation and information of the episodes that ended; all else is about those that began."""
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(done):
            observations[i] = last[i]
        kept = {key: value for key, value in info.items() if not key.startswith("_")}
        final = {**kept, **{f"_{key}": done for key in kept}}
        return {"final_obs": observations, "_final_obs": done, "final_info": final, "_final_info": done}

    def _info(self, episodes: Episode) -> dict[str, Any]:
        everyone = np.ones(self.num_envs, bool)
        instances = np.asarray(episodes.state.instance)
        labels = self._decoded(np.asarray(episodes.label))
        return {"label": labels, "_label": everyone, "instance": instances, "_instance": everyone}

    def _decoded(self, bits: Words) -> np.ndarray[Any, np.dtype[np.object_]]:
        """The label of each row. Few rows differ, so that each of those is looked up once."""
        rows = bits[:, 0] if bits.shape[1] == 1 else bits.view(f"V{bits.itemsize * bits.shape[1]}")[:, 0]
        distinct, which = np.unique(rows, return_inverse=True)
        labels = np.empty(len(distinct), object)
        labels[:] = [self._label(row) for row in distinct.view(bits.dtype).reshape(-1, bits.shape[1])]
        return labels[which]

    def _next_instances(self) -> Instances:
        """The instances of the next episodes: the fixed one, or random ones."""
        if self._fixed_instance is not None:
            return np.full(self.num_envs, self._fixed_instance, np.int32)
        return self.np_random.integers(len(self.scenario.instances), size=self.num_envs, dtype=np.int32)

    def _checked_instances(self, chosen: int | Sequence[int]) -> Instances:
        """The chosen instances of the next episodes: one for all, or one for each."""
        instances: Instances = np.broadcast_to(np.asarray(chosen, np.int32), self.num_envs)
        for instance in instances.tolist():
            self._checked_instance(instance)
        return instances

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        states = jax.tree.map(np.asarray, self.episodes.state)
        one_by_one = (jax.tree.map(lambda field, i=i: field[i], states) for i in range(self.num_envs))
        return tuple(picture(self.scenario, state) for state in one_by_one)
