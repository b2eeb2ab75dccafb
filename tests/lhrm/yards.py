"""Tasks of the yard whose environments are found by name, and some that are not decided by their seed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from lhrm.test_gymnasium import CONFIG, PROPOSITIONS, Yard, labels
from rewardmachines.envs import LabelingWrapper
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks, learn_gymnasium
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask


def _labelled(env: Yard) -> Any:
    return LabelingWrapper(gymnasium.wrappers.TimeLimit(env, 60), labels=labels, propositions=PROPOSITIONS)


def make_ab() -> Any:
    return _labelled(Yard("ab"))


def make_bc() -> Any:
    return _labelled(Yard("bc"))


def make_all() -> Any:
    return _labelled(Yard("abbc"))


class Moody(Yard):
    """A yard in which episodes begin where another chance than its own wants it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = random.choice((1, 3, 4, 5, 7))
        return self.cell, {}


def make_moody() -> Any:
    return _labelled(Moody("ab"))


def encode(cell: int) -> Any:
    return np.eye(9)[cell]


TASKS = (
    GymTask("ab", 1, make_ab),
    GymTask("bc", 1, make_bc, instances=3),
    GymTask("all", 2, make_all),
)
"""With and without instances."""
FEW = replace(CONFIG, agent=replace(CONFIG.agent, chunk=20, environments=20), first_goals=5, examples=5)
"""Settings with which the first machines are learned in a few thousand steps."""
STEPS = 20 * 20
"""Of a chunk."""


def learn(folder: Any, steps: int | None = 30 * STEPS, **options: Any) -> LearnedTasks:
    """Learns in a folder, with few cores."""
    if not options.get("resume"):
        options = {"tasks": TASKS, "config": FEW, "max_steps": 60, "seed": 3, **options}
    with Solvers(cores=1) as solvers:
        return learn_gymnasium(folder=folder, steps=steps, solvers=solvers, **options)
