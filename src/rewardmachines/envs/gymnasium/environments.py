"""The built-in environments as Gymnasium ones, one at a time or many at once.

Both faces run the same compiled functions, so they do what a training run on the device does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.episodes import MAX_STEPS, Episode, Outcome, advance, advance_or_begin, begin
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.pictures import Window, picture, text
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, Scenario, scenario
from rewardmachines.lowered import LoweredHierarchy
from rewardmachines.lowered.traversal import VERDICTS, verdict


class ScenarioEnv(gymnasium.Env[Any, Any]):
    """One task in one domain.

    `task` is the name of a task or any hierarchy over the domain's propositions. An episode takes place in `instance`,
    or in one that `reset(options={"instance": i})` names, or in a random one. `info` holds the label, the instance and,
    at the end, whether the goal was reached.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human", "ansi"], "render_fps": 8}  # noqa: RUF012

    def __init__(
        self,
        domain: str,
        setting: str,
        task: str | Hierarchy | None = None,
        *,
        instance: int | None = None,
        instances: int = INSTANCES,
        base_seed: int = BASE_SEED,
        observation: str = "published",
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        self.scenario = scenario(
            domain, setting, seed=base_seed, instances=instances, observation=observation, max_steps=max_steps
        )
        self.hierarchy = _hierarchy(self.scenario, task)
        self.lowered = self.scenario.lower(self.hierarchy)
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self._fixed = None if instance is None else _checked_instance(self.scenario, instance)
        self.observation_space = observation_space(self.scenario.environment)
        self.action_space = gymnasium.spaces.Discrete(self.scenario.environment.actions)
        self._episode: Episode | None = None
        self._window: Window | None = None

    @property
    def propositions(self) -> tuple[str, ...]:
        return self.scenario.environment.propositions

    @property
    def episode(self) -> Episode:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], dict[str, Any]]:
        super().reset(seed=seed)
        chosen = (options or {}).get("instance", self._fixed)
        instance = int(self.np_random.integers(len(self.scenario.instances))) if chosen is None else chosen
        instance = _checked_instance(self.scenario, instance)
        programs = _programs(self.scenario.environment, self.scenario.max_steps)
        self._episode, observation = programs.begin(
            self.scenario.world, self.lowered.tables, instance, self.lowered.root
        )
        self._show()
        return np.asarray(observation), self._info(None)

    def step(
        self, action: np.int64 | int
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(np.int64(action)):
            raise RewardMachineError(f"{action!r} is no action: they are 0 to {self.scenario.environment.actions - 1}")
        programs = _programs(self.scenario.environment, self.scenario.max_steps)
        self._episode, outcome, observation = programs.advance(
            self.scenario.world, self.lowered.tables, self.episode, int(action)
        )
        self._show()
        reward, terminated, truncated = float(outcome.reward), bool(outcome.terminated), bool(outcome.truncated)
        return np.asarray(observation), reward, terminated, truncated, self._info(outcome)

    def _info(self, outcome: Outcome | None) -> dict[str, Any]:
        said = VERDICTS[int(verdict(self.lowered.tables, self.episode.task))]
        info = {
            "label": self.scenario.environment.bits.decode(np.asarray(self.episode.label)),
            "instance": int(self.episode.state.instance),
            "verdict": said.value,
        }
        return info if outcome is None else {**info, "goal": bool(outcome.goal)}

    def render(self) -> Any:
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode, such as gymnasium.make(..., render_mode='rgb_array')")
            return None
        if self.render_mode == "ansi":
            return text(self.scenario, self.episode.state, colour=False)
        return picture(self.scenario, self.episode.state) if self.render_mode == "rgb_array" else None

    def _show(self) -> None:
        if self.render_mode == "human":
            self._window = self._window or Window(f"{self.scenario.domain.title} {self.scenario.setting.upper()}")
            self._window.show(picture(self.scenario, self.episode.state), self.metadata["render_fps"])

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None


class ScenarioVectorEnv(VectorEnv[np.ndarray[Any, np.dtype[np.float32]], np.ndarray[Any, np.dtype[np.int64]], Any]):
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
        instance: int | None = None,
        instances: int = INSTANCES,
        base_seed: int = BASE_SEED,
        observation: str = "published",
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        self.scenario = scenario(
            domain, setting, seed=base_seed, instances=instances, observation=observation, max_steps=max_steps
        )
        self.num_envs = num_envs
        tasks = [task] * num_envs if task is None or isinstance(task, (str, Hierarchy)) else list(task)
        if len(tasks) != num_envs:
            raise RewardMachineError(f"{len(tasks)} tasks for {num_envs} environments: give one, or one for each")
        self.hierarchies = [_hierarchy(self.scenario, one) for one in tasks]
        self.lowered: LoweredHierarchy = self.scenario.lower(self.hierarchies)
        self._roots = np.array(self.lowered.roots, np.int32)
        self._fixed = None if instance is None else _checked_instance(self.scenario, instance)
        self.render_mode = _checked_mode(render_mode, self.metadata["render_modes"])
        self.single_observation_space = observation_space(self.scenario.environment)
        self.single_action_space = gymnasium.spaces.Discrete(self.scenario.environment.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._episodes: Episode | None = None

    @property
    def propositions(self) -> tuple[str, ...]:
        return self.scenario.environment.propositions

    @property
    def episodes(self) -> Episode:
        if self._episodes is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        return self._episodes

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], dict[str, Any]]:
        super().reset(seed=seed[0] if isinstance(seed, list) else seed)
        chosen = (options or {}).get("instance")
        instances = self._instances() if chosen is None else np.broadcast_to(np.int32(chosen), self.num_envs)
        programs = _programs(self.scenario.environment, self.scenario.max_steps)
        self._episodes, observations = programs.begin_all(
            self.scenario.world, self.lowered.tables, instances, self._roots
        )
        return np.asarray(observations), self._info(self.episodes)

    def step(self, actions: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        programs = _programs(self.scenario.environment, self.scenario.max_steps)
        self._episodes, outcome, after, observations, last = programs.advance_all(
            self.scenario.world,
            self.lowered.tables,
            self.episodes,
            np.asarray(actions, np.int32),
            self._instances(),
            self._roots,
        )
        info = self._info(self.episodes)
        info["goal"], info["_goal"] = np.asarray(outcome.goal), np.ones(self.num_envs, bool)
        done = np.asarray(outcome.done)
        if done.any():
            info |= self._final(done, np.asarray(last), {**self._info(after), "goal": info["goal"]})
        rewards = np.asarray(outcome.reward, np.float64)
        return np.asarray(observations), rewards, np.asarray(outcome.terminated), np.asarray(outcome.truncated), info

    def _final(self, done: Any, last: Any, said: dict[str, Any]) -> dict[str, Any]:
        """What there is to say of the episodes that ended; everything else speaks of those that began."""
        observations = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(done):
            observations[i] = last[i]
        kept = {key: value for key, value in said.items() if not key.startswith("_")}
        final = {**kept, **{f"_{key}": done for key in kept}}
        return {"final_obs": observations, "_final_obs": done, "final_info": final, "_final_info": done}

    def _info(self, episodes: Episode) -> dict[str, Any]:
        labels = np.empty(self.num_envs, object)
        for i, bits in enumerate(np.asarray(episodes.label)):
            labels[i] = self._decoded(bits)
        everyone = np.ones(self.num_envs, bool)
        instances = np.asarray(episodes.state.instance)
        return {"label": labels, "_label": everyone, "instance": instances, "_instance": everyone}

    def _decoded(self, bits: Any) -> Label:
        return _decode(self.scenario.environment, tuple(int(word) for word in bits))

    def _instances(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        if self._fixed is not None:
            return np.full(self.num_envs, self._fixed, np.int32)
        return self.np_random.integers(len(self.scenario.instances), size=self.num_envs, dtype=np.int32)

    def render(self) -> tuple[Any, ...] | None:
        if self.render_mode is None:
            return None
        states = jax.tree.map(np.asarray, self.episodes.state)
        pick: Callable[[int], Any] = lambda i: jax.tree.map(lambda field: field[i], states)  # noqa: E731
        return tuple(picture(self.scenario, pick(i)) for i in range(self.num_envs))


class _Programs:
    """The compiled functions of an environment; worlds and tasks are their arguments, so everybody shares them."""

    def __init__(self, environment: AnyEnvironment, max_steps: int) -> None:
        def start(world: Any, tables: Any, instance: Any, root: Any) -> tuple[Episode, Any]:
            episode = begin(environment, world, tables, instance, root)
            return episode, environment.observe(world, episode.state)

        def act(world: Any, tables: Any, episode: Episode, action: Any) -> tuple[Episode, Outcome, Any]:
            after, outcome = advance(environment, world, tables, episode, action, max_steps=max_steps)
            return after, outcome, environment.observe(world, after.state)

        def act_or_start(world: Any, tables: Any, episode: Episode, action: Any, instance: Any, root: Any) -> Any:
            following, outcome, after = advance_or_begin(
                environment, world, tables, episode, action, instance=instance, root=root, max_steps=max_steps
            )
            observations = [environment.observe(world, e.state) for e in (following, after)]
            return following, outcome, after, *observations

        self.begin = jax.jit(start)
        self.advance = jax.jit(act)
        self.begin_all = jax.jit(jax.vmap(start, in_axes=(None, None, 0, 0)))
        self.advance_all = jax.jit(jax.vmap(act_or_start, in_axes=(None, None, 0, 0, 0, 0)))


@cache
def _programs(environment: AnyEnvironment, max_steps: int) -> _Programs:
    return _Programs(environment, max_steps)


@cache
def _decode(environment: AnyEnvironment, bits: tuple[int, ...]) -> Label:
    return environment.bits.decode(bits)


def observation_space(environment: AnyEnvironment) -> gymnasium.spaces.Box:
    low, high = environment.observation_bounds
    return gymnasium.spaces.Box(low, high, environment.observation_shape, np.float32)


def _hierarchy(place: Scenario, task: str | Hierarchy | None) -> Hierarchy:
    if isinstance(task, Hierarchy):
        return task
    return place.task(place.domain.default_task if task is None else task)


def _checked_instance(place: Scenario, instance: int) -> int:
    if not 0 <= instance < len(place.instances):
        raise RewardMachineError(f"there is no instance {instance}: they are 0 to {len(place.instances) - 1}")
    return int(instance)


def _checked_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    if mode is not None and mode not in modes:
        raise RewardMachineError(f"render_mode is one of {', '.join(modes)}, not '{mode}'")
    return mode
