"""Films of episodes: the actions of a policy, with the state of its hierarchy and its options written beside them."""

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
    # Only a type is needed: a recorded episode can be drawn where Gymnasium is not installed.
    from rewardmachines.envs.gymnasium.single import ScenarioEnv

STEPS: Final = 300
"""The largest number of steps of a film."""
GOAL: Final = "GOAL"
"""The caption of an episode that reached its goal."""
DEAD_END: Final = "DEAD END"
"""The caption of one that reached a dead end."""
OUT_OF_STEPS: Final = "out of steps"
"""The caption of one that was cut off."""
MISTAKEN: Final = "its machine takes the task for over"
"""The caption of one in which a learned machine has decided, and the environment has not."""
_ENDS: Final = {Verdict.ACCEPT.value: GOAL, Verdict.REJECT.value: DEAD_END}
LAST: Final = 12
"""The number of times that the last frame is repeated, so that the end can be read."""


class Actor(Protocol):
    """A policy that keeps track of the state of its hierarchy."""

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode whose first state has this label."""

    def act(self, observation: Any, label: Iterable[str]) -> int:
        """Chooses an action for the present state, given what is observed and its label."""

    @property
    def state(self) -> HierarchyState:
        """The state of the hierarchy that the policy follows."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of this hierarchy on the episode so far."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are being followed, outermost first."""


@dataclass(frozen=True, eq=False)
class FilmedEpisode:
    """An episode that was recorded and can be drawn, frame by frame."""

    scenario: Scenario
    shots: tuple[tuple[Any, tuple[str, ...]], ...]
    """The states of the environment, each with the lines that are written beside it."""
    steps: int
    """The number of steps that were recorded."""
    end: str
    """How the episode ended, in words."""

    @property
    def succeeds(self) -> bool:
        """Whether the episode reached its goal."""
        return self.end == GOAL

    def save(self, path: Path) -> None:
        """Draws the episode and writes it as a GIF that is repeated endlessly."""
        frames = [self._frame(*shot) for shot in self.shots]
        save_gif([*frames, *frames[-1:] * LAST], path)

    def _frame(self, state: Any, text: tuple[str, ...]) -> Pixels:
        return picture_beside(self.scenario, state, text)


def film_episode(env: ScenarioEnv, policy: Actor, task: str, *, steps: int = STEPS) -> FilmedEpisode:
    """Records an episode. Nothing is drawn yet.

    Args:
        env: The environment, which need not have been reset.
        policy: The policy that acts in it.
        task: The name of the task, which is written beside every frame.
        steps: The largest number of steps; longer episodes are cut off.
    """
    observation, info = env.reset()
    policy.reset(info["label"])
    shots, done, number, end = [], False, 0, "and so on"
    while not done and number < steps:
        action = _action(policy, observation, info["label"])
        if action is None:
            end = MISTAKEN
            break
        heading = (*_heading(task, info["label"]), f"step: {number}", "")
        shots.append((env.episode.state, (*heading, *_hierarchy_lines(policy))))
        observation, _, terminated, truncated, info = env.step(action)
        number += 1
        done = terminated or truncated
        if done:
            end = _ENDS.get(info["verdict"], OUT_OF_STEPS)
    shots.append((env.episode.state, (*_heading(task, info["label"]), f"step: {number}", "", end)))
    return FilmedEpisode(env.scenario, tuple(shots), number, end)


def _action(policy: Actor, observation: Any, label: Label) -> int | None:
    """The next action; None if the policy's hierarchy has ended, as a wrong one may do before the episode ends."""
    try:
        return policy.act(observation, label)
    except RewardMachineError:
        if policy.verdict is Verdict.NEITHER:
            raise
        return None


def _heading(task: str, label: Label) -> tuple[str, ...]:
    return f"task: {task}", f"label: {show_label(label)}"


def _hierarchy_lines(policy: Actor) -> list[str]:
    """The state of the policy's hierarchy, and the options that the policy follows."""
    lines = ["hierarchy", *(f"  {line}" for line in stack_lines(policy.state))]
    if policy.options:
        lines += ["", "options"]
        lines += [f"{'  ' * (depth + 1)}{option}" for depth, option in enumerate(policy.options)]
    return lines
