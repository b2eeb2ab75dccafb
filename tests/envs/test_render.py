from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld import render as craft
from rewardmachines.envs.craftworld.icons import DRAWINGS, icon
from rewardmachines.envs.craftworld.things import OBJECTS, Thing, proposition
from rewardmachines.envs.waterworld import render as water

Pixels = npt.NDArray[np.uint8]

THINGS = sorted(DRAWINGS)
NUMBERS = [1, 2, 9, *range(11, 21)]
COLOURS = ["red", "green", "blue", "cyan", "magenta", "yellow", "black"]
FAR = (385.0, 385.0)
STILL = (0.0, 0.0)


def grid(width: int = 5, height: int = 3) -> npt.NDArray[np.int64]:
    return np.full((width, height), 1)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def apart(one: Pixels, other: Pixels) -> float:
    """The mean difference of two pictures, in shades."""
    return float(np.abs(one.astype(int) - other).mean())


def cell(picture: Pixels, x: int, y: int, tile: int) -> Pixels:
    return picture[y * tile : (y + 1) * tile, x * tile : (x + 1) * tile]


# CraftWorld


def test_every_published_number_has_a_tile() -> None:
    assert [int(thing) for thing in THINGS] == NUMBERS


@pytest.mark.parametrize("tile", [8, 32, 64])
def test_a_picture_is_as_many_tiles_high_and_wide_as_the_grid(tile: int) -> None:
    picture = craft.render(grid(5, 3), 0, 0, 0, tile=tile)
    assert picture.shape == (3 * tile, 5 * tile, 3)
    assert picture.dtype == np.uint8


@pytest.mark.parametrize("tile", [16, 32, 64])
def test_every_two_tiles_can_be_told_apart(tile: int) -> None:
    for one, other in combinations(THINGS, 2):
        assert apart(icon(one, tile), icon(other, tile)) > 8, (one, other)


def test_things_are_drawn_at_their_column_and_row() -> None:
    things = grid()
    things[3, 2] = Thing.COW
    picture = craft.render(things, 0, 0, 0)
    for x, y in np.ndindex(5, 3):
        if (x, y) != (0, 0):
            expected = Thing.COW if (x, y) == (3, 2) else Thing.EMPTY
            assert (cell(picture, x, y, 32) == icon(expected, 32)).all()


def test_icons_are_anti_aliased() -> None:
    for thing in OBJECTS:
        assert len(np.unique(icon(thing, 32).reshape(-1, 3), axis=0)) > 40, thing


def test_drawing_does_not_spoil_the_icons_of_later_pictures() -> None:
    before = icon(Thing.EMPTY, 32).copy()
    picture = craft.render(grid(), 2, 1, 0)
    picture[:] = 0
    assert (icon(Thing.EMPTY, 32) == before).all()


def test_every_direction_is_another_picture() -> None:
    pictures = [craft.render(grid(), 2, 1, direction) for direction in range(4)]
    for one, other in combinations(pictures, 2):
        assert apart(one, other) > 0.5


@pytest.mark.parametrize("direction", range(4))
def test_the_tip_of_the_triangle_points_in_its_direction(direction: int) -> None:
    tile = craft.render(grid(1, 1), 0, 0, direction, tile=64).astype(int)
    red = (tile[..., 0] > 200) & (tile[..., 1] < 90)
    rows, columns = np.nonzero(red)
    heavy = np.array([columns.mean(), rows.mean()])  # the centre of mass lies away from the tip
    middle = np.array([columns.min() + columns.max(), rows.min() + rows.max()]) / 2
    ahead = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)][direction])
    assert (middle - heavy) @ ahead > 3


@pytest.mark.parametrize("thing", [*OBJECTS, Thing.LAVA], ids=proposition)
def test_the_agent_is_seen_and_leaves_most_of_what_it_stands_on(thing: Thing) -> None:
    things = grid(1, 1)
    things[0, 0] = thing
    picture = craft.render(things, 0, 0, 3, tile=64)
    drawn = (icon(thing, 64) != icon(Thing.EMPTY, 64)).any(axis=-1)
    kept = (picture == icon(thing, 64)).all(axis=-1)
    assert (kept & drawn).sum() > 0.45 * drawn.sum()
    assert (~kept).sum() > 0.1 * kept.size


@pytest.mark.parametrize(
    ("number", "x", "y", "direction", "complaint"),
    [(10, 0, 0, 0, "thing 10"), (1, 5, 0, 0, "column 5"), (1, 0, -1, 0, "row -1"), (1, 0, 0, 4, "direction 4")],
)
def test_what_cannot_be_drawn_is_refused(number: int, x: int, y: int, direction: int, complaint: str) -> None:
    things = grid()
    things[1, 1] = number
    with pytest.raises(RewardMachineError, match=complaint):
        craft.render(things, x, y, direction)
    with pytest.raises(RewardMachineError, match=complaint):
        craft.render_text(things, x, y, direction)


def test_text_has_two_characters_for_each_cell() -> None:
    things = np.resize(np.array(NUMBERS), (7, 4))
    for text in (craft.render_text(things, 3, 2, 1, colour=False), plain(craft.render_text(things, 3, 2, 1))):
        assert [len(line) for line in text.splitlines()] == [14] * 4


def test_text_shows_each_thing_as_the_legend_says() -> None:
    things = np.array(NUMBERS)[:, None]
    text = craft.render_text(things, 0, 0, 2, colour=False)
    symbols = [craft.LEGEND[proposition(Thing(number))] for number in NUMBERS[2:]]
    assert text == "◀ ██" + "".join(f"{symbol} " for symbol in symbols)


def test_the_legend_names_every_proposition_with_its_own_symbol() -> None:
    assert set(craft.LEGEND) == {proposition(thing) for thing in [*OBJECTS, Thing.LAVA]}
    assert len(set(craft.LEGEND.values())) == len(craft.LEGEND)


def test_the_agent_in_text_keeps_the_symbol_of_its_cell() -> None:
    things = grid(2, 1)
    things[1, 0] = Thing.SQUID
    assert craft.render_text(things, 1, 0, 3, colour=False) == "· ▲Q"


def test_colours_in_text_only_when_asked_for() -> None:
    assert "\x1b[" not in craft.render_text(grid(), 0, 0, 0, colour=False)
    assert "\x1b[" in craft.render_text(grid(), 0, 0, 0)


# WaterWorld


def balls(*centres: tuple[float, float]) -> npt.NDArray[np.float64]:
    return np.array(centres, float).reshape(-1, 2)


@pytest.mark.parametrize("size", [100, 400])
def test_the_box_is_a_square_picture(size: int) -> None:
    picture = water.render(FAR, STILL, balls((100, 100)), ["red"], size=size)
    assert picture.shape == (size, size, 3)
    assert picture.dtype == np.uint8


@pytest.mark.parametrize("colour", COLOURS)
def test_a_ball_has_its_colour_at_its_centre_and_y_grows_upwards(colour: str) -> None:
    picture = water.render(FAR, STILL, balls((100, 300)), [colour])
    assert tuple(picture[100, 100]) == water.COLOURS[colour]
    assert tuple(picture[300, 100]) == water.BACKGROUND


def test_a_ball_is_seen_as_far_as_its_radius() -> None:
    picture = water.render(FAR, STILL, balls((100, 300)), ["black"])
    assert picture[100, 100 + 13].max() < 60
    assert tuple(picture[100, 100 + 17]) == water.BACKGROUND


def test_every_colour_stands_out_from_the_water_and_from_the_others() -> None:
    shades = [np.array(shade) for shade in (*water.COLOURS.values(), water.BACKGROUND)]
    for one, other in combinations(shades, 2):
        assert np.abs(one - other).max() > 60


def test_only_balls_within_two_radii_wear_a_ring() -> None:
    def ringed(distance: float) -> bool:
        picture = water.render((200, 200), STILL, balls((200 - distance, 200)), ["blue"])
        return bool((picture == water.HIGHLIGHT).all(axis=-1).any())

    assert ringed(0)
    assert ringed(30)
    assert not ringed(30.5)


def test_the_agent_is_drawn_where_it_is() -> None:
    picture = water.render((50, 350), STILL, balls((300, 100)), ["red"])
    assert tuple(picture[50, 50]) == water.DARK
    assert picture[50 - 8, 50].min() > 245


@pytest.mark.parametrize(
    ("velocity", "row", "column"), [((90, 0), 200, 230), ((0, 90), 170, 200), ((0, -90), 230, 200)]
)
def test_the_arrow_points_where_the_agent_goes(velocity: tuple[float, float], row: int, column: int) -> None:
    moving = water.render((200, 200), velocity, balls(), [])
    still = water.render((200, 200), STILL, balls(), [])
    assert tuple(moving[row, column]) == water.DARK
    assert tuple(still[row, column]) == water.BACKGROUND


def test_balls_without_a_known_colour_are_refused() -> None:
    with pytest.raises(RewardMachineError, match="purple"):
        water.render(FAR, STILL, balls((1, 1)), ["purple"])
    with pytest.raises(RewardMachineError, match="2 colours"):
        water.render_text(FAR, balls((1, 1)), ["red", "red"])


def test_the_box_as_text_has_the_size_asked_for() -> None:
    for text in (
        water.render_text(FAR, balls((100, 300)), ["red"], columns=40, rows=20, colour=False),
        plain(water.render_text(FAR, balls((100, 300)), ["red"], columns=40, rows=20)),
    ):
        assert [len(line) for line in text.splitlines()] == [40] * 20


def test_text_puts_high_balls_in_the_first_lines_and_the_agent_over_them() -> None:
    lines = water.render_text((300, 50), balls((100, 350), (300, 50)), ["black", "red"], colour=False).splitlines()
    assert lines[3][15] == "k"
    assert 3 < sum(line.count("k") for line in lines[:6]) == sum(line.count("k") for line in lines)
    assert lines[26][45] == "@"
    assert not any("r" in line for line in lines)


def test_even_a_coarse_text_shows_every_ball() -> None:
    centres = balls(*((20 + 60 * i, 10 * i) for i in range(7)))
    text = water.render_text(FAR, centres, COLOURS, columns=10, rows=5, colour=False)
    assert set(water.LEGEND.values()) <= set(text)
