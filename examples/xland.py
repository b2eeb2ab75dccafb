"""DoorKey of XLand-MiniGrid, a third-party suite in JAX: environment and agent become one compiled program.

    python examples/xland.py [SEED]

Needs `pip install 'rewardmachines[xland]'`, in a clone `pip install '.[xland]'`. The task is that of
minigrid_doorkey.py, in ten grids of the suite.
"""

import sys
import time
from typing import Any

import rewardmachines as rm
from rewardmachines.envs.xland.domain import xland_domain

DOORKEY = xland_domain(
    "doorkey",
    "DoorKey",
    settings={"5x5": "MiniGrid-DoorKey-5x5"},
    propositions={"key": "key-carried", "door": "door-open", "goal": "goal-here"},
    tasks={"leave": "key ; door ; goal"},
)


def report(chunk: Any) -> None:
    row = chunk.row
    print(f"{row.steps:7,} steps, {row.episodes:5,} episodes, {sum(row.goals)} goals in the last chunk")


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    rm.register_domain(DOORKEY)
    run = rm.train("doorkey", "leave", seed=seed, max_steps=250, steps=200_000, callbacks=[report])
    (greedy,) = run.evaluate()
    print(f"mean greedy return: {greedy.mean_return:.2f} in {len(greedy.returns)} grids")
    print(f"in {time.monotonic() - began:.0f} seconds")
