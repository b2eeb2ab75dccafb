"""Films show the world, the hierarchy with its present state lit, and a caption; they can be paused."""

from __future__ import annotations

import base64
import json
import re
import shutil
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import HierarchyState, initial_state, traverse
from rewardmachines.envs.filming import Caption, Film, Shot, check_film_path, save_film
from rewardmachines.envs.filming import hierarchy_view as views
from rewardmachines.envs.filming.caption import HEIGHT, draw_caption
from rewardmachines.envs.filming.hierarchy_view import hierarchy_view
from rewardmachines.library import task

Pixels = npt.NDArray[np.uint8]

BOOK, CAKE = task("craftworld", "book"), task("craftworld", "cake")
LIT = (255, 196, 46)
"""The colour of the present state, more or less."""


def label(*propositions: str) -> frozenset[str]:
    return frozenset(propositions)


def states(tree: Hierarchy, *labels: frozenset[str]) -> list[HierarchyState]:
    return list(traverse(tree, labels))


def lit(picture: Pixels) -> int:
    """The number of pixels that are about as bright an amber as the present state."""
    return int((np.abs(picture.astype(int) - LIT).max(axis=-1) < 12).sum())


def world(shade: int = 0) -> Pixels:
    return np.full((360, 300, 3), shade, np.uint8)


def film(tree: Hierarchy = BOOK, *labels: frozenset[str]) -> Film:
    seen = states(tree, *labels)
    shots = [
        Shot(lambda n=n: world(10 * n), state, Caption(tree.root, n, label()))  # type: ignore[misc]
        for n, state in enumerate(seen)
    ]
    return Film(tree, shots)


def test_frames_have_the_world_on_the_left_the_hierarchy_on_the_right_and_a_caption_below() -> None:
    first, second = film(BOOK, label("rabbit")).frames()
    assert first.shape == second.shape
    height, width, _ = first.shape
    assert height == 360 + HEIGHT
    assert width - 300 in views.WIDTHS
    assert (second[:360, :300] == 10).all()
    assert lit(first[:360, 300:]) > 200
    assert (first[:360, 300:] != second[:360, 300:]).any()


def test_a_low_world_has_room_below_it() -> None:
    flat = Film(BOOK, [Shot(lambda: world()[:40], initial_state(BOOK), Caption("book", 0, label()))])
    (frame,) = flat.frames()
    assert frame.shape[0] == 320 + HEIGHT
    assert (frame[41:320, :300] == views.PAPER).all()


def test_small_hierarchies_are_shown_as_a_whole_in_no_more_room_than_they_need() -> None:
    small = task("craftworld", "bucket")
    view = hierarchy_view(small, [initial_state(small)], 400)
    assert isinstance(view, views.WholeHierarchy)
    assert view.at(initial_state(small)).shape == (400, 360, 3)
    wide = hierarchy_view(BOOK, [initial_state(BOOK)], 448)
    assert wide.at(initial_state(BOOK)).shape == (448, 600, 3)


def test_of_deep_hierarchies_the_machines_on_the_call_stack_are_shown() -> None:
    start, within = states(CAKE, label("wheat"))
    view = hierarchy_view(CAKE, [start, within], 448)
    assert isinstance(view, views.StackOfMachines)
    assert len(within.stack) == 1
    alone, both = view.at(start), view.at(within)
    assert alone.shape == both.shape
    below = slice(140, 448)
    assert len(np.unique(alone[below].reshape(-1, 3), axis=0)) == 1, "there is the root alone"
    assert lit(alone[:120]) > 200
    assert lit(both[:120]) < lit(alone[:120]) / 4, "a caller that waits is in a weaker tint"
    assert lit(both[below]) > 200


def test_equal_states_are_drawn_once() -> None:
    view = hierarchy_view(BOOK, [initial_state(BOOK)], 400)
    assert view.at(initial_state(BOOK)) is view.at(initial_state(BOOK))


def test_what_is_too_large_to_be_drawn_is_told_in_words() -> None:
    edges = [(f"u{n}", f"u{n + 1}", "a") for n in range(500)]
    huge = hierarchy(machine("huge", [*edges, ("u500", "uA", "b")]))
    view = hierarchy_view(huge, [initial_state(huge)], 400)
    assert isinstance(view, views.StateText)
    one, other = view.at(HierarchyState("huge", "u0")), view.at(HierarchyState("huge", "u77"))
    assert one.shape == (400, 360, 3)
    assert (one != other).any()


@pytest.mark.parametrize(
    "change",
    [
        {"step": 7},
        {"label": label("iron")},
        {"reward": 1.0},
        {"pursued": ("bucket: iron",)},
        {"end": "GOAL"},
        {"end": "out of steps"},
        {"task": "x" * 400},
        {"pursued": ("x" * 400,)},
        {"pursued": ("cake: call batter",) * 20},
    ],
)
def test_captions_tell_all_and_are_of_one_size(change: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"task": "book", "step": 3, "label": label()}
    before, after = draw_caption(Caption(**plain), 700), draw_caption(Caption(**(plain | change)), 700)
    assert before.shape == after.shape == (HEIGHT, 700, 3)
    assert (before != after).any()
    assert (after[2:, -8:] == 255).all(), "nothing reaches the edge"


def test_of_many_options_the_innermost_are_told() -> None:
    few, many = (
        draw_caption(Caption("cake", 0, label(), pursued=(*outer, "batter: wheat")), 700)
        for outer in (["…"], ["x" * 80] * 9)
    )
    assert (few == many).all()


# -- files


def read_player(path: Path) -> list[Pixels]:
    """The frames that the script of a page shows, one after the other."""
    found = re.search(r"const film = (.*);\n", path.read_text())
    assert found
    told = json.loads(found.group(1))
    canvas, frames = Image.new("RGBA", (told["width"], told["height"])), []
    for change in told["changes"]:
        if change is not None:
            data = base64.b64decode(change["image"].removeprefix("data:image/png;base64,"))
            patch = Image.open(BytesIO(data)).convert("RGBA")
            canvas.alpha_composite(patch, (change["x"], change["y"]))
        frames.append(np.asarray(canvas.convert("RGB")))
    return frames


@pytest.mark.parametrize("colours", [40, 400])
def test_a_page_plays_the_frames_that_were_drawn(tmp_path: Path, colours: int) -> None:
    generator = np.random.default_rng(colours)
    palette = generator.integers(0, 255, (colours, 3), np.uint8)
    first = palette[generator.integers(0, colours, (30, 50))]
    second = first.copy()
    second[3:7, 40:45] = palette[:1]
    drawn = [first, second, second, first]
    save_film(drawn, tmp_path / "film.html")
    frames = read_player(tmp_path / "film.html")
    assert len(frames) == 4
    for shown, wanted in zip(frames, drawn, strict=True):
        off = np.abs(shown.astype(int) - wanted)
        assert off.max() == 0 if colours < 256 else off.mean() < 6


def test_a_page_is_one_file_that_asks_for_no_other_and_names_do_no_harm(tmp_path: Path) -> None:
    save_film([world()], tmp_path / "film.html", title="</script><script>alert(1)</script>")
    page = (tmp_path / "film.html").read_text()
    assert page.count("<script") == 1
    assert "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert "http" not in page
    assert page.count("@") == page.count("@media")


def test_a_film_is_written_in_several_ways_at_once(tmp_path: Path) -> None:
    size = film(BOOK, label("rabbit")).save(tmp_path / "film.gif", tmp_path / "film.html")
    assert read_player(tmp_path / "film.html")[0].shape == (size[1], size[0], 3)
    with Image.open(tmp_path / "film.gif") as moving:
        assert moving.size == size
        assert getattr(moving, "n_frames", 1) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [("film.avi", "is no name of a film: end it in .gif, .html"), ("nowhere/film.gif", "there is no folder")],
)
def test_what_is_no_film_is_refused_before_it_is_made(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        check_film_path(tmp_path / name)


def test_a_video_without_ffmpeg_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(RewardMachineError, match=r"needs the extra 'video': .*\[video\]"):
        check_film_path(tmp_path / "film.mp4")


FAKE = """#!{python}
import sys
pixels = sys.stdin.buffer.read()
width, height = map(int, sys.argv[sys.argv.index("-s") + 1].split("x"))
if len(pixels) % (3 * width * height) or width % 2 or height % 2:
    sys.exit("these are no frames")
with open(sys.argv[-1], "w") as file:
    file.write(f"{{len(pixels) // (3 * width * height)}} frames")
"""


def test_a_video_is_what_ffmpeg_makes_of_the_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(FAKE.format(python=sys.executable))
    ffmpeg.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(ffmpeg))
    save_film([world()[:31, :51]] * 3, tmp_path / "film.webm")
    assert (tmp_path / "film.webm").read_text() == "15 frames"
    ffmpeg.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no such codec')\n")
    with pytest.raises(RewardMachineError, match="FFmpeg failed: no such codec"):
        save_film([world()], tmp_path / "film.mp4")
    assert not (tmp_path / "film.mp4").exists()
