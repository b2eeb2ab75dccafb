"""A guard's round in MiniGrid without given machines: LHRM learns errands, and the round made of them.

    python examples/minigrid_learn.py [SEED]

Of each task, the agent gets to know what lies ahead of it, the key or the door, and when the task is done. It sees both
all the time, so neither shows where the goal is: what counts is the order. At the end, what was learned is compared
with the truth, over all sequences of labels.
"""

import sys
import time
from functools import partial

import gymnasium
import minigrid  # noqa: F401  (registers its environments)

import rewardmachines as rm
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper, MiniGridPlanes, label_minigrid

PROPOSITIONS = {"key": "key-ahead", "door": "door-ahead"}
TASKS = {"out": "key ; door", "back": "door ; key", "round": "out ; back"}
TRUTH = {name: rm.compile_task(name, tasks=TASKS, propositions=list(PROPOSITIONS)) for name in TASKS}


def make(task: str) -> LabelingWrapper:
    grid = gymnasium.make("MiniGrid-DoorKey-5x5-v0", agent_view_size=3, max_episode_steps=100)
    judged = HierarchyWrapper(label_minigrid(MiniGridPlanes(grid), PROPOSITIONS), TRUTH[task])
    return label_minigrid(judged, PROPOSITIONS)


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    tasks = {name: (partial(make, name), 2 if name == "round" else 1) for name in TASKS}
    run = rm.learn(tasks, steps=400_000, seed=seed, network=NetworkConfig(Body.MLP, hidden=(64, 64)))
    for name, hierarchy in run.machines.items():
        same = rm.equivalent(hierarchy, TRUTH[name], labels=rm.singletons(PROPOSITIONS), events=True)
        print(*hierarchy[name].edges, f"{name}: height {hierarchy.height}, {'right' if same else 'wrong'}", sep="\n")
    for greedy in run.evaluate():
        print(f"greedy return of '{greedy.task}': {greedy.mean_return:.2f}")
    print(f"in {time.monotonic() - began:.0f} seconds", *run.missing.values(), sep="\n")
