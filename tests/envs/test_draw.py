"""Instances that are drawn on the device: they keep the rules, and are as likely as published ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, ks_2samp

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import craftworld, waterworld
from rewardmachines.envs.craftworld import Thing
from rewardmachines.envs.craftworld.things import OBJECTS
from rewardmachines.envs.domain import Domain
from rewardmachines.envs.registry import BUILT_IN
from rewardmachines.envs.scenarios import scenario
from rewardmachines.envs.waterworld.instances import BALL_SPEED, ball_paths

GRIDS = [setting.value for setting in craftworld.CraftSetting]
BOXES = [setting.value for setting in waterworld.WaterSetting]
DRAWN = [(name, setting) for name in ("craftworld", "waterworld") for setting in BUILT_IN[name].settings]
MANY = 2_000
UNLIKELY = 1e-4
"""Seeds are fixed, so that this is no chance of failing, but how surprising a difference must be to count."""
every_drawn = pytest.mark.parametrize(("name", "setting"), DRAWN)


def _draw(name: str, setting: str, seed: int, count: int, max_steps: int = 30) -> Any:
    draw = BUILT_IN[name].draw
    assert draw is not None
    return jax.tree.map(np.asarray, draw(setting, seed, count, max_steps))


@cache
def _drawn(name: str, setting: str) -> Any:
    return _draw(name, setting, 5, MANY)


@cache
def _published(name: str, setting: str) -> Any:
    known: Domain = BUILT_IN[name]
    return jax.tree.map(np.asarray, known.world(known.instances(setting, 5, MANY), 1))


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(GRIDS), st.integers(0, 2**32 - 1))
def test_every_grid_keeps_the_rules(setting: str, seed: int) -> None:
    world = _draw("craftworld", setting, seed, 64)
    published = craftworld.instance(setting, 0)
    doorways = [(2, 5), (2, 6), (2, 7), (9, 6), (9, 7), (9, 8), (5, 3), (6, 3), (7, 3), (5, 10), (6, 10), (7, 10)]
    for things, (x, y, direction) in zip(world.things, world.start, strict=True):
        assert np.array_equal(things == Thing.WALL, published.things == Thing.WALL)
        assert things[x, y] == Thing.EMPTY
        assert direction in range(4)
        for thing in OBJECTS:
            assert (things == thing).sum() in ((1, 2) if setting in ("fr", "frl") else (1,))
        assert (things == Thing.LAVA).sum() == {"op": 0, "opl": 1, "fr": 0, "frl": 4}[setting]
        if setting == "frl":
            assert np.array_equal(things == Thing.LAVA, published.things == Thing.LAVA)
        if setting in ("fr", "frl"):
            assert all(things[cell] == Thing.EMPTY and cell != (x, y) for cell in doorways)


@every_drawn
def test_worlds_are_like_those_that_are_built(name: str, setting: str) -> None:
    """The same leaves, types and shapes, with the instances along the first axis."""
    built = scenario(name, setting, instances=3, max_steps=30).world
    for ours, theirs in zip(_draw(name, setting, 1, 3), built, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        assert len(ours) == 3


@pytest.mark.parametrize("setting", GRIDS)
def test_the_scenery_is_that_of_the_same_grid_built_by_hand(setting: str) -> None:
    world = _draw("craftworld", setting, 3, 20)
    grids = [
        craftworld.CraftInstance(craftworld.CraftSetting(setting), 0, things, *map(int, start))
        for things, start in zip(world.things, world.start, strict=True)
    ]
    for ours, theirs in zip(world, craftworld.build_world(grids), strict=True):
        assert np.array_equal(ours, np.asarray(theirs))


@every_drawn
def test_equal_seeds_give_equal_worlds_and_fewer_are_the_first_of_many(name: str, setting: str) -> None:
    first, again, fewer, other = (_draw(name, setting, *which) for which in ((7, 9), (7, 9), (7, 4), (8, 9)))
    for leaf in range(len(first)):
        assert np.array_equal(first[leaf], again[leaf])
        assert np.array_equal(first[leaf][:4], fewer[leaf])
        assert not any(np.array_equal(a, b) for a, b in zip(first[0], other[0], strict=True))
    assert len(np.unique(first[0].reshape(9, -1), axis=0)) == 9


def test_the_last_block_of_boxes_is_drawn_like_the_others() -> None:
    """300 boxes are no multiple of a block."""
    many, few = _draw("waterworld", "wod", 2, 300, 5), _draw("waterworld", "wod", 2, 20, 5)
    assert np.array_equal(many.balls[:20], few.balls)
    assert len(np.unique(many.balls.reshape(300, -1), axis=0)) == 300


def test_seeds_out_of_range_are_refused() -> None:
    for name, setting in DRAWN:
        for seed in (-1, 2**32):
            with pytest.raises(RewardMachineError, match="seeds between 0 and 4,294,967,295"):
                _draw(name, setting, seed, 1)


def _alike(ours: Any, theirs: Any) -> None:
    """Whether two samples of a discrete quantity can come from one distribution."""
    values, which = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    counts = np.stack([np.bincount(part, minlength=len(values)) for part in np.split(which, [len(ours)])])
    seldom = counts.sum(axis=0) < 20  # too few for the test, so that these values are counted together
    if seldom.any():
        counts = np.column_stack([counts[:, ~seldom], counts[:, seldom].sum(axis=1)])
    assert chi2_contingency(counts).pvalue > UNLIKELY


def _cells(world: Any, thing: Thing) -> Any:
    """The first cell of the thing in each grid, as one number."""
    flat = (world.things == thing).reshape(len(world.things), -1)
    return flat.argmax(axis=1)


def _steps(size: int, some: Any, others: Any) -> Any:
    """How many steps there are from cell to cell, walls aside."""
    return np.abs(some // size - others // size) + np.abs(some % size - others % size)


@pytest.mark.parametrize("setting", GRIDS)
def test_grids_are_as_likely_as_published_ones(setting: str) -> None:
    ours, theirs = _drawn("craftworld", setting), _published("craftworld", setting)
    size = ours.things.shape[-1]
    start = [world.start[:, 0] * size + world.start[:, 1] for world in (ours, theirs)]
    _alike(*start)
    _alike(ours.start[:, 2], theirs.start[:, 2])
    seen = (Thing.IRON, Thing.WORKBENCH, Thing.LAVA) if setting == "opl" else (Thing.IRON, Thing.WORKBENCH)
    for thing in seen:
        _alike(*(_cells(world, thing) for world in (ours, theirs)))
        _alike(*((world.things == thing).sum(axis=(1, 2)) for world in (ours, theirs)))
        # How things lie to each other and to the start.
        _alike(*(_steps(size, _cells(world, thing), _cells(world, Thing.COW)) for world in (ours, theirs)))
        _alike(*(_steps(size, _cells(world, thing), cells) for world, cells in zip((ours, theirs), start, strict=True)))
    _alike(*((world.things >= Thing.IRON).sum(axis=(1, 2)) for world in (ours, theirs)))


@pytest.mark.parametrize("setting", GRIDS)
def test_every_free_cell_is_used_and_equally_often(setting: str) -> None:
    world = _drawn("craftworld", setting)
    occupied = (world.things >= Thing.IRON).mean(axis=0)
    often = occupied[occupied > 0]
    allowed = (_published("craftworld", setting).things >= Thing.IRON).any(axis=0)
    assert np.array_equal(occupied > 0, allowed)
    # Of 2,000 grids, frequencies are off by four or five standard deviations at most.
    assert np.abs(often - often.mean()).max() < 4.5 * np.sqrt(often.mean() * (1 - often.mean()) / MANY)


@pytest.mark.parametrize("setting", BOXES)
def test_balls_start_apart_and_keep_their_speed(setting: str) -> None:
    world = _drawn("waterworld", setting)
    centres = world.balls[:, 0, :, :2].astype(float)
    # As near as allowed, and of so many some are very near.
    assert 60 - 1e-4 < np.linalg.norm(centres - world.start[:, None], axis=-1).min() < 60.2
    gaps = np.linalg.norm(centres[:, :, None] - centres[:, None], axis=-1) + 1000 * np.eye(centres.shape[1])
    assert 30 - 1e-4 <= gaps.min() < 30.1
    for position in (centres, world.start):
        assert position.min() >= 30
        assert position.max() <= 400
    assert np.allclose(np.linalg.norm(world.balls[..., 2:], axis=-1), BALL_SPEED, atol=1e-4)
    assert world.balls[:, 1:, :, :2].min() >= 15
    assert world.balls[:, 1:, :, :2].max() <= 385


@pytest.mark.parametrize("setting", BOXES)
def test_boxes_are_as_likely_as_published_ones(setting: str) -> None:
    ours, theirs = _drawn("waterworld", setting), _published("waterworld", setting)
    quantities: dict[str, Callable[[Any], Any]] = {
        "agent": lambda world: world.start[:, 0],
        "first ball": lambda world: world.balls[:, 0, 0, 1],
        "last ball": lambda world: world.balls[:, 0, -1, 0],
        "direction": lambda world: np.arctan2(world.balls[:, 0, 3, 2], world.balls[:, 0, 3, 3]),
        "first ball from agent": lambda world: np.linalg.norm(world.balls[:, 0, 0, :2] - world.start, axis=1),
        "last ball from agent": lambda world: np.linalg.norm(world.balls[:, 0, -1, :2] - world.start, axis=1),
        "last ball from the nearest": lambda world: np.linalg.norm(
            world.balls[:, 0, :-1, :2] - world.balls[:, 0, -1:, :2], axis=2
        ).min(axis=1),
    }
    for name, quantity in quantities.items():
        assert ks_2samp(quantity(ours), quantity(theirs)).pvalue > UNLIKELY, name


@pytest.mark.parametrize("setting", BOXES)
def test_paths_bounce_as_published(setting: str) -> None:
    world = _draw("waterworld", setting, 11, 8, 200)
    for balls, agent in zip(world.balls, world.start, strict=True):
        start = balls[0].astype(float)
        box = waterworld.WaterInstance(waterworld.WaterSetting(setting), 0, (float(agent[0]), float(agent[1])), start)
        assert np.allclose(ball_paths(box, 200), balls, atol=0.01)
