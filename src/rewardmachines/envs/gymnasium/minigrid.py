"""MiniGrid environments with labels in plain words, and the whole grid as planes of zeros and ones.

Propositions are words joined by hyphens: a thing, what is the case with it, and its colour before it if that matters.

| proposition | true if |
| --- | --- |
| `key-carried`, `red-key-carried` | the agent carries a key, or a red one; also balls and boxes |
| `door-ahead`, `green-goal-ahead` | the cell before the agent holds such a thing, of whatever kind |
| `goal-here`, `lava-here`, `red-door-here` | the agent stands on it; also on coloured floor |
| `door-open`, `red-door-closed`, `door-locked` | there is such a door anywhere in the grid |

Nothing of MiniGrid is imported: everything is read from the environment that was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.grid_words import Fact, Vocabulary
from rewardmachines.envs.gymnasium.checks import read_propositions
from rewardmachines.envs.gymnasium.wrappers import AnyEnv, Goal, LabelingWrapper, reached_goal

COLOURS: Final = ("red", "green", "blue", "purple", "yellow", "grey")
"""The colours of MiniGrid."""
KINDS: Final = ("wall", "door", "key", "ball", "box", "goal", "lava", "floor")
"""The kinds of things of MiniGrid."""
VOCABULARY: Final = Vocabulary(
    title="MiniGrid",
    colours=COLOURS,
    relations={
        "carried": ("key", "ball", "box"),
        "ahead": KINDS,
        "here": ("door", "goal", "lava", "floor"),
        "open": ("door",),
        "closed": ("door",),
        "locked": ("door",),
    },
)
"""The words of MiniGrid."""


class MiniGridLabels:
    """A labelling function for MiniGrid environments, to be given to `LabelingWrapper`.

    Args:
        propositions: The propositions of labels, such as `["yellow-key-carried", "door-open", "goal-here"]`; or a dict
            of names of your own to propositions, such as `{"key": "yellow-key-carried", "goal": "goal-here"}`.

    Raises:
        RewardMachineError: There is no such proposition, or one is there twice.
    """

    def __init__(self, propositions: Iterable[str] | Mapping[str, str]) -> None:
        self.propositions = read_propositions(propositions)
        own = propositions if isinstance(propositions, Mapping) else {}
        self._facts = {name: VOCABULARY.read(own.get(name, name)) for name in self.propositions}
        self._looks_for_doors = any(fact.relation in ("open", "closed", "locked") for fact in self._facts.values())

    def __call__(self, observation: Any, info: dict[str, Any], env: AnyEnv) -> set[str]:  # noqa: ARG002
        """The propositions that are true in the environment's present state."""
        facts = self._present_facts(_grid_world(env))
        return {name for name, fact in self._facts.items() if fact in facts}

    def _present_facts(self, world: Any) -> set[Fact]:
        """All that is the case, each with and without its colour."""
        things = [("carried", world.carrying), ("here", world.grid.get(*world.agent_pos))]
        column, row = world.front_pos
        if 0 <= column < world.grid.width and 0 <= row < world.grid.height:
            things.append(("ahead", world.grid.get(column, row)))
        if self._looks_for_doors:
            things += [(_door_state(thing), thing) for thing in world.grid.grid if thing and thing.type == "door"]
        return {
            Fact(relation, thing.type, colour)
            for relation, thing in things
            if thing is not None
            for colour in (None, thing.color)
        }


def label_minigrid(
    env: AnyEnv, propositions: Iterable[str] | Mapping[str, str], *, goal: Goal = reached_goal
) -> LabelingWrapper:
    """A MiniGrid environment whose states are labelled.

    Args:
        env: The environment, with any of MiniGrid's own wrappers around it.
        propositions: The propositions of labels, as for `MiniGridLabels`.
        goal: Tells goals from dead ends, as for `LabelingWrapper`.

    Raises:
        RewardMachineError: There is no such proposition, or this is no MiniGrid environment.
    """
    _grid_world(env)
    labels = MiniGridLabels(propositions)
    return LabelingWrapper(env, labels=labels, propositions=labels.propositions, goal=goal)


class MiniGridPlanes(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows the whole grid as planes of zeros and ones, channels first, a byte for each cell.

    There is a plane for each kind of thing, for doors that are closed and for those that are locked, for each colour,
    and for each direction in which the agent may look. What the agent carries is shown where the agent is; colours of
    walls are not shown. The mission is left out.

    Args:
        env: A MiniGrid environment.

    Raises:
        RewardMachineError: This is no MiniGrid environment.
    """

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        world = _grid_world(env)
        self.observation_space = spaces.Box(0, 1, (_PLANES, world.width, world.height), np.uint8)

    def observation(self, observation: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:  # noqa: ARG002
        """The planes of the environment's present state."""
        world = _grid_world(self.env)
        column, row = world.agent_pos
        agent, cells = row * world.width + column, world.width * world.height
        shown = [
            plane * cells + cell for cell, thing in enumerate(world.grid.grid) if thing for plane in _planes_of(thing)
        ]
        if world.carrying is not None:
            shown += [plane * cells + agent for plane in _planes_of(world.carrying)]
        planes = np.zeros(_PLANES * cells, np.uint8)
        planes[shown] = 1
        planes[(_PLANES - 4 + world.agent_dir) * cells + agent] = 1
        # MiniGrid lists cells row by row, but everywhere else the column comes first.
        return planes.reshape(_PLANES, world.height, world.width).transpose(0, 2, 1)


_PLANES: Final = len(KINDS) + 2 + len(COLOURS) + 4


_PLANE_OF_KIND: Final = {kind: number for number, kind in enumerate(KINDS)}
_PLANE_OF_COLOUR: Final = {colour: len(KINDS) + 2 + number for number, colour in enumerate(COLOURS)}


def _planes_of(thing: Any) -> tuple[int, ...]:
    """The planes that show a thing."""
    kind = _PLANE_OF_KIND[thing.type]
    if thing.type == "wall":
        return (kind,)
    if thing.type == "door" and not thing.is_open:
        return (kind, len(KINDS) + bool(thing.is_locked), _PLANE_OF_COLOUR[thing.color])
    return (kind, _PLANE_OF_COLOUR[thing.color])


def _door_state(door: Any) -> str:
    if door.is_open:
        return "open"
    return "locked" if door.is_locked else "closed"


def _grid_world(env: AnyEnv) -> Any:
    """The MiniGrid environment inside all wrappers."""
    world = env.unwrapped
    if not all(hasattr(world, part) for part in ("grid", "carrying", "agent_pos", "agent_dir")):
        raise RewardMachineError(
            f"{type(world).__name__} is no MiniGrid environment: it has no grid to read labels from"
        )
    return world
