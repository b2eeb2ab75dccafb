"""MiniGrid's DoorKey: take the key, open the door, and walk to the goal. Learned in a minute or two.

    python examples/minigrid_doorkey.py [SEED]

Every episode has another grid. The agent sees all of it, as planes; `agent_view_size=3` makes MiniGrid's own view,
which nobody looks at, as small as it can be, and the environment three times as fast.
"""

import sys
import time

import gymnasium
import minigrid  # noqa: F401  (registers its environments)

import rewardmachines as rm
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.training import Progress
from rewardmachines.envs import HierarchyWrapper, MiniGridPlanes, label_minigrid

PROPOSITIONS = {"key": "yellow-key-carried", "door": "door-open", "goal": "goal-here"}
TASK = rm.compile_task("key ; door ; goal")


def make() -> HierarchyWrapper:
    grid = gymnasium.make("MiniGrid-DoorKey-5x5-v0", agent_view_size=3, max_episode_steps=100)
    return HierarchyWrapper(label_minigrid(MiniGridPlanes(grid), PROPOSITIONS), TASK)


def report(progress: Progress) -> None:
    print(f"{progress.steps:7,} steps, {progress.episodes:5,} episodes, mean return {progress.mean_return or 0:.2f}")


if __name__ == "__main__":
    began = time.monotonic()
    seed = int(sys.argv[1]) if sys.argv[1:] else 0
    trained = train_gymnasium(vectorize(make, 16), TASK, steps=60_000, seed=seed, progress=report)
    print(f"mean greedy return: {trained.evaluate(make(), 100, seed=1000):.2f} in 100 episodes")
    print(f"in {time.monotonic() - began:.0f} seconds")
