"""A taxi: pick the passenger up, wherever that is, and deliver him where he wants to go.

    python examples/taxi.py

Taxi-v4, whose observations are numbers of 500 states. The labelling function asks the environment what they mean.
"""

import sys
import time
from typing import Any

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

TASK = rm.compile_task("aboard ; delivered")


def labels(state: int, _: dict[str, Any], env: Any) -> set[str]:
    _, _, passenger, destination = env.unwrapped.decode(state)
    if passenger == 4:  # in the taxi
        return {"aboard"}
    return {"delivered"} if passenger == destination else set()


def make(render_mode: str | None = None) -> LabelingWrapper:
    taxi = gymnasium.make("Taxi-v4", render_mode=render_mode)
    return LabelingWrapper(taxi, labels=labels, propositions=["aboard", "delivered"])


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    trained = rm.train_gymnasium(make, TASK, seed=seed, steps=600_000, seconds=270, stop_at=0.97, progress=print)
    returned = trained.evaluate(HierarchyWrapper(make(), TASK), 100, seed=1_000)
    print(f"{trained.steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
