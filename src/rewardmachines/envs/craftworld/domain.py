"""CraftWorld as a value: what is published of it, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.draw import draw
from rewardmachines.envs.craftworld.environment import CraftArrays, CraftWorld, Observation, build_world
from rewardmachines.envs.craftworld.guide import GUIDE
from rewardmachines.envs.craftworld.instances import CraftInstance, CraftSetting, instances
from rewardmachines.envs.domain import Domain, DomainSetting, FreshInstances, Keys, Pixels
from rewardmachines.library import task_set

_TILE: Final = 32
"""Pixels of a cell, unless a size is asked for."""


def _environment(setting: str, observation: str) -> CraftWorld:
    try:
        return CraftWorld(CraftSetting(setting), Observation(observation))
    except ValueError:
        choices = ", ".join(choice.value for choice in Observation)
        raise RewardMachineError(f"the observation is one of {choices}, not '{observation}'") from None


def _world(grids: Sequence[CraftInstance], _max_steps: int) -> CraftArrays:
    return build_world(grids)


def _picture(grid: CraftInstance, _world: CraftArrays, state: Any, size: int | None) -> Pixels:
    from rewardmachines.envs.craftworld.render import render  # draws, which few need

    tile = _TILE if size is None else max(8, size // len(grid.things))
    return render(grid.things, int(state.x), int(state.y), int(state.direction), tile=tile)


def _legend() -> dict[str, str]:
    from rewardmachines.envs.craftworld.render import ARROWS, LEGEND  # draws, which few need

    signs = {sign: name for name, sign in LEGEND.items()}
    return {ARROWS: "you, the way you look", "█": "wall", "·": "floor"} | signs


def _text(grid: CraftInstance, _world: CraftArrays, state: Any, colour: bool) -> str:
    from rewardmachines.envs.craftworld.render import render_text  # draws, which few need

    return render_text(grid.things, int(state.x), int(state.y), int(state.direction), colour=colour)


_FRESH_ROOMS: Final = FreshInstances(solved_return=0.96)

CRAFTWORLD: Final = Domain(
    task_set=task_set("craftworld"),
    settings={
        "op": DomainSetting("open plan", fresh=FreshInstances(solved_return=0.985)),
        "opl": DomainSetting("open plan with lava", dead_ends=True),
        "fr": DomainSetting("four rooms", episodes=200_000, fresh=_FRESH_ROOMS),
        "frl": DomainSetting("four rooms with lava", dead_ends=True, episodes=200_000, fresh=_FRESH_ROOMS),
    },
    environment=_environment,
    instances=instances,
    world=_world,
    draw=draw,
    quick_tasks=("bucket", "sugar", "milk-bucket"),
    presets=files(__package__) / "settings",
    solved_return=0.95,
    picture=_picture,
    text=_text,
    legend=_legend,
    keys=Keys({"a": 0, "d": 1, "w": 2, "left": 0, "right": 1, "up": 2}, "a/← turn left, d/→ turn right, w/↑ forward"),
    guide=GUIDE,
)
