"""MiniGrid's DoorKey: take the key, open the door, and walk to the goal. Learned in a minute or two.

    python examples/minigrid_doorkey.py [SEED]

Every episode has another grid. The agent sees all of it, as planes; `agent_view_size=3` makes MiniGrid's own view,
which is not used, as small as it can be, and the environment three times as fast.
"""

import sys
import time
from typing import Any

import gymnasium
import minigrid  # noqa: F401  (registers its environments)

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper, MiniGridPlanes, label_minigrid

PROPOSITIONS = {"key": "yellow-key-carried", "door": "door-open", "goal": "goal-here"}
TASK = rm.compile_task("key ; door ; goal")


def make(render_mode: str | None = None) -> LabelingWrapper:
    name = "MiniGrid-DoorKey-5x5-v0"
    grid = gymnasium.make(name, agent_view_size=3, max_episode_steps=100, render_mode=render_mode)
    return label_minigrid(MiniGridPlanes(grid), PROPOSITIONS)


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    run = rm.train(make, TASK, seed=seed, steps=300_000, seconds=270, stop_at=0.97, callbacks=[report])
    env, policy = HierarchyWrapper(make(), TASK), run.policy()
    returned = sum(rm.play(env, policy, seed=seed)[0] for seed in range(1_000, 1_100)) / 100
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f} in 100 episodes")
