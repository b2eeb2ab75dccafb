"""One episode at a time of a task in a domain, as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, Self

import gymnasium
import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import PUBLISHED
from rewardmachines.envs.episodes import MAX_STEPS, Episode, StepResult
from rewardmachines.envs.gymnasium.face import ScenarioFace
from rewardmachines.envs.pictures import Window, picture, text
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES, ScenarioSpec, scenario
from rewardmachines.lowered.traversal import VERDICTS


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
        *,
        instance: int | None = None,
        instances: int = INSTANCES,
        base_seed: int = BASE_SEED,
        observation: str = PUBLISHED,
        max_steps: int = MAX_STEPS,
        render_mode: str | None = None,
    ) -> None:
        chosen = scenario(
            domain, setting, seed=base_seed, instances=instances, observation=observation, max_steps=max_steps
        )
        self._prepare(chosen, [task], instance=instance, render_mode=render_mode)
        self.observation_space, self.action_space = self._spaces()
        self._episode: Episode | None = None
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
            render_mode: How episodes are shown, if they are.
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
    def episode(self) -> Episode:
        """Where the episode stands."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before the first step")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], dict[str, Any]]:
        super().reset(seed=seed)
        instance = (options or {}).get("instance", self._fixed_instance)
        if instance is None:
            instance = int(self.np_random.integers(len(self.scenario.instances)))
        self._episode, observation = self._programs.begin(
            self.scenario.world, self.lowered.tables, self._checked_instance(instance), self.lowered.root
        )
        self._show()
        return np.asarray(observation), self._info(None)

    def step(
        self, action: np.int64 | int
    ) -> tuple[np.ndarray[Any, np.dtype[np.float32]], float, bool, bool, dict[str, Any]]:
        if not self.action_space.contains(np.int64(action)):
            raise RewardMachineError(f"{action!r} is no action: they are 0 to {self.scenario.environment.actions - 1}")
        self._episode, result, observation = self._programs.advance(
            self.scenario.world, self.lowered.tables, self.episode, int(action)
        )
        self._show()
        reward, terminated, truncated = float(result.reward), bool(result.terminated), bool(result.truncated)
        return np.asarray(observation), reward, terminated, truncated, self._info(result)

    def _info(self, result: StepResult | None) -> dict[str, Any]:
        info = {
            "label": self._label(self.episode.label),
            "instance": int(self.episode.state.instance),
            "verdict": VERDICTS[int(self._programs.verdict(self.lowered.tables, self.episode.task))].value,
        }
        return info if result is None else {**info, "goal": bool(result.goal)}

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
