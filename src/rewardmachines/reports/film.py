"""Films of episodes: the actions of a policy, its hierarchy drawn beside them, and its options below."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, move_on_event
from rewardmachines.envs.filming import Caption, Film, Shot
from rewardmachines.envs.hierarchy_text import ENDS
from rewardmachines.envs.pictures import PICTURE_SIZE, picture

if TYPE_CHECKING:
    # Only a type is needed: a recorded episode can be drawn where Gymnasium is not installed.
    from rewardmachines.envs.gymnasium.single import ScenarioEnv

STEPS: Final = 300
"""The largest number of steps of a film."""
GOAL: Final = ENDS[Verdict.ACCEPT]
"""The caption of an episode that reached its goal."""
DEAD_END: Final = ENDS[Verdict.REJECT]
"""The caption of one that reached a dead end."""
OUT_OF_STEPS: Final = "out of steps"
"""The caption of one that was cut off."""
CUT: Final = "and so on"
"""The caption of one that goes on after the film."""
MISTAKEN: Final = "its machine takes the task for over"
"""The caption of one in which a learned machine has decided, and the environment has not."""
_ENDS: Final = {verdict.value: end for verdict, end in ENDS.items()}

_NOT: Final = re.compile(r"(?<= )!(?=\S)")


class Actor(Protocol):
    """A policy that keeps track of the state of its hierarchy."""

    def reset(self, label: Iterable[str] = ()) -> None:
        """Begins an episode whose first state has this label."""

    def act(self, observation: Any, label: Iterable[str]) -> int:
        """Chooses an action for the present state, given what is observed and its label."""

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy that the policy follows."""

    @property
    def state(self) -> HierarchyState:
        """The state of this hierarchy."""

    @property
    def verdict(self) -> Verdict:
        """The verdict of this hierarchy on the episode so far."""

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are being followed, outermost first."""


@dataclass(frozen=True, eq=False)
class FilmedEpisode:
    """An episode that was recorded and can be drawn, frame by frame."""

    film: Film
    steps: int
    """The number of steps that were recorded."""
    end: str
    """How the episode ended, in words."""

    @property
    def succeeds(self) -> bool:
        """Whether the episode reached its goal."""
        return self.end == GOAL

    def save(self, *paths: Path) -> tuple[int, int]:
        """Draws the episode and writes it: GIFs, pages with a player, or videos, as the suffixes say.

        Returns:
            The width and the height of its frames in pixels.
        """
        return self.film.save(*paths)


def film_episode(env: ScenarioEnv, policy: Actor, task: str, *, steps: int = STEPS) -> FilmedEpisode:
    """Records an episode. Nothing is drawn yet.

    Args:
        env: The environment, which need not have been reset.
        policy: The policy that acts in it.
        task: The name of the task, which is written below every frame.
        steps: The largest number of steps; longer episodes are cut off.
    """
    observation, info = env.reset()
    policy.reset(info["label"])
    shots, done, number, end, reward, before = list[Shot](), False, 0, CUT, 0.0, info["label"]

    def shoot(state: HierarchyState, pursued: tuple[str, ...] = (), end: str = "") -> None:
        world = partial(picture, env.scenario, env.episode.state, size=PICTURE_SIZE)
        shots.append(Shot(world, state, Caption(task, number, info["label"], reward, pursued, end=end)))

    while not done and number < steps:
        action = _action(policy, observation, info["label"])
        if action is None:
            end = MISTAKEN
            break
        shoot(policy.state, pursued_by(policy.options))
        before = info["label"]
        observation, given, terminated, truncated, info = env.step(action)
        number, reward, done = number + 1, float(given), terminated or truncated
        if done:
            end = _ENDS.get(info["verdict"], OUT_OF_STEPS)
    is_over = policy.verdict is not Verdict.NEITHER  # only then the policy has seen the last label already
    shoot(policy.state if is_over else move_on_event(policy.hierarchy, policy.state, before, info["label"]), end=end)
    return FilmedEpisode(Film(policy.hierarchy, tuple(shots)), number, end)


def _action(policy: Actor, observation: Any, label: Label) -> int | None:
    """The next action; None if the policy's hierarchy has ended, as a wrong one may do before the episode ends."""
    try:
        return policy.act(observation, label)
    except RewardMachineError:
        if policy.verdict is Verdict.NEITHER:
            raise
        return None


def pursued_by(options: Sequence[str]) -> tuple[str, ...]:
    """The options that are followed, with the symbols of drawings.

    >>> pursued_by(("cake: call batter", "batter: wheat & !chicken"))
    ('cake: call batter', 'batter: wheat ∧ ¬chicken')
    """
    return tuple(_NOT.sub("¬", option.replace(" & ", " ∧ ")) for option in options)
