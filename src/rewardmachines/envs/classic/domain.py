"""The office world and the craft world as values: what is published of them, and how they are shown.

They are the worlds in which reward machines were first tried (Toro Icarte et al., ICML 2018 and JAIR 2022), and those
in which later papers compare. Maps, labels, actions, and observations are the published ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int8, Int32

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.classic.environment import (
    ClassicArrays,
    ClassicGrid,
    ClassicObservation,
    ClassicState,
    build_world,
)
from rewardmachines.envs.classic.maps import ClassicMap, classic_map, shortest_ways
from rewardmachines.envs.domain import Domain, DomainSetting, FreshInstances, Guide, Keys, Pixels
from rewardmachines.library import CRAFT_WORLD, OFFICE_WORLD, TaskSet, task_set

CRAFT_MAPS: Final = (0, 1, 4, 5, 8, 10)
"""The numbers of those of the eleven published maps that are here."""
_ONE_MAP: Final = FreshInstances(drawn=1, held_out=1)
"""All instances of a setting are alike: there is one map, and one cell in which episodes begin."""
_KEYS: Final = Keys(
    {"w": 0, "d": 1, "s": 2, "a": 3, "up": 0, "right": 1, "down": 2, "left": 3}, "w a s d or arrows: walk"
)


def _propositions(tasks: TaskSet) -> tuple[str, ...]:
    return tasks.all_propositions(dead_ends=True)


def _environment(tasks: TaskSet, setting: str, observation: str) -> ClassicGrid:
    try:
        seen = ClassicObservation(observation)
    except ValueError:
        choices = ", ".join(choice.value for choice in ClassicObservation)
        raise RewardMachineError(f"the observation is one of {choices}, not '{observation}'") from None
    names = _propositions(tasks)
    return ClassicGrid(names, classic_map(setting, names).size, seen)


def _instances(tasks: TaskSet, setting: str, _seed: int, count: int) -> tuple[ClassicMap, ...]:
    return (classic_map(setting, _propositions(tasks)),) * count


def _world(grids: Sequence[ClassicMap], _max_steps: int) -> ClassicArrays:
    return build_world(grids)


def _ways(avoided: Sequence[str], grid: ClassicMap) -> np.ndarray[Any, np.dtype[np.int8]]:
    return shortest_ways(grid, avoided)


def _action(ways: Int8[Array, "I P X Y"], state: ClassicState, target: Int32[Array, ""]) -> Int32[Array, ""]:
    return ways[state.instance, target, state.x, state.y].astype(jnp.int32)


def _picture(grid: ClassicMap, _world: ClassicArrays, state: ClassicState, size: int | None) -> Pixels:
    from rewardmachines.envs.classic.render import render  # draws, which few need

    return render(grid, int(state.x), int(state.y), size)


def _text(grid: ClassicMap, _world: ClassicArrays, state: ClassicState, colour: bool) -> str:
    from rewardmachines.envs.classic.render import render_text  # draws, which few need

    return render_text(grid, int(state.x), int(state.y), colour=colour)


def _legend(setting: str, tasks: TaskSet) -> dict[str, str]:
    from rewardmachines.envs.classic.render import AGENT_SIGN  # draws, which few need

    return {AGENT_SIGN: "you", "█": "wall", **classic_map(setting, _propositions(tasks)).signs}


def _domain(
    name: str, settings: Mapping[str, DomainSetting], quick_tasks: tuple[str, ...], agents: Mapping[str, Any]
) -> Domain:
    """A domain, with the same settings of agents in all its settings, whatever the preset."""
    tasks = task_set(name)
    avoided = () if tasks.dead_end is None else (tasks.dead_end,)
    return Domain(
        task_set=tasks,
        settings=settings,
        environment=partial(_environment, tasks),
        instances=partial(_instances, tasks),
        world=_world,
        quick_tasks=quick_tasks,
        presets=dict.fromkeys(settings, agents),
        picture=_picture,
        text=_text,
        legend=partial(_legend, next(iter(settings)), tasks),
        keys=_KEYS,
        guide=Guide(partial(_ways, avoided), _action),
    )


_AGENTS: Final[Mapping[str, Any]] = {
    "observation": "one-hot",
    "network": {"hidden": [128]},
    "batch": 256,
    "updates": 2,
    "target": 200,
    "persistence": 0.5,  # random walks in large rooms come back
    "curriculum_weight": 0.0,
}

OFFICE: Final = _domain(
    OFFICE_WORLD,
    {"office": DomainSetting("twelve rooms, and decorations that break", dead_ends=True, fresh=_ONE_MAP)},
    ("deliver-coffee", "deliver-mail"),
    {
        "agent": {**_AGENTS, "exploration": {"steps": 20_000}, "evaluate_steps": 100},
        "crm": {"discount": 0.95, "exploration": {"steps": 60_000}},
    },
)
"""The office world: coffee, mail, and a patrol."""
CRAFT: Final = _domain(
    CRAFT_WORLD,
    {f"m{number}": DomainSetting(f"published map {number}", fresh=_ONE_MAP) for number in CRAFT_MAPS},
    ("make-plank", "make-bridge", "get-gold"),
    {
        "agent": {**_AGENTS, "observation": "axes", "exploration": {"steps": 100_000}, "evaluate_steps": 300},
        "crm": {"discount": 0.97, "exploration": {"steps": 200_000}},
    },
)
"""The craft world: ten tasks that make something out of raw materials."""
