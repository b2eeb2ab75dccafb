"""CraftWorld as a value: what is published of it, and sizes that suit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.draw import draw
from rewardmachines.envs.craftworld.environment import CraftWorld, Observation, World, build_world
from rewardmachines.envs.craftworld.guide import GUIDE
from rewardmachines.envs.craftworld.instances import Instance, Setting, instances
from rewardmachines.envs.domain import Domain, DomainSetting, Keys, Pixels, Sizes
from rewardmachines.library import task_set

_TILE: Final = 32
"""Pixels of a cell, unless a size is asked for."""


def _environment(setting: str, observation: str) -> CraftWorld:
    try:
        return CraftWorld(Setting(setting), Observation(observation))
    except ValueError:
        choices = ", ".join(choice.value for choice in Observation)
        raise RewardMachineError(f"the observation is one of {choices}, not '{observation}'") from None


def _world(grids: Sequence[Instance], _max_steps: int) -> World:
    return build_world(grids)


def _picture(grid: Instance, _world: World, state: Any, size: int | None) -> Pixels:
    from rewardmachines.envs.craftworld.render import render  # draws, which few need

    tile = _TILE if size is None else max(8, size // len(grid.things))
    return render(grid.things, int(state.x), int(state.y), int(state.direction), tile=tile)


def _text(grid: Instance, _world: World, state: Any, colour: bool) -> str:
    from rewardmachines.envs.craftworld.render import render_text  # draws, which few need

    return render_text(grid.things, int(state.x), int(state.y), int(state.direction), colour=colour)


_SMALL_PAPER: Final = Sizes(crm={"annealing_steps": 100_000_000})
_LARGE_PAPER: Final = Sizes(
    {"network.body": "pooled-cnn", "call_network.body": "pooled-cnn"}, crm={"annealing_steps": 100_000_000}
)
_SMALL_FAST: Final = Sizes(lhrm={"environments": 32, "evaluate_steps": 200})  # what a CPU manages
_LARGE_FAST: Final = Sizes(
    {
        "environments": 128, "updates": 4, "batch": 512, "network.hidden": (1024,), "discount": 0.96,
        "replay_start": 20_000, "target_period": 100, "annealing_steps": 50_000, "chunk": 100, "evaluate_every": 4,
    },
    # CRM's discount spans the whole task, and yet one step must make a difference: less for long ways.
    crm={"discount": 0.97},
    lhrm={"evaluate_steps": 400},
)  # fmt: skip

CRAFTWORLD: Final = Domain(
    task_set=task_set("craftworld"),
    settings={
        "op": DomainSetting("open plan", paper=_SMALL_PAPER, fast=_SMALL_FAST),
        "opl": DomainSetting("open plan with lava", dead_ends=True, paper=_SMALL_PAPER, fast=_SMALL_FAST),
        "fr": DomainSetting("four rooms", episodes=200_000, paper=_LARGE_PAPER, fast=_LARGE_FAST),
        "frl": DomainSetting(
            "four rooms with lava", dead_ends=True, episodes=200_000, paper=_LARGE_PAPER, fast=_LARGE_FAST
        ),
    },
    environment=_environment,
    instances=instances,
    world=_world,
    draw=draw,
    quick_tasks=("bucket", "sugar", "milk-bucket"),
    threshold=0.85,
    solved_return=0.95,
    picture=_picture,
    text=_text,
    keys=Keys({"a": 0, "d": 1, "w": 2, "left": 0, "right": 1, "up": 2}, "a/← turn left, d/→ turn right, w/↑ forward"),
    guide=GUIDE,
)
