"""DQN of Stable-Baselines3 on the ice: call at the hut and at the buoy, and be home again. Learned in half a minute.

    pip install 'rewardmachines[sb3]'       # in a clone: pip install '.[sb3]'
    python examples/sb3_frozen_lake.py [SEED]

The observation includes the state of the task, and shaping rewards progress without changing the optimal policies.
"""

import sys

import gymnasium
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.evaluation import evaluate_policy

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

LAKE = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
PLACES = {0: "home", 4: "hut", 20: "buoy"}
TASK = rm.compile_task("hut ; buoy ; home")
DISCOUNT = 0.97


def make(shaping: float | None = None) -> HierarchyWrapper:
    lake = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100)
    labelled = LabelingWrapper(lake, labels=lambda cell: {PLACES[cell]} if cell in PLACES else set(),
                               propositions=PLACES.values())  # fmt: skip
    return HierarchyWrapper(labelled, TASK, append_state=True, shaping=shaping)


if __name__ == "__main__":
    torch.set_num_threads(1)  # more only get in each other's way in networks this small
    seed = int(sys.argv[1]) if sys.argv[1:] else 0
    agent = DQN("MlpPolicy", make(shaping=DISCOUNT), gamma=DISCOUNT, learning_rate=1e-3, learning_starts=1_000,
                target_update_interval=500, exploration_fraction=0.5, seed=seed)  # fmt: skip
    agent.learn(20_000)
    returned, _ = evaluate_policy(agent, make(), n_eval_episodes=1, warn=False)
    print(f"greedy return: {returned:.2f}")
