"""Steps until DQN of Stable-Baselines3 has learned a task, with shaping and counterfactual experiences.

    pip install "rewardmachines[sb3]"
    python benchmarks/sb3.py short               task and settings of examples/sb3_frozen_lake.py
    python benchmarks/sb3.py long                five places, larger batches
    python benchmarks/sb3.py long seeds=1 steps=10000

A task counts as learned when three greedy episodes in a row, a thousand steps apart, have reached the goal. All
settings are the same for all variants.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import torch
from record import Figures
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

import rewardmachines as rm
from rewardmachines.agents.stable_baselines3 import CounterfactualReplayBuffer
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

LAKE = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
PLACES = {0: "home", 4: "hut", 20: "buoy", 24: "lookout"}
TASKS = {"short": "hut ; buoy ; home", "long": "hut ; buoy ; home ; lookout ; hut"}
SETTINGS: Mapping[str, dict[str, Any]] = {
    "short": {"target_update_interval": 500},
    "long": {"target_update_interval": 100, "train_freq": 2, "batch_size": 128},
}
LONGEST = {"short": 20_000, "long": 15_000}
"""Steps after which an agent has failed."""
DISCOUNT = 0.97
figures = Figures("sb3")
EVERY, IN_A_ROW, ENOUGH = 1_000, 3, 0.95
VARIANTS: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "shaping": {"shaping": DISCOUNT},
    "counterfactuals": {"counterfactuals": True},
    "both": {"shaping": DISCOUNT, "counterfactuals": True},
}


def make(task: str, **options: Any) -> HierarchyWrapper:
    """The lake with a task, and with the options of `HierarchyWrapper`."""
    lake = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100)
    labelled = LabelingWrapper(
        lake, labels=lambda cell: {PLACES[cell]} if cell in PLACES else set(), propositions=PLACES.values()
    )
    return HierarchyWrapper(labelled, rm.compile_task(TASKS[task]), append_state=True, **options)


@dataclass
class UntilLearned(BaseCallback):  # type: ignore[misc]
    """Ends the training when the task is learned."""

    task: str
    returns: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def _on_step(self) -> bool:
        if self.num_timesteps % EVERY == 0:
            self.returns.append(float(evaluate_policy(self.model, make(self.task), n_eval_episodes=1, warn=False)[0]))
        return not self.is_learned

    @property
    def is_learned(self) -> bool:
        """Whether the last greedy episodes all reached the goal."""
        return len(self.returns) >= IN_A_ROW and min(self.returns[-IN_A_ROW:]) >= ENOUGH


def measure(task: str, variant: str, seed: int, steps: int) -> None:
    """Trains one agent, and prints after how many steps it had learned the task."""
    options = VARIANTS[variant]
    buffer = CounterfactualReplayBuffer if options.get("counterfactuals") else None
    agent = DQN(
        "MlpPolicy",
        make(task, **options),
        gamma=DISCOUNT,
        learning_rate=1e-3,
        buffer_size=50_000,
        learning_starts=1_000,
        exploration_fraction=0.5,
        **SETTINGS[task],
        replay_buffer_class=buffer,
        seed=seed,
    )
    watching, began = UntilLearned(task), time.monotonic()
    agent.learn(steps, callback=watching)
    seconds = time.monotonic() - began
    learned = f"{agent.num_timesteps:6,} steps" if watching.is_learned else f"not in {steps:,} steps"
    print(f"{variant:16} seed {seed}: {learned}, {seconds:3.0f} s", flush=True)
    figures.add("steps", f"{task}, {variant}", f"seed {seed}", learned.strip())


if __name__ == "__main__":
    torch.set_num_threads(1)
    chosen, *words = sys.argv[1:] or ["long"]
    asked = {"seeds": 3, "steps": LONGEST[chosen]} | {k: int(v) for k, v in (word.split("=") for word in words)}
    for number in range(asked["seeds"]):
        for each in VARIANTS:
            measure(chosen, each, number, asked["steps"])
