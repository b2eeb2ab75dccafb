"""One episode at a time of a task in a domain, as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, NamedTuple, Self, Unpack

import gymnasium
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs.gymnasium.face import ScenarioFace, ScenarioOptions
from rewardmachines.envs.pictures import Window, picture, text
from rewardmachines.envs.scenarios import ScenarioSpec

Observation = np.ndarray[Any, np.dtype[np.float32]]


class EpisodeState(NamedTuple):
    """The state of an episode."""

    instance: int
    state: Any
    """The state of the domain's environment."""
    task: HierarchyState
    """The hierarchy state of the task."""
    label: Label
    """The last label, which the next must differ from to be an event."""
    steps: int
    """The number of steps so far."""


class ScenarioEnv(ScenarioFace, gymnasium.Env[Any, Any]):
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
        **options: Unpack[ScenarioOptions],
    ) -> None:
        self._prepare(domain, setting, [task], **options)
        self.observation_space, self.action_space = self._spaces()
        self._episode: EpisodeState | None = None
        self._window: Window | None = None

    @classmethod
    def of_spec(
        cls,
        spec: ScenarioSpec,
        task: str | Hierarchy,
        *,
        observation: str,
        instance: int | None = None,
        render_mode: str | None = None,
    ) -> Self:
        """Makes the environment that a run's specification asks for.

        Args:
            spec: The domain, its setting, its instances and the length of episodes.
            task: The name of a task, or its hierarchy.
            observation: The name of what the agent observes.
            instance: The instance of all episodes; without one, each episode takes place in a random one.
            render_mode: The render mode, or None.
        """
        return cls(
            spec.domain,
            spec.setting,
            task,
            instance=instance,
            instances=spec.instances,
            base_seed=spec.instance_seed,
            observation=observation,
            max_steps=spec.max_steps,
            render_mode=render_mode,
        )

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy of the task."""
        return self.hierarchies[0]

    @property
    def episode(self) -> EpisodeState:
        """The state of the episode."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        instance = (options or {}).get("instance", self._fixed_instance)
        if instance is None:
            instance = int(self.np_random.integers(len(self.scenario.instances)))
        instance = self._checked_instance(instance)
        state, bits, observation = self._programs.first(self.scenario.world, instance)
        label = self._label(np.asarray(bits))
        task = move_on_event(self.hierarchy, initial_state(self.hierarchy), None, label)
        self._episode = EpisodeState(instance, state, task, label, steps=0)
        self._show()
        verdict = verdict_of(self.hierarchy, task)
        return np.asarray(observation), {"label": label, "instance": instance, "verdict": verdict.value}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(np.int64(action)):
            raise RewardMachineError(f"{action!r} is no action: they are 0 to {self.scenario.environment.actions - 1}")
        instance, before, task, label_before, steps = self.episode
        state, bits, observation = self._programs.next(self.scenario.world, before, np.int32(action))
        label = self._label(np.asarray(bits))
        task = move_on_event(self.hierarchy, task, label_before, label)
        self._episode = EpisodeState(instance, state, task, label, steps + 1)
        self._show()
        verdict = verdict_of(self.hierarchy, task)
        goal, terminated = verdict is Verdict.ACCEPT, verdict is not Verdict.NEITHER
        truncated = not terminated and steps + 1 >= self.scenario.max_steps
        info = {"label": label, "instance": instance, "verdict": verdict.value, "goal": goal}
        return np.asarray(observation), float(goal), terminated, truncated, info

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
