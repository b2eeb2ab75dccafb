"""Two rooms of MiniGrid: take the key, unlock the door, put the key down, and take the box from the other room.

    python examples/minigrid_unlock.py [SEED]

UnlockPickup, ten of its grids. Putting the key down is not part of the task: the agent finds out that it has only one
hand. Exploration goes on for longer than usual, as there are many cells where nothing can be taken.
"""

import sys
import time
from dataclasses import replace
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers its environments)

import rewardmachines as rm
from rewardmachines.envs import LabelingWrapper, MiniGridPlanes, label_minigrid

PROPOSITIONS = {"key": "key-carried", "door": "door-open", "box": "box-carried"}
TASK = rm.compile_task("unlock ; box", tasks={"unlock": "key ; door"})
GRIDS = 10


def make(render_mode: str | None = None) -> LabelingWrapper:
    name = "MiniGrid-UnlockPickup-v0"
    grid = gymnasium.make(name, agent_view_size=3, max_episode_steps=150, render_mode=render_mode)
    return label_minigrid(MiniGridPlanes(grid), PROPOSITIONS)


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    run = rm.train(
        make, TASK, steps=400_000, seed=seed, instances=GRIDS, stop_at=0.95, callbacks=[report],
        settings=lambda usual: replace(
            usual, exploration=replace(usual.exploration, steps=20_000), lookahead=0.0, updates=2, discount=0.96
        ),
    )  # fmt: skip
    (greedy,) = run.evaluate()
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"mean greedy return: {greedy.mean_return:.2f} in {GRIDS} grids")
