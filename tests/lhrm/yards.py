"""Yards: small Gymnasium environments in which places are visited in some order, and what is learned in them.

Some are found by name, and some are not decided by their seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.equivalence import difference
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.envs import LabelingWrapper
from rewardmachines.language import compile_task
from rewardmachines.lhrm.presets import LHRM_GYMNASIUM
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.runs import verbs
from rewardmachines.runs.run import Run
from rewardmachines.traces import singletons

PLACES = {0: "a", 2: "b", 6: "c", 8: "pit"}
PROPOSITIONS = tuple(PLACES.values())
STARTS = (1, 3, 4, 5, 7)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
ROUTES = {"ab": "ab", "bc": "bc", "all": "abbc"}
"""What is to be visited, in this order; a place that is there twice must be left and entered again."""


def _edges(first: str, second: str) -> list[Edge]:
    here, there = f"{first} & !pit", f"{second} & !pit"
    moves = (("u0", "u1", here), ("u0", "uR", "pit"), ("u1", "uA", there), ("u1", "uR", "pit"))
    return [Edge(source, target, parse_formula(formula)) for source, target, formula in moves]


AB = machine("ab", _edges("a", "b"), rejecting=("uR",))
TASK = compile_task("a ; b", avoid=["pit"])
"""What policies are trained for."""
BC = machine("bc", _edges("b", "c"), rejecting=("uR",))
ALL = machine("all", [Edge("u0", "u1", parse_formula("true"), "ab"), Edge("u1", "uA", parse_formula("true"), "bc")])
TRUTH = {
    "ab": Hierarchy("ab", (AB,), PROPOSITIONS),
    "bc": Hierarchy("bc", (BC,), PROPOSITIONS),
    "all": Hierarchy("all", (ALL, AB, BC), PROPOSITIONS),
}


class Yard(gymnasium.Env[Any, Any]):
    """Nine cells, with three places and a pit in the corners. Actions are counted from 1."""

    open = 0
    """Yards that have not been closed yet, in the whole process."""

    def __init__(self, route: str, *, deadly: bool = True) -> None:
        self.observation_space, self.action_space = spaces.Discrete(9), spaces.Discrete(4, start=1)
        self.route, self.deadly = route, deadly
        Yard.open += 1

    def close(self) -> None:
        Yard.open -= 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.left = int(self.np_random.choice(STARTS)), list(self.route)
        return self.cell, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        down, right = MOVES[action - 1]
        before, row, column = self.cell, self.cell // 3 + down, self.cell % 3 + right
        if 0 <= row < 3 and 0 <= column < 3:
            self.cell = 3 * row + column
        if self.cell != before and PLACES.get(self.cell) == self.left[0]:
            self.left.pop(0)
        is_dead = self.deadly and PLACES.get(self.cell) == "pit"
        return self.cell, float(not self.left), is_dead or not self.left, False, {}


def labels(cell: int) -> set[str]:
    """What is seen in a cell."""
    return {PLACES[cell]} if cell in PLACES else set()


def labelled(env: Yard, labels: Callable[[int], set[str]] = labels) -> Any:
    """A yard with its labels, whose episodes are cut off after 60 steps."""
    return LabelingWrapper(gymnasium.wrappers.TimeLimit(env, 60), labels=labels, propositions=PROPOSITIONS)


def maker(route: str, *, labels: Callable[[int], set[str]] = labels, deadly: bool = True) -> Callable[[], Any]:
    """Makes environments in which the places of a route are to be visited."""
    return lambda: labelled(Yard(route, deadly=deadly), labels)


CONFIG = replace(
    LHRM_GYMNASIUM,
    agent=replace(
        LHRM_GYMNASIUM.agent,
        environments=30,
        batch=64,
        chunk=50,
        evaluate_every=2,
        network=NetworkConfig(Body.MLP, hidden=(32,)),
        learning_rate=3e-3,
        replay_size=10_000,
        replay_start=500,
        exploration=replace(LHRM_GYMNASIUM.agent.exploration, steps=1_000),
        calls=replace(
            LHRM_GYMNASIUM.agent.calls,
            network=NetworkConfig(Body.MLP, hidden=(16,)),
            exploration=replace(LHRM_GYMNASIUM.agent.calls.exploration, steps=30),
        ),
    ),
    goals=(10, 20),
    examples=5,
    learner_seconds=5.0,
)


def is_exact(run: Run, name: str) -> bool:
    """Whether the machine of a task is right about all traces that there can be."""
    return difference(run.hierarchy(name), TRUTH[name], labels=singletons(PROPOSITIONS), events=True) is None


def make_ab() -> Any:
    return labelled(Yard("ab"))


def make_bc() -> Any:
    return labelled(Yard("bc"))


def make_all() -> Any:
    return labelled(Yard("abbc"))


class Moody(Yard):
    """A yard in which episodes begin where another chance than its own wants it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = random.choice(STARTS)
        return self.cell, {}


def make_moody() -> Any:
    return labelled(Moody("ab"))


def encode(cell: int) -> Any:
    return np.eye(9)[cell]


TASKS = (
    GymTask("ab", 1, make_ab),
    GymTask("bc", 1, make_bc, instances=3),
    GymTask("all", 2, make_all),
)
"""With and without instances."""
FEW = replace(CONFIG, agent=replace(CONFIG.agent, chunk=20, environments=20), goals=(5, 20), examples=5)
"""Settings with which the first machines are learned in a few thousand steps."""
STEPS = 20 * 20
"""Steps of a chunk."""


def learn(folder: Any, steps: int | None = 16 * STEPS, **options: Any) -> Run:
    """Learns in yards, in a folder or none, or goes on with a run."""
    if not options.get("resume"):
        options = {"where": TASKS, "settings": FEW, "max_steps": 60, "seed": 3, **options}
    run: Run = verbs.learn(folder=folder, steps=steps, **options)
    return run


def train(folder: Any, steps: int | None = 10 * STEPS, **options: Any) -> Run:
    """Trains to visit two places, in three instances, or goes on with a run."""
    if not options.get("resume"):
        usual = {"where": make_ab, "task": TASK, "name": "ab", "settings": FEW.agent, "instances": 3}
        options = {**usual, "max_steps": 60, "seed": 3, "stop_at": 0, **options}
    run: Run = verbs.train(folder=folder, steps=steps, **options)
    return run
