"""Problems of the atlas collection: levels, tasks and labels, read as plainly as they are written."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from benchmarks.atlas import AtlasEnvironment, Problem
from xminigrid.core.constants import Colors, Tiles

import rewardmachines as rm
from rewardmachines.envs.xland.environment import XLandState, build_world

LEVEL = """
col_grid: |
  ########
  #.y..r.#
  #..b...#
  #...#b##
  #.r....#
  ########
obj_grid: |
  ########
  #.k..o.#
  #..s...#
  #.>.#x##
  #.k....#
  ########
obj_pocket: null
"""
TASK = """
root: m0
transitions:
  m0:
    u0:
      u1:
        edges:
          - {call: leaf, formula: [front_key, -front_key_red]}
          - {call: leaf, formula: [front_square]}
    u1:
      uA:
        edges:
          - {call: leaf, formula: [carrying_key_red]}
"""
WORDS = {Tiles.KEY: "key", Tiles.BALL: "ball", Tiles.SQUARE: "square"}
DOORS = {Tiles.DOOR_LOCKED: "locked", Tiles.DOOR_CLOSED: "closed", Tiles.DOOR_OPEN: "open"}
SHADES = {Colors.RED: "red", Colors.BLUE: "blue", Colors.YELLOW: "yellow"}
PROPOSITIONS = [
    *("front_key", "front_key_red", "front_ball_red", "front_square", "front_door", "front_door_blue_closed"),
    *("front_door_open", "carrying_key", "carrying_key_red", "carrying_ball", "carrying_square_blue"),
    *("next_key_square", "next_key_yellow_square_blue", "next_key_red_ball", "next_square_door_locked", "next_key_key"),
]
DIRECTIONS = [(-1, 0), (0, 1), (1, 0), (0, -1)]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "level.yaml").write_text(LEVEL)
    (tmp_path / "task.yaml").write_text(TASK)
    return Problem("small", tmp_path / "level.yaml", tmp_path / "task.yaml")


def names(tile: np.ndarray) -> set[str]:
    """All that a tile can be called."""
    kind, colour = int(tile[0]), SHADES.get(int(tile[1]), "")
    if kind in WORDS:
        return {WORDS[kind], f"{WORDS[kind]}_{colour}"}
    if kind in DOORS:
        return {f"door{shade}{state}" for shade in ("", f"_{colour}") for state in ("", f"_{DOORS[kind]}")}
    return set()


def plain_label(state: XLandState) -> set[str]:
    """What is ahead, what is carried, and what lies side by side among the five by five cells ahead."""
    grid, place, ahead = np.asarray(state.grid), np.asarray(state.position), np.array(DIRECTIONS[int(state.direction)])
    aside = np.array(DIRECTIONS[(int(state.direction) + 1) % 4])
    seen = [place + i * ahead + j * aside for i in range(5) for j in range(-2, 3) if (i, j) != (0, 0)]
    cells = [tuple(cell) for cell in seen if (cell >= 0).all() and (cell < grid.shape[:2]).all()]
    pairs = [(one, other) for one in cells for other in cells if abs(np.subtract(one, other)).sum() == 1]
    return {
        *(f"front_{name}" for name in names(grid[tuple(place + ahead)])),
        *(f"carrying_{name}" for name in names(np.asarray(state.pocket))),
        *(f"next_{a}_{b}" for one, other in pairs for a in names(grid[one]) for b in names(grid[other])),
    }


def test_labels_are_those_of_a_plain_reading(problem: Problem) -> None:
    pairs = tuple((name, name) for name in PROPOSITIONS)
    environment = AtlasEnvironment("small", pairs, size=(6, 8), shown_colours=(1,))
    world, chance, seen = build_world([problem.instance]), np.random.default_rng(0), set[str]()
    label = jax.jit(lambda state: environment.label(world, state))
    step = jax.jit(lambda state, action: environment.step(world, state, action))
    state = environment.reset(world, 0)
    for number in range(1500):
        state = environment.reset(world, 0) if number % 500 == 0 else step(state, int(chance.integers(6)))
        shown = set(environment.bits.decode(np.asarray(label(state))))
        assert shown == plain_label(state) & set(PROPOSITIONS)
        seen |= shown
    assert {name.partition("_")[0] for name in seen} == {"front", "carrying", "next"}


def test_several_edges_are_disjuncts_and_a_dash_forbids(problem: Problem) -> None:
    first = {"from": "u0", "to": "u1", "when": "front_key & !front_key_red | front_square"}
    then = {"from": "u1", "to": "uA", "when": "carrying_key_red"}
    same = rm.loads(json.dumps({"machines": {"m0": {"edges": [first, then]}}}))
    assert rm.equivalent(problem.hierarchy, same)


def test_other_beginnings_are_cells_that_the_agent_can_walk_to(problem: Problem) -> None:
    beginnings = [problem.with_moved_agent(seed) for seed in range(50)]
    assert len({tuple(begun.position) for begun in beginnings}) > 10
    for begun in beginnings:
        assert problem.instance.grid[tuple(begun.position)][0] == Tiles.FLOOR
        np.testing.assert_array_equal(begun.grid, problem.instance.grid)
