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


def report(chunk: Any) -> None:
    if chunk.row.mean_return is not None:
        print(f"{chunk.row.steps:9,} steps, {chunk.row.episodes:6,} episodes, return {chunk.row.mean_return:.2f}")


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    run = rm.train(make, TASK, seed=seed, steps=600_000, seconds=270, stop_at=0.97, callbacks=[report])
    env, policy = HierarchyWrapper(make(), TASK), run.policy()
    returned = sum(rm.play(env, policy, seed=seed)[0] for seed in range(1_000, 1_100)) / 100
    print(f"{run.rows[-1].steps:,} steps in {time.monotonic() - began:.0f} seconds")
    print(f"greedy return: {returned:.2f}")
