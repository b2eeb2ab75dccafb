"""Calls of `policy.act` in a second, of small policies for observations of eight numbers.

    python benchmarks/acting.py              both agents
    python benchmarks/acting.py --record     kept in results/speed

Each figure is that of the best of several rounds, since other programs only ever take time away.
"""

from __future__ import annotations

import time
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from record import Figures

from rewardmachines.envs import LabelingWrapper
from rewardmachines.runs.verbs import train

figures = Figures("acting", on_cpu=True)
TASK: Final = "a ; b"
ROUNDS: Final = 40
CALLS: Final = 100


class Numbers(gymnasium.Env[Any, Any]):
    """An environment of eight random numbers, in which nothing happens."""

    observation_space = spaces.Box(-1, 1, (8,), np.float32)
    action_space = spaces.Discrete(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:  # noqa: ARG002
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ARG002
        return self.observation_space.sample(), 0.0, False, False, {}


def make() -> Any:
    """Makes the environment, with labels that are never true."""
    return gymnasium.wrappers.TimeLimit(LabelingWrapper(Numbers(), labels=lambda _: set(), propositions=["a", "b"]), 20)


def calls_in_a_second(agent: str) -> float:
    """Calls of the policy of an agent in a second."""
    small = {"environments": 4, "chunk": 4, "batch": 8, "replay_start": 16}
    run: Any = train(make, TASK, agent=agent, settings=small, steps=64, stop_at=0)
    policy, seen = run.policy(), np.random.default_rng(0).uniform(-1, 1, (CALLS, 8)).astype(np.float32)
    policy.reset()
    policy.act(seen[0], ())  # compiled
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for one in seen:
            policy.act(one, ())
        times.append(time.perf_counter() - began)
    return CALLS / min(times)


def main() -> None:
    """Measures both agents."""
    for agent in ("crm", "hrl"):
        found = round(calls_in_a_second(agent), -1)
        print(f"{agent}: {found:,.0f} calls of policy.act in a second, two layers of 64")
        figures.add("acting", f"policy.act, {agent}, two layers of 64", "calls", found, "/s")


if __name__ == "__main__":
    main()
