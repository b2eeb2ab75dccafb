"""What it costs to renew the Q-function of one formula: returns of all tasks before and after, with four actions.

    python benchmarks/renewal.py                    CliffWalking, FrozenLake and LunarLander, seed 0
    python benchmarks/renewal.py lake seeds=3       one of them, with seeds 0, 1 and 2

Machines and policies are learned from interaction, with the usual settings: 16 slots of four actions each, and hidden
layers of 64 units. Then a slot that no task needs is renewed, as happens when formulas are merged and the slot is taken
over. No return may change by that. A run takes about a minute on two cores.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import rewardmachines as rm
from rewardmachines.agents.gymnasium.diagnosis import NotLearnedWarning
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks, learn_gymnasium
from rewardmachines.lhrm.renewal import with_new_formulas
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask

EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples"
CLIFF = run_path(str(EXAMPLES / "cliff_walking.py"))
LAKE = run_path(str(EXAMPLES / "learn_frozen_lake.py"))
LANDER = run_path(str(EXAMPLES / "lunar_lander.py"))
console = Console(width=120, highlight=False, emoji=False)


def make_lake() -> LabelingWrapper:
    """The lake of the example, without an errand."""
    lake = gymnasium.make("FrozenLake-v1", desc=LAKE["LAKE"], is_slippery=False, max_episode_steps=100)
    return LabelingWrapper(lake, labels=LAKE["labels"], propositions=[*LAKE["PLACES"].values()])


class World(NamedTuple):
    """A world in which tasks are learned."""

    make: Callable[[], LabelingWrapper]
    labels: Callable[[Any], Any]
    tasks: tuple[str, ...]
    steps: int
    """Those that learning may take."""


WORLDS: Final = {
    "cliff": World(CLIFF["make"], CLIFF["labels"], ("edge ; goal",), 200_000),
    "lake": World(make_lake, LAKE["labels"], ("hut ; home", "buoy ; home"), 200_000),
    "lander": World(LANDER["make"], LANDER["labels"], ("left", "right"), 300_000),
}


def make_task(world: World, task: str) -> LabelingWrapper:
    """The world, whose episodes end when the task is done."""
    plain = world.make()
    return LabelingWrapper(
        HierarchyWrapper(plain, rm.compile_task(task)), labels=world.labels, propositions=plain.propositions
    )


def learned_in(world: World, seed: int) -> LearnedTasks:
    """Learns the tasks of a world."""
    tasks = [GymTask(task, 1, partial(make_task, world, task)) for task in world.tasks]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotLearnedWarning)
        return learn_gymnasium(tasks, steps=world.steps, seed=seed)


def renew(learned: LearnedTasks) -> None:
    """Renews the last slot, which no formula is in."""
    run = learned.run
    slot = run.state.agent.formulas.updates.shape[0] - 1
    assert slot not in run.registry.slots.values()
    agent = with_new_formulas(run.state.agent, [slot], run.config, learned.worlds, np.random.default_rng(0))
    run.state = run.state._replace(agent=agent)


def returns(learned: LearnedTasks) -> str:
    """The share of greedy episodes at the goal, of each task that has a machine."""
    return "  ".join(f"{learned.evaluate(name, 50):.2f}" for name in learned.hierarchies)


def main(words: list[str]) -> None:
    """Learns in the worlds that were named, or in all."""
    names = [word for word in words if "=" not in word]
    options: dict[str, Any] = dict(word.split("=", 1) for word in words if "=" in word)
    if set(names) - set(WORLDS) or set(options) - {"seeds"}:
        sys.exit(f"worlds are {', '.join(WORLDS)}; the only option is seeds=N")
    table = Table("world", "seed", "tasks", "steps", "seconds", "returns", "after a renewal", title="Renewed heads")
    for world in names or WORLDS:
        for seed in range(int(options.get("seeds", 1))):
            began = time.monotonic()
            learned = learned_in(WORLDS[world], seed)
            took, before = time.monotonic() - began, returns(learned)
            renew(learned)
            after = returns(learned)
            steps = f"{learned.rows[-1].steps:,}"
            table.add_row(world, str(seed), ", ".join(learned.hierarchies), steps, f"{took:.0f}", before, after)
    console.print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
