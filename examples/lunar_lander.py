"""Fly a lander to the left, then to the right, without falling: options that look ahead.

    python examples/lunar_lander.py

Needs `pip install 'rewardmachines[box2d]'`, in a clone `pip install '.[box2d]'`. In LunarLander-v3, an option that only
wants to be on the left falls to the left, and from there nothing can follow. With `lookahead`, which the settings that
are chosen by themselves have, reaching "left" is worth what the machine's Q-function expects from there.
"""

import sys
import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

TASK = rm.compile_task("left ; right")


def labels(observation: Any) -> dict[str, bool]:
    return {"left": bool(observation[0] < -0.2), "right": bool(observation[0] > 0.2)}


def make(render_mode: str | None = None) -> LabelingWrapper:
    lander = gymnasium.make("LunarLander-v3", render_mode=render_mode)
    return LabelingWrapper(lander, labels=labels, propositions=["left", "right"])


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    run = rm.train(make, TASK, seed=seed, steps=1_200_000, seconds=1_080, stop_at=0.88, callbacks=[report])
    env, policy = HierarchyWrapper(make(), TASK), run.policy()
    returned = sum(rm.play(env, policy, seed=seed)[0] for seed in range(1_000, 1_050)) / 50
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
