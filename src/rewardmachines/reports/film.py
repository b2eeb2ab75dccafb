"""Films of episodes: what a policy does, with the hierarchy and its options written beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import HierarchyState, Verdict, show_label
from rewardmachines.envs.animation import Pixels, save_gif
from rewardmachines.envs.hierarchy_text import stack_lines
from rewardmachines.envs.pictures import picture_beside
from rewardmachines.envs.scenario import Scenario

if TYPE_CHECKING:
    from rewardmachines.envs.gymnasium.single import (
        ScenarioEnv,  # only for its type: films of what was recorded need no Gymnasium
    )

STEPS: Final = 300
"""That are filmed at most."""
GOAL: Final = "GOAL"
_ENDS: Final = {Verdict.ACCEPT.value: GOAL, Verdict.REJECT.value: "DEAD END"}
_MISTAKEN: Final = "its machine takes the task for over"
_LAST: Final = 12
"""Frames for which the end stands still."""


class Actor(Protocol):
    """A policy that keeps track of its hierarchy."""

    def reset(self, label: Iterable[str] = ()) -> None: ...

    def act(self, observation: Any, label: Iterable[str]) -> int: ...

    @property
    def state(self) -> HierarchyState: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def options(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, eq=False)
class Take:
    """An episode that can be shown."""

    scenario: Scenario
    shots: tuple[tuple[Any, tuple[str, ...]], ...]
    """States of the environment, and what is written beside each."""
    steps: int
    end: str

    @property
    def succeeds(self) -> bool:
        return self.end == GOAL

    def save(self, path: Path) -> None:
        """As an endless GIF."""
        frames = [self._frame(*shot) for shot in self.shots]
        save_gif([*frames, *frames[-1:] * _LAST], path)

    def _frame(self, state: Any, text: tuple[str, ...]) -> Pixels:
        return picture_beside(self.scenario, state, text)


def take(env: ScenarioEnv, policy: Actor, task: str, *, steps: int = STEPS) -> Take:
    """An episode, or as much of it as there are steps for. Nothing is drawn yet."""
    observation, info = env.reset()
    policy.reset(info["label"])
    shots, done, number, end = [], False, 0, "and so on"
    while not done and number < steps:
        action = _action(policy, observation, info["label"])
        if action is None:
            end = _MISTAKEN
            break
        shots.append((env.episode.state, (*_heading(task, info["label"]), f"step: {number}", "", *_plans(policy))))
        observation, _, terminated, truncated, info = env.step(action)
        number += 1
        done = terminated or truncated
        if done:
            end = _ENDS.get(info["verdict"], "out of steps")
    shots.append((env.episode.state, (*_heading(task, info["label"]), "", end)))
    return Take(env.scenario, tuple(shots), number, end)


def _action(policy: Actor, observation: Any, label: Label) -> int | None:
    """None if the hierarchy that the policy follows is through: one that was learned can be wrong about that."""
    try:
        return policy.act(observation, label)
    except RewardMachineError:
        if policy.verdict is Verdict.NEITHER:
            raise
        return None


def _heading(task: str, label: Label) -> tuple[str, ...]:
    return f"task: {task}", f"label: {show_label(label)}"


def _plans(policy: Actor) -> list[str]:
    """Where the hierarchy stands and what the policy is about to do."""
    lines = ["hierarchy", *(f"  {line}" for line in stack_lines(policy.state))]
    if policy.options:
        lines += ["", "options"]
        lines += [f"{'  ' * (depth + 1)}{option}" for depth, option in enumerate(policy.options)]
    return lines
