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


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    trained = rm.train_gymnasium(make, TASK, seed=seed, steps=400_000, seconds=270, stop_at=0.95, progress=print)
    returned = trained.evaluate(HierarchyWrapper(make(), TASK), 50, seed=1_000)
    print(f"{trained.steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
