"""Errands on the ice without given machines: machines and policies are learned together, in a minute.

    python examples/learn_frozen_lake.py [SEED]

An environment ends when its errand is done, or in the hole. Of the errand, the agent gets to know labels and ends. From
these it learns what there is to do, a machine, and how to do it; the round trip comes last, and is made of the others.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import LabelingWrapper

LAKE = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
PLACES = {0: "home", 4: "hut", 20: "buoy", 12: "hole"}
ERRANDS = {"to the hut": ["hut", "home"], "to the buoy": ["buoy", "home"], "round": ["hut", "home", "buoy", "home"]}
LEVELS = {"to the hut": 1, "to the buoy": 1, "round": 2}


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


class Errand(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Ends with reward 1 when the places have been visited in their order."""

    def __init__(self, env: gymnasium.Env[Any, Any], places: list[str]) -> None:
        super().__init__(env)
        self.places = places

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.left = list(self.places)
        return self.env.reset(**options)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        cell, _, is_over, is_cut, info = self.env.step(action)
        if self.left[0] in labels(cell):
            self.left.pop(0)
        return cell, float(not self.left), is_over or not self.left, is_cut, info


def maker(errand: str) -> Callable[[], LabelingWrapper]:
    def make() -> LabelingWrapper:
        lake = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100)
        return LabelingWrapper(Errand(lake, ERRANDS[errand]), labels=labels, propositions=PLACES.values())

    return make


def report(chunk: Any) -> None:
    row = chunk.row
    for event in row.learned:
        found = event.message or f"a machine of {event.states} states for '{event.task}'"
        print(f"{row.steps:7,} steps: {found} ({event.cause.value})")
    if row.returns is not None:
        print(f"{row.steps:7,} steps: level {row.level}, returns", *(f"{r:.2f}" for r in row.running))


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    tasks = {name: (maker(name), level) for name, level in LEVELS.items()}
    run = rm.learn(tasks, steps=400_000, seed=seed, callbacks=[report])
    greedy = run.evaluate()
    for task in greedy:
        print(f"\n{task.task}, at the goal in {task.mean_return:.0%} of greedy episodes:")
        print(*run.hierarchy(task.task)[task.task].edges, sep="\n")
    print("", *run.missing.values(), f"in {time.monotonic() - began:.0f} seconds", sep="\n")
    print(f"greedy return: {sum(task.mean_return for task in greedy) / len(ERRANDS):.2f}")
