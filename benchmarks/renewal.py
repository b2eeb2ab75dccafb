"""Costs of renewing the Q-function of one formula: returns of all tasks before and after, with four actions.

    python benchmarks/renewal.py                    CliffWalking, FrozenLake and LunarLander, seed 0
    python benchmarks/renewal.py lake seeds=3       one of them, with seeds 0, 1 and 2

Machines and policies are learned from interaction, with the usual settings: 16 slots of four actions each, and hidden
layers of 64 units. Then a slot that no task needs is renewed, as happens when formulas are merged and the slot is taken
over. No return may change by that. A run takes about a minute on two cores.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import fmean
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np
from record import Figures
from rich.console import Console
from rich.table import Table

import rewardmachines as rm
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.tables import with_new_formulas
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.session import Session

figures = Figures("renewal")
console = Console(width=120, highlight=False, emoji=False)
EPISODES: Final = 50
"""Greedy episodes of each task."""
LAKE: Final = ["SFFFF", "FFFFF", "FFHFF", "FFFFF", "FFFFF"]
ICE: Final = {0: "home", 4: "hut", 20: "buoy", 12: "hole"}
CLIFF: Final = {36: "home", 29: "edge", 30: "edge", 0: "west", 11: "east", 47: "goal"}


def at(places: dict[int, str]) -> Callable[[int], set[str]]:
    """Labels of a world of cells: the places that have names."""
    return lambda cell: {places[int(cell)]} if int(cell) in places else set()


def sides(observation: Any) -> dict[str, bool]:
    """Labels of the lander: on which side it is."""
    return {"left": bool(observation[0] < -0.2), "right": bool(observation[0] > 0.2)}


class WithoutDeadEnds(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A crash cuts an episode off: no label shows it, so that no machine could be learned from it."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, is_over, is_cut, info = self.env.step(action)
        return observation, reward, False, is_over or is_cut, info


class World(NamedTuple):
    """A world in which tasks are learned."""

    make: Callable[[], gymnasium.Env[Any, Any]]
    labels: Callable[[Any], Any]
    propositions: tuple[str, ...]
    tasks: tuple[str, ...]
    steps: int
    """The actions that learning may take."""


WORLDS: Final = {
    "cliff": World(
        lambda: gymnasium.make("CliffWalking-v1", max_episode_steps=200),
        at(CLIFF),
        tuple(dict.fromkeys(CLIFF.values())),
        ("edge ; goal", "west ; goal"),
        200_000,
    ),
    "lake": World(
        lambda: gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=100),
        at(ICE),
        tuple(ICE.values()),
        ("hut ; home", "buoy ; home"),
        200_000,
    ),
    "lander": World(
        lambda: WithoutDeadEnds(gymnasium.make("LunarLander-v3")),
        sides,
        ("left", "right"),
        ("left", "right"),
        200_000,
    ),
}


def make_task(world: World, task: str) -> LabelingWrapper:
    """The world, whose episodes end when the task is done."""
    plain = LabelingWrapper(world.make(), labels=world.labels, propositions=world.propositions)
    paying = HierarchyWrapper(plain, rm.compile_task(task))
    return LabelingWrapper(paying, labels=world.labels, propositions=world.propositions)


def learned_in(world: World, seed: int) -> Session:
    """Learns the tasks of a world, and returns the run in memory."""
    chunks: list[Chunk] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what cannot be learned: only what is learned is looked at
        tasks = {task: partial(make_task, world, task) for task in world.tasks}
        rm.learn(tasks, steps=world.steps, seed=seed, callbacks=[chunks.append])
    return chunks[-1].session


def renewed(run: Lhrm) -> Any:
    """The Q-functions of the agent, with the last slot renewed, which no formula is in."""
    slot = run.state.agent.formulas.updates.shape[0] - 1
    assert slot not in run.registry.slots.values()
    return with_new_formulas(run.state.agent, [slot], run.config, run.suite, np.random.default_rng(0))


def returns(world: World, session: Session, agent: Any) -> str:
    """The share of greedy episodes at the goal, of each task that has a machine."""
    shares = []
    for name in session.algorithm.learned_machines:
        env, policy = make_task(world, name), session.policy(name, agent)
        shares.append(fmean(rm.play(env, policy, seed=number)[0] for number in range(EPISODES)))
    return "  ".join(f"{share:.2f}" for share in shares)


def main(words: list[str]) -> None:
    """Learns in the worlds that were named, or in all."""
    names = [word for word in words if "=" not in word]
    options: dict[str, Any] = dict(word.split("=", 1) for word in words if "=" in word)
    if set(names) - set(WORLDS) or set(options) - {"seeds"}:
        sys.exit(f"worlds are {', '.join(WORLDS)}; the only option is seeds=N")
    table = Table("world", "seed", "tasks", "steps", "seconds", "returns", "after a renewal", title="Renewed heads")
    for world in names or WORLDS:
        for seed in range(int(options.get("seeds", 1))):
            began = time.monotonic()
            session = learned_in(WORLDS[world], seed)
            run, took = session.algorithm, time.monotonic() - began
            assert isinstance(run, Lhrm)
            before, after = (returns(WORLDS[world], session, agent) for agent in (run.state.agent, renewed(run)))
            tasks, steps = ", ".join(run.learned_machines), run.counters.steps
            table.add_row(world, str(seed), tasks, f"{steps:,}", f"{took:.0f}", before, after)
            what = f"{world}, seed {seed}"
            figures.add("returns", what, "learned in", round(took), "s")
            figures.add("returns", what, "steps", steps)
            figures.add("returns", what, "after a renewal", after, "returns", (before, "before it"))
    console.print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
