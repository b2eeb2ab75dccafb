"""A walk along the cliff: look over the edge in the middle, then go to the goal.

    python examples/cliff_walking.py

CliffWalking-v1, whose episodes have no limit: they are truncated after 200 steps. A fall leads back to the start.
"""

import sys
import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

TASK = rm.compile_task("edge ; goal")
COLUMNS, EDGE, GOAL = 12, 2, 47  # the cliff is below the third row; the goal is the last cell


def labels(cell: int) -> set[str]:
    if cell == GOAL:
        return {"goal"}
    row, column = divmod(int(cell), COLUMNS)
    return {"edge"} if row == EDGE and column in (5, 6) else set()


def make(render_mode: str | None = None) -> LabelingWrapper:
    cliff = gymnasium.make("CliffWalking-v1", max_episode_steps=200, render_mode=render_mode)
    return LabelingWrapper(cliff, labels=labels, propositions=["edge", "goal"])


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    run = rm.train(make, TASK, seed=seed, steps=200_000, seconds=270, stop_at=0.95, callbacks=[report])
    env, policy = HierarchyWrapper(make(), TASK), run.policy()
    returned = sum(rm.play(env, policy, seed=seed)[0] for seed in range(1_000, 1_050)) / 50
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
