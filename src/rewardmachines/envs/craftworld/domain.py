"""CraftWorld as a value: what is published of it, and sizes that suit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.craftworld.draw import draw
from rewardmachines.envs.craftworld.environment import CraftArrays, CraftWorld, Observation, build_world
from rewardmachines.envs.craftworld.guide import GUIDE
from rewardmachines.envs.craftworld.instances import CraftInstance, CraftSetting, instances
from rewardmachines.envs.domain import Domain, DomainSetting, FreshSizes, Keys, Pixels, Sizes
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

_SEEN: Final = {"observation": "egocentric", "network.body": "flat", "call_network.body": "flat"}
"""What is seen from the agent looks alike in many instances, so that less needs to be learned."""
_SMALL_GPU: Final = {
    **_SEEN, "environments": 512, "updates": 4, "batch": 1024, "network.hidden": (512,), "discount": 0.9,
    "target_period": 200, "evaluate_every": 5, "evaluate_steps": 60, "curriculum_weight": 0.0, "fill_together": 64,
}  # fmt: skip
_SMALL_CORES: Final = {
    **_SEEN, "environments": 64, "updates": 2, "batch": 256, "network.hidden": (128,), "discount": 0.9,
    "evaluate_every": 10, "evaluate_steps": 60, "curriculum_weight": 0.0,
}  # fmt: skip
_SMALL_FRESH: Final = FreshSizes(solved_return=0.985, sizes=Sizes(_SMALL_GPU), few_cores=Sizes(_SMALL_CORES))
_TWO_LAYERS: Final = {
    "network.normalizes": True,
    "call_network.normalizes": True,
    "target_rate": 0.01,
    "halving_updates": 50_000,
}
"""Ways around lava and through doors depend on several cells at once, which takes a second layer. What is learned in
the end are rare cases, in most of which a policy runs against a wall for ever: values must be precise."""
_LAVA_FRESH: Final = FreshSizes(
    sizes=Sizes({**_SMALL_GPU, **_TWO_LAYERS, "network.hidden": (512, 256)}),
    few_cores=Sizes({**_SMALL_CORES, **_TWO_LAYERS, "network.hidden": (256, 128), "updates": 4}),
)
_LARGE_FRESH: Final = FreshSizes(
    solved_return=0.96,
    sizes=Sizes(
        {
            **_SEEN, **_TWO_LAYERS, "environments": 1024, "updates": 4, "batch": 1024, "network.hidden": (1024, 512),
            "replay_size": 1_000_000,
            # With a discount, a way of 60 steps is worth nearly as much as one of 61.
            "discount": 1.0, "step_cost": 0.015,
            # Few large batches for machines: one at a time is updated, which leaves a GPU waiting.
            "call_updates": 0.015, "call_batch": 256,
            "evaluate_every": 10, "evaluate_steps": 300, "curriculum_weight": 0.0,
            # Few rounds in which options are chosen, for the same reason.
            "fill_together": 256, "fill_machines": True,
        }
    ),
)  # fmt: skip

CRAFTWORLD: Final = Domain(
    task_set=task_set("craftworld"),
    settings={
        "op": DomainSetting("open plan", paper=_SMALL_PAPER, fast=_SMALL_FAST, fresh=_SMALL_FRESH),
        "opl": DomainSetting(
            "open plan with lava", dead_ends=True, paper=_SMALL_PAPER, fast=_SMALL_FAST, fresh=_LAVA_FRESH
        ),
        "fr": DomainSetting("four rooms", episodes=200_000, paper=_LARGE_PAPER, fast=_LARGE_FAST, fresh=_LARGE_FRESH),
        "frl": DomainSetting(
            "four rooms with lava",
            dead_ends=True,
            episodes=200_000,
            paper=_LARGE_PAPER,
            fast=_LARGE_FAST,
            fresh=_LARGE_FRESH,
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
    legend=_legend,
    keys=Keys({"a": 0, "d": 1, "w": 2, "left": 0, "right": 1, "up": 2}, "a/← turn left, d/→ turn right, w/↑ forward"),
    guide=GUIDE,
)
