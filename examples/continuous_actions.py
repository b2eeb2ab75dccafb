"""Pendulum has continuous actions: made a choice of three, our agents swing it to the right, and then up.

python examples/continuous_actions.py [SEED]
"""

import sys

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import DiscreteActions, HierarchyWrapper, LabelingWrapper

TASK = rm.compile_task("right ; up")


def labels(observation: list[float]) -> dict[str, bool]:
    cosine, sine, _ = observation
    return {"right": bool(sine < -0.9), "up": bool(cosine > 0.95)}


def make() -> HierarchyWrapper:
    pendulum = DiscreteActions(gymnasium.make("Pendulum-v1"), levels=3)
    return HierarchyWrapper(LabelingWrapper(pendulum, labels=labels, propositions=["right", "up"]), TASK)


if __name__ == "__main__":
    seed = int(sys.argv[1]) if sys.argv[1:] else 0
    run = rm.train(make, TASK, steps=40_000, seed=seed)
    env, policy = make(), run.policy()
    print(f"greedy return {sum(rm.play(env, policy, seed=seed)[0] for seed in range(20)) / 20:.2f}")
