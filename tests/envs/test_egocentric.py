"""The egocentric observation of CraftWorld, judged by looking at one cell after another."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.envs import craftworld
from rewardmachines.envs.craftworld import (
    CraftAction,
    CraftInstance,
    CraftSetting,
    CraftState,
    Observation,
    Thing,
    build_world,
)
from rewardmachines.envs.craftworld.things import OBJECTS
from rewardmachines.envs.scenarios import scenario

Planes = np.ndarray[tuple[int, int, int], np.dtype[np.float32]]
seeds = st.integers(0, 2**31)
directions = st.integers(0, 3)
every_setting = st.sampled_from(list(CraftSetting))


@cache
def _observe(setting: CraftSetting) -> Any:
    return jax.jit(craftworld.CraftWorld(setting, Observation.EGOCENTRIC).observe)


@cache
def _step(setting: CraftSetting) -> Any:
    return jax.jit(craftworld.CraftWorld(setting, Observation.EGOCENTRIC).step)


def _seen(grid: CraftInstance, x: int, y: int, direction: int) -> Planes:
    state = CraftState(*jax.device_put([np.int32(number) for number in (0, x, y, direction)]))
    return np.asarray(_observe(grid.setting)(build_world([grid]), state))


def _seen_by_hand(grid: CraftInstance, x: int, y: int, direction: int) -> Planes:
    """Walks over the window, and names the compass directions one by one."""
    kinds = [Thing.WALL, *([Thing.LAVA] if grid.setting in (CraftSetting.OPL, CraftSetting.FRL) else []), *OBJECTS]
    reach = {7: 4, 13: 10}[len(grid.things)]
    planes = np.zeros((len(kinds), 2 * reach + 1, 2 * reach + 1), np.float32)
    for right in range(-reach, reach + 1):
        for ahead in range(-reach, reach + 1):
            match direction:
                case 0:  # looks right: what is ahead has larger x, and larger y, which is below, is on the right
                    there = (x + ahead, y + right)
                case 1:  # looks down
                    there = (x - right, y + ahead)
                case 2:  # looks left
                    there = (x - ahead, y - right)
                case _:  # looks up
                    there = (x + right, y - ahead)
            inside = all(0 <= place < len(grid.things) for place in there)
            thing = grid.things[there] if inside else Thing.EMPTY
            if thing != Thing.EMPTY:
                planes[kinds.index(Thing(int(thing))), reach + right, reach - ahead] = 1
    return planes


@settings(max_examples=60, deadline=None)
@given(every_setting, seeds, directions, st.data())
def test_the_window_shows_what_is_around_the_agent(setting: CraftSetting, seed: int, direction: int, data: Any) -> None:
    grid = craftworld.instance(setting, seed)
    x, y = (data.draw(st.integers(1, setting.size - 2)) for _ in range(2))
    assert np.array_equal(_seen(grid, x, y, direction), _seen_by_hand(grid, x, y, direction))


@settings(max_examples=40, deadline=None)
@given(every_setting, seeds, directions, st.data())
def test_every_thing_is_seen_from_everywhere(setting: CraftSetting, seed: int, direction: int, data: Any) -> None:
    grid = craftworld.instance(setting, seed)
    x, y = (data.draw(st.integers(1, setting.size - 2)) for _ in range(2))
    shown = _seen(grid, x, y, direction)[1:].sum()
    assert shown == ((grid.things != Thing.EMPTY) & (grid.things != Thing.WALL)).sum()


@settings(max_examples=30, deadline=None)
@given(every_setting, seeds, st.lists(st.sampled_from(list(CraftAction)), max_size=6))
def test_turning_left_and_right_shows_the_same_again(setting: CraftSetting, seed: int, walk: list[CraftAction]) -> None:
    world = build_world([craftworld.instance(setting, seed)])
    observe, step = _observe(setting), _step(setting)
    state = craftworld.CraftWorld(setting).reset(world, 0)
    for action in walk:
        state = step(world, state, int(action))
    first = np.asarray(observe(world, state))
    left = step(world, state, int(CraftAction.LEFT))
    assert np.array_equal(np.asarray(observe(world, step(world, left, int(CraftAction.RIGHT)))), first)
    # What was on the left is ahead now: the window has turned clockwise, by a quarter.
    assert np.array_equal(np.asarray(observe(world, left)), np.rot90(first, -1, axes=(2, 1)))


@settings(max_examples=30, deadline=None)
@given(every_setting, seeds, directions, st.integers(1, 3), st.data())
def test_equal_surroundings_look_equal(setting: CraftSetting, seed: int, direction: int, turns: int, data: Any) -> None:
    """A grid that is turned together with the agent looks as before."""
    grid = craftworld.instance(setting, seed)
    x, y = (data.draw(st.integers(1, setting.size - 2)) for _ in range(2))
    turned, there = grid.things, (x, y)
    for _ in range(turns):  # clockwise: (x, y) goes to (last - y, x)
        turned = np.array([[turned[j, setting.size - 1 - i] for j in range(setting.size)] for i in range(setting.size)])
        there = (setting.size - 1 - there[1], there[0])
    again = CraftInstance(setting, seed, turned, *there, (direction + turns) % 4)
    assert np.array_equal(_seen(grid, x, y, direction), _seen(again, *there, again.direction))


@pytest.mark.parametrize(("setting", "shape"), [("op", (11, 9, 9)), ("opl", (12, 9, 9)), ("frl", (12, 21, 21))])
def test_shapes_are_as_documented(setting: str, shape: tuple[int, ...]) -> None:
    assert scenario("craftworld", setting, observation="egocentric").environment.observation_shape == shape


def test_there_is_nothing_outside_of_the_grid() -> None:
    grid = craftworld.instance("op", 0)
    seen = _seen(grid, 1, 1, 3)  # in the upper left corner, looking up
    assert not seen[:, :3, :].any()
    assert not seen[:, :, :3].any()
    assert seen[0, 3, 3:].all()
    assert seen[0, 3:, 3].all()
