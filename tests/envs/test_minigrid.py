"""Labels and planes of MiniGrid, on grids made by hand, against what MiniGrid itself says of its state."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from minigrid.core.actions import Actions
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Ball, Box, Door, Floor, Goal, Key, Lava, Wall, WorldObj
from minigrid.minigrid_env import MiniGridEnv

import rewardmachines as rm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import EnvironmentFault, MiniGridLabels, MiniGridPlanes, label_minigrid
from rewardmachines.envs.gymnasium.minigrid import COLOURS, KINDS, VOCABULARY

PROPOSITIONS = VOCABULARY.propositions

THINGS: dict[str, Any] = {
    "wall": Wall,
    "door": Door,
    "key": Key,
    "ball": Ball,
    "box": Box,
    "goal": Goal,
    "lava": Lava,
    "floor": Floor,
}
DIRECTIONS = {0: (1, 0), 1: (0, 1), 2: (-1, 0), 3: (0, -1)}


class HandMade(MiniGridEnv):
    """A room of five by four cells, in which the given things lie; the agent stands at (1, 1) and looks right."""

    def __init__(self, things: dict[tuple[int, int], WorldObj]) -> None:
        self.things = things
        super().__init__(MissionSpace(mission_func=lambda: "look"), width=5, height=4, max_steps=1000)

    def _gen_grid(self, width: int, height: int) -> None:
        self.grid = Grid(width, height)
        self.grid.wall_rect(0, 0, width, height)
        for place, thing in self.things.items():
            self.grid.set(*place, thing)
        self.agent_pos, self.agent_dir, self.mission = (1, 1), 0, "look"


def labels_after(things: dict[tuple[int, int], WorldObj], *actions: Actions) -> frozenset[str]:
    env = label_minigrid(HandMade(things), PROPOSITIONS)
    info = env.reset()[1]
    for action in actions:
        info = env.step(action)[-1]
    label: frozenset[str] = info["label"]
    return label


def told_by_encoding(env: gymnasium.Env[Any, Any]) -> set[str]:
    """The same facts, read from the numbers of MiniGrid's own encoding of grid and agent."""
    names = {2: "wall", 3: "floor", 4: "door", 5: "key", 6: "ball", 7: "box", 8: "goal", 9: "lava"}
    world: Any = env.unwrapped
    codes = world.grid.encode()
    column, row = (int(number) for number in world.agent_pos)
    dx, dy = DIRECTIONS[int(world.agent_dir)]
    facts = {("here", *codes[column, row]), ("ahead", *codes[column + dx, row + dy])}
    facts |= {(("open", "closed", "locked")[code[2]], *code) for code in codes.reshape(-1, 3) if code[0] == 4}
    if world.carrying is not None:
        facts.add(("carried", *world.carrying.encode()))
    plain = {(relation, names[int(kind)], COLOURS[int(colour)]) for relation, kind, colour, _ in facts if kind in names}
    return {f"{kind}-{relation}" for relation, kind, _ in plain} | {"-".join((c, k, r)) for r, k, c in plain}


def test_an_empty_room_shows_nothing_until_one_looks_at_a_wall() -> None:
    assert labels_after({}) == frozenset()
    assert labels_after({}, Actions.left) == {"wall-ahead", "grey-wall-ahead"}


@pytest.mark.parametrize("kind", ["key", "ball", "box"])
@pytest.mark.parametrize("colour", COLOURS)
def test_what_can_be_carried(kind: str, colour: str) -> None:
    things = {(2, 1): THINGS[kind](colour)}
    assert labels_after(things) == {f"{kind}-ahead", f"{colour}-{kind}-ahead"}
    carried = {f"{kind}-carried", f"{colour}-{kind}-carried"}
    assert labels_after({(2, 1): THINGS[kind](colour)}, Actions.pickup) == carried
    dropped = labels_after({(2, 1): THINGS[kind](colour)}, Actions.pickup, Actions.drop)
    assert dropped == {f"{kind}-ahead", f"{colour}-{kind}-ahead"}


@pytest.mark.parametrize("colour", COLOURS)
def test_doors(colour: str) -> None:
    def both(*facts: str) -> set[str]:
        return {prefix + fact for fact in facts for prefix in ("", f"{colour}-")}

    assert labels_after({(3, 2): Door(colour)}) == both("door-closed")
    assert labels_after({(2, 1): Door(colour)}) == both("door-closed", "door-ahead")
    assert labels_after({(2, 1): Door(colour)}, Actions.toggle) == both("door-open", "door-ahead")
    inside = labels_after({(2, 1): Door(colour)}, Actions.toggle, Actions.forward)
    assert inside == both("door-open", "door-here")
    locked = {(2, 1): Door(colour, is_locked=True), (1, 2): Key(colour)}
    assert labels_after(locked, Actions.toggle) == both("door-locked", "door-ahead")
    unlocked = labels_after(
        {(2, 1): Door(colour, is_locked=True), (1, 2): Key(colour)},
        Actions.right, Actions.pickup, Actions.left, Actions.toggle,
    )  # fmt: skip
    assert unlocked == both("door-open", "door-ahead", "key-carried")


@pytest.mark.parametrize("thing", [Goal(), THINGS["lava"](), Floor("purple"), Goal("red")])
def test_what_one_can_stand_on(thing: WorldObj) -> None:
    names = {thing.type, f"{thing.color}-{thing.type}"}
    assert labels_after({(2, 1): thing}) == {f"{name}-ahead" for name in names}
    assert labels_after({(2, 1): thing}, Actions.forward) == {f"{name}-here" for name in names}


@pytest.mark.parametrize(
    "name",
    [
        "MiniGrid-DoorKey-5x5-v0",
        "MiniGrid-BlockedUnlockPickup-v0",
        "MiniGrid-LavaGapS5-v0",
        "MiniGrid-KeyCorridorS3R2-v0",
    ],
)
def test_random_walks_agree_with_minigrids_own_encoding(name: str) -> None:
    env = label_minigrid(gymnasium.make(name), PROPOSITIONS)
    env.action_space.seed(0)
    seen = set[str]()
    for seed in range(5):
        info = env.reset(seed=seed)[1]
        for _ in range(200):
            assert info["label"] == told_by_encoding(env)
            seen |= info["label"]
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            if terminated or truncated:
                assert info["label"] == told_by_encoding(env)
                break
    assert len(seen) > 4


def test_only_what_was_chosen_is_seen_by_names_of_ones_own() -> None:
    env = label_minigrid(HandMade({(2, 1): Key("red")}), {"key": "red-key-carried", "door": "door-open"})
    assert env.propositions == ("key", "door")
    assert env.reset()[1]["label"] == frozenset()
    assert env.step(Actions.pickup)[-1]["label"] == {"key"}


def test_every_proposition_can_be_written_in_a_task() -> None:
    for proposition in PROPOSITIONS:
        assert set(rm.compile_task(f"{proposition} ; goal-here").used_propositions) == {proposition, "goal-here"}


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(RewardMachineError, match="MiniGrid has no proposition 'red-key-caried'; did you mean"):
        MiniGridLabels(["red-key-caried"])
    with pytest.raises(RewardMachineError, match="no proposition 'goal'"):
        MiniGridLabels(["goal"])
    with pytest.raises(RewardMachineError, match="CartPoleEnv is no MiniGrid environment"):
        label_minigrid(gymnasium.make("CartPole-v1"), ["goal-here"])
    with pytest.raises(RewardMachineError, match="twice"):
        MiniGridLabels(["goal-here", "goal-here"])


def test_a_world_that_is_no_grid_is_a_fault_when_it_is_labelled() -> None:
    from rewardmachines.envs import LabelingWrapper

    labels = MiniGridLabels(["goal-here"])
    env = LabelingWrapper(gymnasium.make("CartPole-v1"), labels=labels, propositions=labels.propositions)
    with pytest.raises(EnvironmentFault, match="no MiniGrid environment"):
        env.reset()


@pytest.mark.parametrize("name", ["MiniGrid-DoorKey-5x5-v0", "MiniGrid-BlockedUnlockPickup-v0"])
def test_planes_tell_what_the_encoding_tells(name: str) -> None:
    env = MiniGridPlanes(gymnasium.make(name))
    env.action_space.seed(1)
    world: Any = env.unwrapped
    observation, _ = env.reset(seed=3)
    carried = 0
    for _ in range(300):
        assert env.observation_space.contains(observation)
        for column in range(world.width):
            for row in range(world.height):
                thing = world.grid.get(column, row)
                expected = shown(thing)
                if (column, row) == tuple(world.agent_pos):
                    expected |= shown(world.carrying) | {16 + int(world.agent_dir)}
                assert set(np.flatnonzero(observation[:, column, row])) == expected
        carried += world.carrying is not None
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()
    assert carried


def shown(thing: WorldObj | None) -> set[int]:
    """The planes of a thing: its kind, whether it is closed (8) or locked (9), and its colour."""
    if thing is None:
        return set()
    _, colour, state = thing.encode()
    return (
        {KINDS.index(thing.type)}
        | ({7 + int(state)} if thing.type == "door" and state else set())
        | ({10 + int(colour)} if thing.type != "wall" else set())
    )
