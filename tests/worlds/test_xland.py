"""XLand-MiniGrid in the compiled loop: its own dynamics, and labels as a plain reading of its grid gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xminigrid
from xminigrid.core.constants import Colors, Tiles

import rewardmachines as rm
from cli.commands import Hrm
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import scenario
from rewardmachines.envs.pictures import picture, text
from rewardmachines.envs.registry import domain
from rewardmachines.envs.xland.domain import XLAND, xland_domain
from rewardmachines.envs.xland.environment import XLandEnvironment, XLandInstance, XLandState, build_world
from rewardmachines.envs.xland.suite import COLOURS, KINDS, VOCABULARY

EVERYTHING = tuple((proposition, proposition) for proposition in VOCABULARY.propositions)
FIVE = XLAND.environment("r1", "").things  # type: ignore[attr-defined]
DOORS = {"DOOR_LOCKED": "locked", "DOOR_CLOSED": "closed", "DOOR_OPEN": "open"}
STEPS = 300


def name_of(numbers: Any, number: int) -> str:
    """The suite's name of a kind or colour."""
    return next(name for name in dir(numbers) if name.isupper() and getattr(numbers, name) == number)


def plain_label(state: XLandState) -> set[str]:
    """The facts of a state, cell by cell, in plain Python."""
    facts = set[tuple[str, str, str]]()

    def add(relation: str, tile: Any) -> None:
        kind, colour = name_of(Tiles, int(tile[0])), name_of(Colors, int(tile[1])).lower()
        if kind not in ("EMPTY", "FLOOR"):
            facts.add((colour, "door" if kind in DOORS else kind.lower(), relation))
        if relation == "anywhere" and kind in DOORS:
            facts.add((colour, "door", DOORS[kind]))

    grid = np.asarray(state.grid)
    row, column = (int(number) for number in state.position)
    down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[int(state.direction)]
    add("carried", state.pocket)
    add("here", grid[row, column])
    add("ahead", grid[row + down, column + right])
    for tile in grid.reshape(-1, 2):
        add("anywhere", tile)
    named = {(colour, kind, relation) for colour, kind, relation in facts if relation != "anywhere"}
    return {f"{kind}-{relation}" for _, kind, relation in named} | {"-".join(fact) for fact in named}


def walk(environment: XLandEnvironment, seed: int) -> tuple[XLandState, Any, np.ndarray[Any, np.dtype[np.int32]]]:
    """All states of a random walk, side by side, the labels, and the actions."""
    world = build_world([environment.instance(seed)])
    # Picking up and toggling are more frequent than walking into walls, so that something happens.
    actions = np.random.default_rng(seed).choice(6, STEPS, p=[0.4, 0.15, 0.1, 0.15, 0.05, 0.15]).astype(np.int32)

    def move(state: XLandState, action: Any) -> tuple[XLandState, XLandState]:
        after = environment.step(world, state, action)
        return after, after

    _, states = jax.jit(lambda state: jax.lax.scan(move, state, jnp.asarray(actions)))(environment.reset(world, 0))
    labels = jax.jit(jax.vmap(lambda state: environment.label(world, state)))(states)
    return jax.device_get(states), np.asarray(labels), actions


def their_states(identifier: str, begun: XLandInstance, actions: Any) -> Any:
    """The states that the suite's own `step` leads to, side by side."""
    environment, parameters = xminigrid.make(identifier)
    moment = environment.reset(parameters, jax.random.key(0))
    agent = moment.state.agent.replace(position=jnp.asarray(begun.position), direction=jnp.asarray(begun.direction))
    moment = moment.replace(state=moment.state.replace(grid=jnp.asarray(begun.grid), agent=agent))

    def move(moment: Any, action: Any) -> tuple[Any, Any]:
        after = environment.step(parameters, moment, action)
        kept = jax.tree.map(lambda new, old: jnp.asarray(new, jnp.asarray(old).dtype), after, moment)
        return kept, after.state

    return jax.device_get(jax.jit(lambda first: jax.lax.scan(move, first, jnp.asarray(actions)))(moment)[1])


@pytest.mark.parametrize(
    ("identifier", "things"),
    [
        ("XLand-MiniGrid-R1-9x9", FIVE),
        ("XLand-MiniGrid-R4-9x9", FIVE),
        ("MiniGrid-DoorKey-5x5", ()),
        ("MiniGrid-BlockedUnlockPickUp", ()),
    ],
)
def test_steps_and_labels_are_the_suites_own(identifier: str, things: tuple[str, ...]) -> None:
    environment = XLandEnvironment(identifier, EVERYTHING, things)
    seen = set[str]()
    for seed in (0, 1):
        states, labels, actions = walk(environment, seed)
        theirs = their_states(identifier, environment.instance(seed), actions)
        for number in range(STEPS):
            ours = XLandState(*(part[number] for part in states))
            np.testing.assert_array_equal(ours.grid, theirs.grid[number])
            np.testing.assert_array_equal(ours.position, theirs.agent.position[number])
            np.testing.assert_array_equal(ours.pocket, theirs.agent.pocket[number])
            assert ours.direction == theirs.agent.direction[number]
            label = environment.bits.decode(labels[number])
            assert label == plain_label(ours)
            seen |= label
    assert {name.rpartition("-")[2] for name in seen} >= {"ahead", "carried"}


def test_the_words_are_the_suites() -> None:
    assert {name.lower() for name in dir(Colors) if name.isupper()} - {"empty"} == set(COLOURS)
    kinds = {name for name in dir(Tiles) if name.isupper()}
    assert {name.lower() for name in kinds - DOORS.keys()} - {"empty", "floor"} | {"door"} == set(KINDS)


def test_observations_show_every_cell_and_what_is_carried() -> None:
    environment = scenario("xland", "r4").environment
    assert isinstance(environment, XLandEnvironment)
    states, _, _ = walk(environment, 3)
    kinds, colours = environment._shown_kinds, environment._shown_colours
    carried = 0
    for number in range(0, STEPS, 10):
        state = XLandState(*(part[number] for part in states))
        shown = np.asarray(environment.observe(None, state))  # type: ignore[arg-type]
        assert shown.shape == environment.observation_shape
        for row, column in np.ndindex(9, 9):
            tiles = [state.grid[row, column]]
            if here := (row, column) == tuple(state.position):
                tiles.append(state.pocket)
            expected = {kinds.index(tile[0]) for tile in tiles if tile[0] in kinds}
            expected |= {len(kinds) + colours.index(tile[1]) for tile in tiles if tile[1] in colours}
            expected |= {len(kinds) + len(colours) + int(state.direction)} if here else set()
            assert set(np.flatnonzero(shown[:, row, column])) == expected
        carried += bool(state.pocket.any())
    assert carried


def test_states_are_remembered_in_few_bytes() -> None:
    environment = scenario("xland", "r2").environment
    states, _, _ = walk(environment, 5)  # type: ignore[arg-type]
    remembered = jax.vmap(environment.remember)(jax.tree.map(jnp.asarray, states))
    assert sum(part[0].nbytes for part in jax.tree.leaves(remembered)) == 81 + 6
    recalled = jax.vmap(lambda memory: environment.recall(None, memory))(remembered)
    observed = jax.vmap(lambda state: environment.observe(None, state))(jax.tree.map(jnp.asarray, states))
    np.testing.assert_array_equal(recalled, observed)


def test_instances_are_the_suites_own_and_differ_by_seed() -> None:
    theirs, parameters = xminigrid.make("MiniGrid-DoorKey-8x8")
    environment = XLandEnvironment("MiniGrid-DoorKey-8x8", (("goal", "goal-here"),))
    grids = set()
    for seed in range(4):
        begun = theirs.reset(parameters, jax.random.key(seed)).state
        np.testing.assert_array_equal(environment.instance(seed).grid, begun.grid)
        np.testing.assert_array_equal(environment.instance(seed).position, begun.agent.position)
        grids.add(np.asarray(begun.grid).tobytes())
    assert len(grids) > 1


def test_it_is_found_by_name_and_drawn(tmp_path: Path) -> None:
    assert domain("xland") is XLAND
    place = scenario("xland", "r1")
    state = place.environment.reset(place.world, 0)
    assert picture(place, state, size=90).shape == (90, 90, 3)
    assert text(place, state, colour=False).count("☰") == 32
    env = gymnasium.make("rewardmachines/XLand-MiniGrid-R1-v0", task="tidy")
    assert env.reset(seed=0)[0].shape == (20, 9, 9)


def test_commands_act_in_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hrm, folder = Hrm(capsys), tmp_path / "run"
    sizes = ["--set", "environments=4", "--set", "replay_start=100", "--set", "replay_size=2000", "--set", "chunk=50"]
    assert hrm("play", "xland", "--setting", "r4", "--random", "--steps", 20) == 0
    short = ["--instances", 2, "--max-steps", 30, *sizes]
    assert hrm("train", "xland", "tidy", "--steps", 400, *short, "-o", folder) == 0
    place = rm.open_run(folder).config.domain
    assert place is not None
    assert place.domain == "xland"
    assert hrm("learn", "xland", "--quick", "--budget", 800, *short, "-o", tmp_path / "learn") in (0, 1)


@pytest.mark.parametrize(
    ("propositions", "is_one_at_a_time"),
    [
        (["red-ball-ahead", "blue-ball-ahead", "star-ahead"], True),
        (["key-carried", "ball-carried"], True),
        (["red-ball-ahead", "ball-ahead"], False),  # a red ball is both
        (["red-ball-ahead", "red-ball-carried"], False),
        (["door-open", "red-door-open"], False),
    ],
)
def test_labels_have_one_proposition_at_most_where_no_two_can_be_true(
    propositions: list[str], is_one_at_a_time: bool
) -> None:
    own = xland_domain("x", "X", settings={"a": "b"}, propositions=propositions, tasks={"t": propositions[0]})
    assert (own.labels() is not None) == is_one_at_a_time


def test_domains_of_ones_own() -> None:
    own = xland_domain(
        "doorkey",
        "DoorKey",
        settings={"5x5": "MiniGrid-DoorKey-5x5"},
        propositions={"key": "key-carried", "door": "door-open", "goal": "goal-here"},
        tasks={"leave": "key ; door ; goal"},
    )
    assert own.labels() is None
    assert own.environment("5x5", "").propositions == ("key", "door", "goal")
    with pytest.raises(RewardMachineError, match="no proposition 'red-ball-caried'; did you mean"):
        xland_domain("x", "X", settings={"a": "b"}, propositions=["red-ball-caried"], tasks={"t": "x"})
    with pytest.raises(RewardMachineError, match="no environment 'XLand-MiniGrid-R3-9x9'; did you mean"):
        XLandEnvironment("XLand-MiniGrid-R3-9x9", EVERYTHING).instance(0)
    with pytest.raises(RewardMachineError, match="has things of its own: leave out red-ball"):
        XLandEnvironment("MiniGrid-DoorKey-5x5", EVERYTHING, ("red-ball",)).instance(0)
    with pytest.raises(RewardMachineError, match="no 'red-wall' that lies about"):
        XLandEnvironment("XLand-MiniGrid-R1-9x9", EVERYTHING, ("red-wall",)).instance(0)
