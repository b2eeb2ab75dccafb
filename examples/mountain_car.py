"""A car that is too weak for its hill: to the left edge of the valley first, then up to the flag on the right.

    python examples/mountain_car.py

MountainCar-v0 with the settings that are chosen by themselves: single random pushes never get out of the valley, so
random actions persist, and speeds, which are tiny numbers, are shown to the network as fractions of the greatest.
"""

import sys
import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

TASK = rm.compile_task("left ; right")


def labels(observation: Any) -> dict[str, bool]:
    return {"left": bool(observation[0] < -1.0), "right": bool(observation[0] >= 0.5)}


def make(render_mode: str | None = None) -> LabelingWrapper:
    car = gymnasium.make("MountainCar-v0", render_mode=render_mode)
    return LabelingWrapper(car, labels=labels, propositions=["left", "right"])


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    run = rm.train(make, TASK, seed=seed, steps=400_000, seconds=270, stop_at=0.95, callbacks=[report])
    env, policy = HierarchyWrapper(make(), TASK), run.policy()
    returned = sum(rm.play(env, policy, seed=seed)[0] for seed in range(1_000, 1_050)) / 50
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
