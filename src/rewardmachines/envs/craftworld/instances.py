"""Grids from seeds, cell for cell those of the published environments.

The numbers come from NumPy's old generator, seeded through a hash as Gym 0.15 did; what is drawn in which order is part
of the format.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.things import OBJECTS, Thing

BASE_SEEDS: Final = (25101993, 25041996, 31121960, 20091953, 30422020)
"""The seeds of the first instances of the paper's five runs; the others of a run have the seeds from there on."""

INSTANCES: Final = 10


class CraftSetting(Enum):
    """Open plan or four rooms, without and with lava."""

    OP = "op"
    OPL = "opl"
    FR = "fr"
    FRL = "frl"

    @property
    def has_rooms(self) -> bool:
        return self in (CraftSetting.FR, CraftSetting.FRL)

    @property
    def has_lava(self) -> bool:
        return self in (CraftSetting.OPL, CraftSetting.FRL)

    @property
    def size(self) -> int:
        """Width and height of the grid in cells, walls included."""
        return 13 if self.has_rooms else 7


@dataclass(frozen=True)
class CraftInstance:
    """A grid, `things[x, y]`, and where the agent starts: 0 right, 1 down, 2 left, 3 up."""

    setting: CraftSetting
    seed: int
    things: np.ndarray[tuple[int, int], np.dtype[np.int8]]
    x: int
    y: int
    direction: int

    def cells(self, thing: Thing) -> list[tuple[int, int]]:
        """The cells that hold a kind of thing, row by row."""
        return sorted(((int(x), int(y)) for x, y in np.argwhere(self.things == thing)), key=lambda cell: cell[::-1])


def instance(setting: CraftSetting | str, seed: int) -> CraftInstance:
    """The instance of a seed.

    Raises:
        RewardMachineError: The seed is negative.
    """
    setting = CraftSetting(setting.lower()) if isinstance(setting, str) else setting
    if seed < 0:
        raise RewardMachineError(f"a seed cannot be negative, as {seed} is")
    random = _generator(seed)
    things = bare_grid(setting)
    blocked = _doorways(setting)
    start = _free_cell(random, things, blocked)
    direction = int(random.randint(0, 4))
    blocked |= {start}
    for thing in OBJECTS:
        for _ in range(int(random.randint(1, 3 if setting.has_rooms else 2))):
            things[_free_cell(random, things, blocked)] = thing
    if setting is CraftSetting.OPL:
        things[_free_cell(random, things, blocked)] = Thing.LAVA
    x, y = start
    return CraftInstance(setting=setting, seed=seed, things=things, x=x, y=y, direction=direction)


def instances(
    setting: CraftSetting | str, seed: int = BASE_SEEDS[0], count: int = INSTANCES
) -> tuple[CraftInstance, ...]:
    """The instances of a run: they have consecutive seeds."""
    return tuple(instance(setting, seed + i) for i in range(count))


_LEFT_WALL, _RIGHT_WALL, _MIDDLE_WALL = 6, 7, 6
_DOORS_IN_ROWS: Final = ((2, _LEFT_WALL), (9, _RIGHT_WALL))
_DOORS_IN_COLUMN: Final = ((_MIDDLE_WALL, 3), (_MIDDLE_WALL, 10))
_LAVA_IN_ROOMS: Final = ((2, 3), (9, 3), (2, 10), (9, 10))


def bare_grid(setting: CraftSetting) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """The cells that all grids of a setting share: walls, and in FRL lava."""
    size = setting.size
    things = np.full((size, size), Thing.EMPTY, np.int8)
    things[[0, -1], :] = things[:, [0, -1]] = Thing.WALL
    if setting.has_rooms:
        things[_MIDDLE_WALL, :] = Thing.WALL
        things[:_MIDDLE_WALL, _LEFT_WALL] = Thing.WALL
        things[_MIDDLE_WALL:, _RIGHT_WALL] = Thing.WALL
        for door in (*_DOORS_IN_ROWS, *_DOORS_IN_COLUMN):
            things[door] = Thing.EMPTY
    if setting is CraftSetting.FRL:
        for cell in _LAVA_IN_ROOMS:
            things[cell] = Thing.LAVA
    return things


def free_cells(setting: CraftSetting) -> list[tuple[int, int]]:
    """The cells of a bare grid where something can be put: empty ones, except doorways."""
    blocked = _doorways(setting)
    empty = np.argwhere(bare_grid(setting) == Thing.EMPTY)
    return [(int(x), int(y)) for x, y in empty if (int(x), int(y)) not in blocked]


def _doorways(setting: CraftSetting) -> set[tuple[int, int]]:
    """Doors, and the cells before and behind them: nothing is put there."""
    if not setting.has_rooms:
        return set()
    vertical = {(x, y + d) for x, y in _DOORS_IN_ROWS for d in (-1, 0, 1)}
    return vertical | {(x + d, y) for x, y in _DOORS_IN_COLUMN for d in (-1, 0, 1)}


def _free_cell(
    random: np.random.RandomState,
    things: np.ndarray[tuple[int, int], np.dtype[np.int8]],
    blocked: set[tuple[int, int]],
) -> tuple[int, int]:
    width, height = things.shape
    while True:
        cell = (int(random.randint(0, width)), int(random.randint(0, height)))
        if things[cell] == Thing.EMPTY and cell not in blocked:
            return cell


def _generator(seed: int) -> np.random.RandomState:
    """Seeded with the first eight bytes of a hash of the seed, as two words of which a leading zero is left out."""
    low, high = struct.unpack("<2I", hashlib.sha512(str(seed).encode()).digest()[:8])
    random = np.random.RandomState()
    random.seed([low, high] if high else [low])
    return random
