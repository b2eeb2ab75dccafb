"""Any Gymnasium environment can have a task: on FrozenLake, call at the lookout before you go to the goal.

    python examples/frozen_lake.py

Random walks are enough to see the hierarchy move. Any agent for vectors and discrete actions can learn the task, for
the observation includes the hierarchy state.
"""

from collections import Counter

import gymnasium

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

PLACES = {8: "lookout", 15: "goal", 5: "hole", 7: "hole", 11: "hole", 12: "hole"}


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


lake = LabelingWrapper(
    gymnasium.make("FrozenLake-v1", is_slippery=False), labels=labels, propositions=set(PLACES.values())
)
env = HierarchyWrapper(lake, rm.compile_task("lookout ; goal avoid hole"), append_state=True)

ends: Counter[str] = Counter()
env.action_space.seed(0)
observation, info = env.reset(seed=0)
for _ in range(20_000):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    if terminated or truncated:
        ends[info["verdict"]] += 1
        observation, info = env.reset()
print(f"episodes by verdict: {dict(ends)}; an observation has {observation.size} numbers")
