"""The office world and the craft world: maps, rules and tasks are the published ones, however they are compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardmachines as rm
from cli.commands import Hrm
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import ScenarioEnv
from rewardmachines.envs.classic.domain import CRAFT_MAPS
from rewardmachines.envs.classic.maps import ClassicMap, classic_map
from rewardmachines.envs.classic.render import render
from rewardmachines.envs.pictures import text as picture_as_text
from rewardmachines.envs.registry import CLASSIC, domain, domain_of
from rewardmachines.envs.scenarios import scenario
from rewardmachines.library import CLASSICS, find, task_set

PLACES = [(name, setting) for name, known in CLASSIC.items() for setting in known.settings]
every_place = pytest.mark.parametrize(("name", "setting"), PLACES)
UP, RIGHT, DOWN, LEFT = range(4)
STEPS = 3000

OFFICE: Final = {
    (1, 1): "a", (1, 7): "b", (10, 7): "c", (10, 1): "d", (7, 4): "mail", (8, 2): "coffee", (3, 6): "coffee",
    (4, 4): "office", (4, 1): "decoration", (7, 1): "decoration", (4, 7): "decoration", (7, 7): "decoration",
    (1, 4): "decoration", (10, 4): "decoration",
}  # fmt: skip
"""The published places in the office, counted from the left and from below."""
CRAFT: Final = {
    0: {(5, 13): "axe", (38, 14): "factory", (39, 10): "wood", (36, 1): "wood", (25, 27): "toolshed"},
    1: {(1, 29): "iron", (8, 32): "factory", (29, 31): "toolshed", (29, 32): "grass", (38, 7): "grass"},
    4: {(2, 17): "iron", (6, 39): "wood", (20, 1): "bridge", (31, 10): "factory", (36, 19): "factory"},
    5: {(1, 1): "grass", (11, 10): "axe", (11, 11): "wood", (24, 31): "workbench", (37, 16): "grass"},
    8: {(2, 18): "wood", (10, 39): "axe", (14, 38): "bridge", (25, 9): "workbench", (37, 13): "wood"},
    10: {(3, 27): "wood", (9, 39): "grass", (37, 1): "factory", (37, 3): "toolshed", (38, 1): "wood"},
}
"""Some published places in each map of the craft world, by row and column, the outer wall being row and column 0."""


def grid_of(name: str, setting: str) -> ClassicMap:
    return classic_map(setting, task_set(name).all_propositions(dead_ends=True))


def places(grid: ClassicMap) -> dict[tuple[int, int], str]:
    """What is where, by published coordinates."""
    cells = [(int(x), int(y)) for x, y in np.argwhere(grid.things)]
    found = {tuple(map(int, grid.coordinates[cell])): grid.propositions[grid.things[cell] - 1] for cell in cells}
    return {(a, b): thing for (a, b), thing in found.items()}


class Walker:
    """A plain reference: a position in published coordinates, and walls as the published rules put them into words."""

    def __init__(self, name: str, grid: ClassicMap) -> None:
        self.name = name
        self.things = OFFICE if name == "office" else places(grid)
        self.reset()

    def reset(self) -> None:
        self.at = (2, 1) if self.name == "office" else (20, 20)

    def step(self, action: int) -> None:
        a, b = self.at
        if self.name == "office":
            right, up = {UP: (0, 1), RIGHT: (1, 0), DOWN: (0, -1), LEFT: (-1, 0)}[action]
            if self.passes_in_office(a, b, right, up):
                self.at = a + right, b + up
        else:
            down, right = {UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0), LEFT: (0, -1)}[action]
            if 1 <= a + down <= 39 and 1 <= b + right <= 39:
                self.at = a + down, b + right

    @staticmethod
    def passes_in_office(x: int, y: int, right: int, up: int) -> bool:
        """Rooms have three by three cells. Those beside each other are joined in their middle rows, but not in the
        middle of the three storeys; those above each other in their middle columns, below only at both ends."""
        if not (0 <= x + right < 12 and 0 <= y + up < 9):
            return False
        if (x + right) // 3 != x // 3:
            return y in (1, 7)
        if (y + up) // 3 != y // 3:
            return x in ((1, 4, 7, 10) if max(y, y + up) == 6 else (1, 10))
        return True

    @property
    def label(self) -> set[str]:
        return {self.things[self.at]} if self.at in self.things else set()


def test_the_office_is_the_published_one() -> None:
    grid = grid_of("office", "office")
    assert (grid.size, places(grid)) == ((12, 9), OFFICE)
    assert tuple(grid.coordinates[grid.start]) == (2, 1)


@pytest.mark.parametrize("number", CRAFT_MAPS)
def test_the_maps_of_the_craft_world_are_the_published_ones(number: int) -> None:
    grid = grid_of("craft", f"m{number}")
    assert grid.size == (39, 39)
    assert tuple(grid.coordinates[grid.start]) == (20, 20)
    found = places(grid)
    assert Counter(found.values()) == {
        "wood": 5, "toolshed": 2, "workbench": 2, "grass": 5, "factory": 2, "iron": 5, "bridge": 2, "axe": 2,
    }  # fmt: skip
    assert CRAFT[number].items() <= found.items()


@every_place
def test_compiled_steps_are_those_of_a_plain_walker(name: str, setting: str) -> None:
    place = scenario(name, setting, instances=2)
    environment, world = place.environment, place.world
    actions = np.random.default_rng(5).integers(4, size=STEPS)

    def follow(state: Any, action: Any) -> Any:
        after = environment.step(world, state, action)
        return after, (environment.observe(world, after), environment.label(world, after))

    _, (seen, labels) = jax.jit(lambda: jax.lax.scan(follow, environment.reset(world, 1), jnp.asarray(actions)))()
    walker = Walker(name, grid_of(name, setting))
    for number, action in enumerate(actions):
        walker.step(int(action))
        assert tuple(seen[number]) == walker.at
        assert environment.bits.decode(np.asarray(labels[number])) == walker.label
    assert len({tuple(at) for at in np.asarray(seen)}) > 50, "the walk went somewhere"


@every_place
@pytest.mark.parametrize("observation", ["published", "one-hot", "axes"])
def test_every_cell_is_observed_as_another_one_and_remembered(name: str, setting: str, observation: str) -> None:
    place = scenario(name, setting, instances=1, observation=observation)
    environment, world = place.environment, place.world
    width, height = grid_of(name, setting).size
    cells = jnp.stack(jnp.meshgrid(jnp.arange(width), jnp.arange(height), indexing="ij"), -1).reshape(-1, 2)

    def both(cell: Any) -> Any:
        state = environment.reset(world, 0)._replace(x=cell[0], y=cell[1])
        return environment.observe(world, state), environment.recall(world, environment.remember(state))

    seen, recalled = jax.vmap(both)(cells)
    assert np.array_equal(seen, recalled)
    assert seen.shape == (width * height, *environment.observation_shape)
    low, high = environment.observation_bounds
    assert low <= float(seen.min()) < float(seen.max()) <= high
    assert len(np.unique(np.asarray(seen), axis=0)) == width * height


def test_another_observation_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="one of published, one-hot, axes, not 'egocentric'"):
        domain("office").environment("office", "egocentric")


Edges = Mapping[int, Mapping[str, int]]
"""A reference machine: targets by state and proposition; where there is none, it stays. It ends in state -1."""
_BOTH: Final = {0: {"1": 1, "2": 2}, 1: {"2": 3}, 2: {"1": 3}}
MACHINES: Final[Mapping[str, tuple[Edges, tuple[str, ...]]]] = {
    "office/deliver-coffee": ({0: {"1": 1}, 1: {"2": -1}}, ("coffee", "office")),
    "office/deliver-mail": ({0: {"1": 1}, 1: {"2": -1}}, ("mail", "office")),
    "office/patrol": ({0: {"1": 1}, 1: {"2": 2}, 2: {"3": 3}, 3: {"4": -1}}, ("a", "b", "c", "d")),
    "office/deliver-both": ({**_BOTH, 3: {"3": -1}}, ("mail", "coffee", "office")),
    "craft/make-plank": ({0: {"1": 1}, 1: {"2": -1}}, ("wood", "toolshed")),
    "craft/make-stick": ({0: {"1": 1}, 1: {"2": -1}}, ("wood", "workbench")),
    "craft/make-cloth": ({0: {"1": 1}, 1: {"2": -1}}, ("grass", "factory")),
    "craft/make-rope": ({0: {"1": 1}, 1: {"2": -1}}, ("grass", "toolshed")),
    "craft/make-bridge": ({**_BOTH, 3: {"3": -1}}, ("iron", "wood", "factory")),
    "craft/make-bed": (
        {0: {"1": 1, "3": 4}, 1: {"2": 3, "3": 5}, 3: {"3": 6}, 4: {"1": 5}, 5: {"2": 6}, 6: {"4": -1}},
        ("wood", "toolshed", "grass", "workbench"),
    ),
    "craft/make-axe": (
        {0: {"1": 1, "3": 4}, 1: {"2": 3, "3": 5}, 3: {"3": 6}, 4: {"1": 5}, 5: {"2": 6}, 6: {"4": -1}},
        ("wood", "workbench", "iron", "toolshed"),
    ),
    "craft/make-shears": ({**_BOTH, 3: {"3": -1}}, ("wood", "iron", "workbench")),
    "craft/get-gold": ({**_BOTH, 3: {"3": 4}, 4: {"4": -1}}, ("iron", "wood", "factory", "bridge")),
    "craft/get-gem": (
        {0: {"1": 1, "3": 4}, 1: {"2": 3, "3": 5}, 3: {"3": 6}, 4: {"1": 5}, 5: {"2": 6}, 6: {"4": 7}, 7: {"5": -1}},
        ("wood", "workbench", "iron", "toolshed", "axe"),
    ),
}
"""The published machines, with their propositions by number."""


def published_verdict(name: str, labels: Iterable[str]) -> str:
    edges, propositions = MACHINES[name]
    state = 0
    for label in labels:
        if label == "decoration":
            return "reject"
        number = str(propositions.index(label) + 1) if label in propositions else ""
        state = edges[state].get(number, state)
        if state == -1:
            return "accept"
    return "neither"


def our_verdict(name: str, labels: Iterable[str]) -> str:
    known = f"{name}+decoration" if name.startswith("office") else name
    return rm.verdict(find(known), [{label} - {""} for label in labels]).value


def test_all_published_tasks_are_there() -> None:
    assert {f"{name}/{task}" for name in CLASSICS for task in task_set(name).tasks} == MACHINES.keys()


@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=200)
@given(data=st.data())
def test_tasks_have_the_verdicts_of_the_published_machines(name: str, data: st.DataObject) -> None:
    known = task_set(name.partition("/")[0])
    every = ["", *MACHINES[name][1] * 3, *known.all_propositions(dead_ends=True)]
    labels = data.draw(st.lists(st.sampled_from(every), max_size=16))
    assert our_verdict(name, labels) == published_verdict(name, labels)


@pytest.mark.parametrize(
    ("name", "labels", "verdict"),
    [
        ("office/deliver-coffee", "coffee - office", "accept"),
        ("office/deliver-coffee", "office mail coffee decoration", "reject"),
        ("office/deliver-mail", "mail coffee - office", "accept"),
        ("office/patrol", "a b d c - d", "accept"),
        ("office/patrol", "b a c d", "neither"),
        ("office/deliver-both", "coffee office mail - office", "accept"),
        ("office/deliver-both", "mail coffee decoration office", "reject"),
        ("craft/make-shears", "iron workbench wood workbench", "accept"),
        ("craft/make-bed", "wood grass toolshed workbench", "accept"),
        ("craft/make-bed", "wood toolshed workbench grass", "neither"),
        ("craft/get-gold", "wood iron factory bridge", "accept"),
        ("craft/get-gem", "wood iron workbench toolshed axe", "accept"),
        ("craft/get-gem", "iron wood workbench axe toolshed", "neither"),
    ],
)
def test_traces_by_hand(name: str, labels: str, verdict: str) -> None:
    trace = [label.replace("-", "") for label in labels.split(" ")]
    assert our_verdict(name, trace) == published_verdict(name, trace) == verdict


def test_craft_tasks_call_each_other() -> None:
    assert [find(f"craft/{name}").height for name in ("make-plank", "make-bed", "get-gold", "get-gem")] == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("name", "setting", "targets", "steps"),
    [
        ("office", "office", ("coffee", "office"), 31),
        ("office", "office", ("a", "b", "c", "d"), 30),
        ("craft", "m1", ("wood", "toolshed"), 34),
    ],
)
def test_the_guide_goes_to_the_nearest_of_its_targets_around_decorations(
    name: str, setting: str, targets: tuple[str, ...], steps: int
) -> None:
    known, grid = domain(name), grid_of(name, setting)
    assert known.guide is not None
    ways, walker, taken = known.guide.ways(grid), Walker(name, grid), 0
    for target in targets:
        while target not in walker.label:
            x, y = np.argwhere((grid.coordinates == walker.at).all(-1))[0]
            walker.step(int(ways[known.task_set.propositions.index(target), x, y]))
            taken += 1
            assert "decoration" not in walker.label
            assert taken < 500
    assert taken == steps


def test_they_are_known_to_gymnasium() -> None:
    env = gymnasium.make("rewardmachines/Office-v0", task="deliver-coffee", render_mode="rgb_array")
    env.reset(seed=0)
    assert np.asarray(env.render()).shape[2] == 3
    assert isinstance(env.unwrapped, ScenarioEnv)
    for action in (UP, UP, RIGHT):
        _, _, terminated, _, _ = env.step(action)
    assert not terminated
    for number in CRAFT_MAPS:
        assert gymnasium.make(f"rewardmachines/Craft-M{number}-v0", task="get-gem").reset(seed=0)[0].shape == (2,)


@every_place
def test_pictures_and_text_show_every_thing(name: str, setting: str) -> None:
    grid = grid_of(name, setting)
    x, y = grid.start
    pixels, width = render(grid, x, y, 400), grid.size[0]
    assert pixels.dtype == np.uint8
    assert 300 <= pixels.shape[1] <= 400
    tile = pixels.shape[1] // width
    for cell in np.argwhere(grid.things):
        left, top = cell * tile
        assert len(np.unique(pixels[top : top + tile, left : left + tile].reshape(-1, 3), axis=0)) > 3
    with pytest.raises(RewardMachineError, match="outside the map"):
        render(grid, -1, 0)
    place = scenario(name, setting, instances=1)
    shown = picture_as_text(place, place.environment.reset(place.world, 0), colour=False)
    signs = Counter(shown) - Counter(" ")
    assert signs["@"] == 1
    assert {sign: signs[sign] for sign in grid.signs} == {
        sign: Counter(places(grid).values())[thing] for sign, thing in grid.signs.items()
    }


@every_place
@pytest.mark.parametrize("agent", ["hrl", "flat-hrl", "crm"])
@pytest.mark.parametrize("chosen", Preset)
def test_agents_see_what_the_world_can_show(name: str, setting: str, agent: str, chosen: Preset) -> None:
    config = preset(chosen, name, setting, agent)
    assert config.observation == ("one-hot" if name == "office" else "axes")
    assert len(domain(name).environment(setting, config.observation).observation_shape) == 1


def test_settings_name_their_domain_and_commands_know_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert (domain_of("office"), domain_of("M10")) == ("office", "craft")
    hrm = Hrm(capsys)
    assert hrm("play", "office", "--task", "patrol", "--random", "--steps", 5) == 0
    assert hrm("traces", "craft", "--task", "get-gem", "--walker", "guided", "--episodes", 2, "-o", tmp_path / "t") == 0
    assert hrm("draw", "craft/get-gem", "-o", tmp_path / "gem.svg") == 0
    assert hrm("settings", "office") == 0
    assert "one-hot" in hrm.out
