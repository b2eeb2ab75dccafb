"""Balls in a box from seeds, as in the published environments, and their paths.

Balls move independently of the agent, so their paths are tabulated once, in double precision: stepped in single
precision they would drift until labels flip.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any, Final, TypeAlias

import numpy as np

from rewardmachines.core.errors import RewardMachineError

BASE_SEEDS: Final = (25101993, 25041996, 31121960, 20091953, 30422020)
"""The seeds of the first instances of the paper's five runs; the others of a run have the seeds from there on."""
INSTANCES: Final = 10

BOX: Final = 400.0
RADIUS: Final = 15.0
BALL_SPEED: Final = 30.0
STEP_SECONDS: Final = 0.1
COLOURS: Final = ("red", "green", "blue", "cyan", "magenta", "yellow")
DEAD_END: Final = "black"
PER_COLOUR: Final = 2


class WaterSetting(Enum):
    """Without and with dead ends, which are black balls."""

    WOD = "wod"
    WD = "wd"

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours of balls, in the order of the propositions."""
        return (*COLOURS, DEAD_END) if self is WaterSetting.WD else COLOURS

    @property
    def balls(self) -> int:
        """The number of balls."""
        return PER_COLOUR * len(self.colours)


@dataclass(frozen=True)
class WaterInstance:
    """Positions and velocities at the start; `balls` holds x, y, vx, vy of each."""

    setting: WaterSetting
    seed: int
    agent: tuple[float, float]
    balls: np.ndarray[tuple[int, int], np.dtype[np.float64]]

    @property
    def colours(self) -> tuple[str, ...]:
        """The colour of each ball."""
        return tuple(colour for colour in self.setting.colours for _ in range(PER_COLOUR))


def instance(setting: WaterSetting | str, seed: int) -> WaterInstance:
    """The instance of a seed.

    Raises:
        RewardMachineError: The seed is negative.
    """
    setting = WaterSetting(setting.lower()) if isinstance(setting, str) else setting
    if seed < 0:
        raise RewardMachineError(f"a seed cannot be negative, as {seed} is")
    random = Random(seed)  # noqa: S311
    agent = _position(random)
    balls: list[tuple[float, float, float, float]] = []
    while len(balls) < setting.balls:
        angle = random.random() * 2 * math.pi
        velocity = (BALL_SPEED * math.sin(angle), BALL_SPEED * math.cos(angle))
        position = _position(random)
        while not _has_room(position, agent, balls):
            position = _position(random)
        balls.append((*position, *velocity))
    return WaterInstance(setting, seed, agent, np.array(balls))


def instances(
    setting: WaterSetting | str, seed: int = BASE_SEEDS[0], count: int = INSTANCES
) -> tuple[WaterInstance, ...]:
    """The instances of a run: they have consecutive seeds."""
    return tuple(instance(setting, seed + i) for i in range(count))


_Pairs: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def ball_paths(start: WaterInstance, steps: int) -> np.ndarray[tuple[int, int, int], np.dtype[np.float64]]:
    """x, y, vx, vy of every ball at times 0 to `steps`."""
    paths = np.empty((steps + 1, *start.balls.shape))
    paths[0] = start.balls
    for time in range(steps):
        position, velocity = paths[time, :, :2], paths[time, :, 2:]
        paths[time + 1, :, :2], paths[time + 1, :, 2:] = _bounced(position + velocity * STEP_SECONDS, velocity)
    return paths


def _bounced(position: _Pairs, velocity: _Pairs) -> tuple[_Pairs, _Pairs]:
    """The motion of a ball: past a wall it is put back inside and turns round, even if it was on its way in already."""
    low, high = RADIUS, BOX - RADIUS
    outside = (position < low) | (position > high)
    return np.clip(position, low, high), np.where(outside, -velocity, velocity)


def _position(random: Random) -> tuple[float, float]:
    """A random position, up to the very edge of the box: a ball may start partly outside."""
    return (2 * RADIUS + random.random() * (BOX - 2 * RADIUS), 2 * RADIUS + random.random() * (BOX - 2 * RADIUS))


def _has_room(
    position: tuple[float, float], agent: tuple[float, float], balls: list[tuple[float, float, float, float]]
) -> bool:
    """Whether a ball at this position touches no other, and lies at a distance from the agent."""
    if math.dist(position, agent) <= 4 * RADIUS:
        return False
    return all(math.dist(position, ball[:2]) >= 2 * RADIUS for ball in balls)
