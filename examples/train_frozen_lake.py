"""Errands on the ice: call at the hut and at the buoy, in either order, and be home again. Learned in half a minute.

    python examples/train_frozen_lake.py

FrozenLake knows nothing of errands, only of holes. Labels say what is where, a hierarchy says what is to be done, and
the agent learns how to get to each place, from all that it experiences, and which to head for first.
"""

import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

PLACES = {0: "home", 7: "hut", 56: "buoy"}  # three corners of the lake; in the fourth, an episode just ends
TASK = rm.compile_task("errands ; home", tasks={"errands": "hut & buoy"})


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


def make() -> HierarchyWrapper:
    lake = gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=False, max_episode_steps=100)
    return HierarchyWrapper(LabelingWrapper(lake, labels=labels, propositions=PLACES.values()), TASK)


def report(chunk: Any) -> None:
    row = chunk.row
    print(f"{row.steps:7,} steps, {row.episodes:5,} episodes, {sum(row.goals)} goals in the last chunk")


if __name__ == "__main__":
    began = time.monotonic()
    seen = [set[str](), {"home"}, {"hut"}, {"buoy"}]  # never two at once: fewer options to choose from
    run = rm.train(make, TASK, labels=seen, steps=60_000, callbacks=[report])
    (greedy,) = run.evaluate()
    first = next(row.mean_return for row in run.rows if row.mean_return is not None)
    print(f"mean greedy return: {first:.2f} in the first evaluation, {greedy.mean_return:.2f} in the end")
    print(f"in {time.monotonic() - began:.0f} seconds")
