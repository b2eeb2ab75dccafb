"""WaterWorld as a value: what is published of it, and how it is shown."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

import numpy as np

from rewardmachines.envs.domain import Domain, DomainSetting, FreshInstances, Keys, Pixels
from rewardmachines.envs.waterworld.draw import draw
from rewardmachines.envs.waterworld.environment import WaterArrays, WaterWorld, build_world
from rewardmachines.envs.waterworld.instances import WaterInstance, WaterSetting, instances
from rewardmachines.library import task_set

_SIZE: Final = 400
"""Pixels, unless a size is asked for."""


def _environment(setting: str, _observation: str) -> WaterWorld:
    """There is one observation only, whatever it is called."""
    return WaterWorld(WaterSetting(setting))


def _picture(box: WaterInstance, world: WaterArrays, state: Any, size: int | None) -> Pixels:
    from rewardmachines.envs.waterworld.render import render  # draws, which few need

    velocity = _pair(state.velocity)
    return render(_pair(state.position), velocity, _balls(world, state), box.colours, size=size or _SIZE)


def _legend() -> dict[str, str]:
    from rewardmachines.envs.waterworld.render import AGENT, LEGEND  # draws, which few need

    return {AGENT: "you", "·": "water"} | {sign: f"{name} balls" for name, sign in LEGEND.items()}


def _text(box: WaterInstance, world: WaterArrays, state: Any, colour: bool) -> str:
    from rewardmachines.envs.waterworld.render import render_text  # draws, which few need

    return render_text(_pair(state.position), _balls(world, state), box.colours, colour=colour)


def _pair(array: Any) -> tuple[float, float]:
    first, second = np.asarray(array, float).tolist()
    return first, second


def _balls(world: WaterArrays, state: Any) -> Any:
    """The position of each ball at the time of the state."""
    return np.asarray(world.balls)[int(state.instance), int(state.time), :, :2]


_DRAWN: Final = 2_048
"""The number of fresh instances. Balls move, so that an instance shows them in many positions; CraftWorld, where things
lie still, needs more instances."""

WATERWORLD: Final = Domain(
    task_set=task_set("waterworld"),
    settings={
        "wod": DomainSetting("balls without dead ends", fresh=FreshInstances(_DRAWN)),
        "wd": DomainSetting(
            "balls, black ones among them",
            dead_ends=True,
            episodes=200_000,
            fresh=FreshInstances(_DRAWN, solved_return=0.85),  # one black ball ends it all
        ),
    },
    environment=_environment,
    instances=instances,
    world=build_world,
    draw=draw,
    quick_tasks=("rg", "bc", "rgb"),
    presets=files(__package__) / "settings",
    solved_return=0.75,
    picture=_picture,
    text=_text,
    legend=_legend,
    keys=Keys(
        {"w": 0, "s": 1, "a": 2, "d": 3, " ": 4, "up": 0, "down": 1, "left": 2, "right": 3},
        "w a s d or arrows: push, space: nothing",
    ),
)
