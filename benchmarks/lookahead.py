"""Options that look ahead beside options as published and CRM, where the nearest way leads nowhere.

    python benchmarks/lookahead.py                      the pit: half a minute for each agent and seed
    python benchmarks/lookahead.py pit --seeds 4
    python benchmarks/lookahead.py lander               LunarLander "left ; right" (needs rewardmachines[box2d])

In the pit, nine cells lie in a row, and the nearest of two keys in a pit, from where no way leads to the door. In
LunarLander, a fall to the left at once never gets to the right. Options as published are the reference: they go
where their formula is satisfied soonest. All agents of a task have the same budget, and settings that differ only where
the algorithms do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from rich.console import Console
from rich.table import Table

import rewardmachines as rm
from rewardmachines.agents.config import AgentConfig, EpsilonSchedule
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.rollout.gym_settings import GYMNASIUM

CELLS, START, PIT, KEY, DOOR = 9, 3, 1, 6, 8
PLAIN, AHEAD, CRM = "options as published", "options that look ahead", "CRM"
console = Console(width=120, highlight=False, emoji=False)

SMALL: Final = replace(
    GYMNASIUM,
    network=NetworkConfig(Body.MLP, hidden=(32,)),
    learning_rate=3e-3,
    replay_size=8_000,
    replay_start=200,
    target=50,
    exploration=replace(GYMNASIUM.exploration, steps=1_500),
    calls=replace(
        GYMNASIUM.calls,
        network=NetworkConfig(Body.MLP, hidden=(16,)),
        learning_rate=3e-3,
        replay_start=32,
        updates=1.0,
        exploration=replace(GYMNASIUM.calls.exploration, steps=50),
    ),
)
"""Settings for the pit, which has nine states."""
SMALL_CRM: Final = CrmConfig(
    network=SMALL.network,
    learning_rate=SMALL.learning_rate,
    updates=4,
    replay_size=SMALL.replay_size,
    replay_start=SMALL.replay_start,
    target=SMALL.target,
    exploration=EpsilonSchedule(steps=8_000),  # one Q-function learns the whole task, so it explores for longer
)


class Pit(gymnasium.Env[Any, Any]):
    """Nine cells in a row, left and right. No way leads out of the pit, which holds a key that is two steps away."""

    observation_space = spaces.Discrete(CELLS)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode between the keys."""
        super().reset(seed=seed, options=options)
        self.cell = START
        return self.cell, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Goes one cell to the left or to the right."""
        if self.cell != PIT:
            self.cell = int(np.clip(self.cell + (-1, 1)[action], 0, CELLS - 1))
        return self.cell, 0.0, False, False, {}


def make_pit() -> LabelingWrapper:
    """The pit with labels, in episodes of 20 steps."""
    places = {PIT: {"key"}, KEY: {"key"}, DOOR: {"door"}}
    row = gymnasium.wrappers.TimeLimit(Pit(), 20)
    return LabelingWrapper(row, labels=lambda cell: places.get(cell, set()), propositions=["key", "door"])


def make_lander() -> LabelingWrapper:
    """LunarLander with the sides that it is on."""
    return LabelingWrapper(
        gymnasium.make("LunarLander-v3"),
        labels=lambda seen: {"left": bool(seen[0] < -0.2), "right": bool(seen[0] > 0.2)},
        propositions=["left", "right"],
    )


@dataclass(frozen=True)
class Contest:
    """A task, and what each contestant is given for it; no settings are the usual ones."""

    make: Callable[[], LabelingWrapper]
    task: str
    steps: int
    seconds: float
    episodes: int
    settings: dict[str, tuple[Any, str]]
    """The settings of each contestant, and the name of its agent."""


def _without_lookahead(config: AgentConfig) -> AgentConfig:
    return replace(config, lookahead=0.0)  # type: ignore[call-arg]


CONTESTS: Final = {
    "pit": Contest(
        make_pit,
        "key ; door",
        steps=16_000,
        seconds=300,
        episodes=1,
        settings={
            PLAIN: (SMALL, "hrl"),
            AHEAD: (replace(SMALL, lookahead=1.0), "hrl"),
            CRM: (SMALL_CRM, "crm"),
        },
    ),
    "lander": Contest(
        make_lander,
        "left ; right",
        steps=400_000,
        seconds=1_200,
        episodes=50,
        settings={
            PLAIN: (_without_lookahead, "hrl"),
            AHEAD: (None, "hrl"),
            CRM: (None, "crm"),
        },
    ),
}


def greedy_return(contest: Contest, agent: str, seed: int) -> float:
    """Trains an agent for the whole budget, and returns its mean greedy return afterwards."""
    settings, name = contest.settings[agent]
    run = rm.train(
        contest.make, contest.task, agent=name, settings=settings, seed=seed, steps=contest.steps,
        seconds=contest.seconds,
    )  # fmt: skip
    env, policy = HierarchyWrapper(contest.make(), rm.compile_task(contest.task)), run.policy()
    return fmean(rm.play(env, policy, seed=1_000 + number)[0] for number in range(contest.episodes))


def _compared(mean: float, reference: float) -> str:
    return "-" if reference == 0 else f"{mean / reference:.2f}"


def main() -> None:
    """Runs a contest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contest", nargs="?", choices=list(CONTESTS), default="pit")
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds, from 0 on (default: %(default)s)")
    asked = parser.parse_args()
    contest = CONTESTS[asked.contest]
    title = f"{asked.contest}: {contest.task}, at most {contest.steps:,} steps, {contest.episodes} greedy episodes"
    table = Table("agent", "greedy returns by seed", "mean", "÷ as published", "seconds", title=title)
    reference = 0.0
    for agent in contest.settings:
        began = time.monotonic()
        returns = [greedy_return(contest, agent, seed) for seed in range(asked.seeds)]
        mean = sum(returns) / len(returns)
        reference = mean if agent == PLAIN else reference
        taken = (time.monotonic() - began) / len(returns)
        cells = " ".join(f"{value:.2f}" for value in returns), f"{mean:.2f}", _compared(mean, reference), f"{taken:.0f}"
        table.add_row(agent, *cells)
        console.print(agent, *cells, sep="  ")
    console.print(table)


if __name__ == "__main__":
    main()
