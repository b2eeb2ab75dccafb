"""WaterWorld as a value: what is published of it, and sizes that suit it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from rewardmachines.envs.domain import Domain, DomainSetting, FreshSizes, Keys, Pixels, Sizes
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


_PAPER: Final = Sizes(
    {
        "network.hidden": (512, 512, 512), "learning_rate": 1e-5, "annealing_steps": 5_000_000,
        "call_network.hidden": (512, 512, 512), "call_learning_rate": 1e-3,
    },
    crm={"annealing_steps": 2_000_000},
)  # fmt: skip
_FAST: Final = Sizes(
    {
        "environments": 64, "batch": 256, "observation": "published", "layout": "separate",
        "network.hidden": (512, 512, 512), "learning_rate": 3e-4, "formulas": 32, "replay_start": 20_000,
        "annealing_steps": 200_000, "call_network.hidden": (128, 128),
    },
    lhrm={"environments": 128, "annealing_steps": 400_000},  # what a GPU wants: many environments above all
)  # fmt: skip

_FRESH_GPU: Final = {
    "environments": 512, "updates": 4, "batch": 1024, "layout": "shared", "network.hidden": (512, 512),
    "network.normalizes": True, "learning_rate": 1e-3, "discount": 0.95, "target_rate": 0.01, "halving_updates": 50_000,
    "replay_start": 50_000, "annealing_steps": 50_000, "evaluate_every": 5, "curriculum_weight": 0.0,
    "fill_together": 256, "fill_machines": True,
}  # fmt: skip
"""Where balls go and what to keep away from is the same for all formulas, which learn it together in one network."""
_FRESH_CORES: Final = {
    **_FRESH_GPU, "environments": 256, "batch": 256, "network.hidden": (256, 256), "fill_together": 64,
    "fill_machines": False,
}  # fmt: skip
_FRESH: Final = FreshSizes(
    drawn=2_048,  # a box is a film of its balls, which are everywhere in the course of it: fewer boxes do
    solved_return=0.95,
    sizes=Sizes(_FRESH_GPU),
    few_cores=Sizes(_FRESH_CORES),
)
_CONFIRM_EPISODES: Final = 1_000  # two balls at once, as the first of a task, refute a machine in 1 of 330 episodes
_FRESH_DEAD_ENDS: Final = replace(_FRESH, solved_return=0.85)  # one black ball ends it all

WATERWORLD: Final = Domain(
    task_set=task_set("waterworld"),
    settings={
        "wod": DomainSetting(
            "balls without dead ends",
            paper=_PAPER,
            fast=_FAST,
            fresh=_FRESH,
            confirm_episodes=_CONFIRM_EPISODES,
        ),
        "wd": DomainSetting(
            "balls, black ones among them",
            dead_ends=True,
            episodes=200_000,
            paper=_PAPER,
            fast=_FAST,
            fresh=_FRESH_DEAD_ENDS,
            confirm_episodes=_CONFIRM_EPISODES,
        ),
    },
    environment=_environment,
    instances=instances,
    world=build_world,
    draw=draw,
    quick_tasks=("rg", "bc", "rgb"),
    threshold=0.75,
    solved_return=0.75,
    picture=_picture,
    text=_text,
    legend=_legend,
    keys=Keys(
        {"w": 0, "s": 1, "a": 2, "d": 3, " ": 4, "up": 0, "down": 1, "left": 2, "right": 3},
        "w a s d or arrows: push, space: nothing",
    ),
)
