"""Films as GIF: what was drawn can be read back, in few colours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageChops, ImageSequence

from envs.test_render import apart, grid
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld import render as craft
from rewardmachines.envs.craftworld.things import Thing
from rewardmachines.envs.filming.saving import save_gif

Pixels = npt.NDArray[np.uint8]


def walk() -> Iterator[Pixels]:
    things = grid()
    things[1:, 0] = [Thing.COW, Thing.WHEAT, Thing.SQUID, Thing.LAVA]
    for x in range(5):
        yield craft.render(things, x, 1, 0)


def test_an_animation_reads_back_frame_by_frame(tmp_path: Path) -> None:
    path = tmp_path / "walk.gif"
    save_gif(walk(), path, frames_per_second=5)
    with Image.open(path) as film:
        assert film.info["duration"] == 200
        assert film.info["loop"] == 0
        frames = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(film)]
    assert len(frames) == 5
    for read, drawn in zip(frames, walk(), strict=True):
        assert apart(read, drawn) < 2


def test_what_stands_still_does_not_flicker(tmp_path: Path) -> None:
    path = tmp_path / "walk.gif"
    save_gif(walk(), path)
    with Image.open(path) as film:
        frames = [frame.convert("RGB").crop((0, 0, 160, 32)) for frame in ImageSequence.Iterator(film)]
    for one, other in pairwise(frames):
        assert ImageChops.difference(one, other).getbbox() is None


@pytest.mark.parametrize("colours", [1, 100, 200])
def test_few_colours_are_kept_exactly(tmp_path: Path, colours: int) -> None:
    ramp = (np.arange(200) % colours).astype(np.uint8).reshape(10, 20)
    frame = np.stack([ramp, 255 - ramp, ramp // 2], axis=-1)
    save_gif([frame], tmp_path / "ramp.gif")
    with Image.open(tmp_path / "ramp.gif") as film:
        assert (np.asarray(film.convert("RGB")) == frame).all()


def test_an_animation_without_frames_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="at least one frame"):
        save_gif([], tmp_path / "none.gif")


def test_frames_of_two_sizes_are_refused_and_the_old_film_kept(tmp_path: Path) -> None:
    path = tmp_path / "film.gif"
    path.write_bytes(b"old")
    with pytest.raises(RewardMachineError, match="frame 1 is 30x10 pixels, but frame 0 is 20x10"):
        save_gif([np.zeros((10, 20, 3), np.uint8), np.zeros((10, 30, 3), np.uint8)], path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_film_that_cannot_be_renamed_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(OSError, match=r"folder\.gif"):
        save_gif(walk(), tmp_path / "folder.gif")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder.gif"]


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_an_animation_must_move(tmp_path: Path, speed: float) -> None:
    with pytest.raises(RewardMachineError, match="frames per second"):
        save_gif(walk(), tmp_path / "film.gif", frames_per_second=speed)
