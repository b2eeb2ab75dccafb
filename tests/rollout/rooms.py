"""Two rooms in both drivers: the toy domain, and the same world in plain Python as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rewardmachines as rm
from agents.two_rooms import CELLS, COLUMNS, DOOR, MOVES, PLAN, PROPOSITIONS, ROWS, TwoRooms
from lhrm.toy import TOY as LONG
from rewardmachines.agents.config import AgentConfig, EpsilonSchedule
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import agent_kind
from rewardmachines.agents.setup import looks_ahead, prepare
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs import LabelingWrapper
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.training import Training
from rewardmachines.rollout.vector_environments import VectorSuite
from rewardmachines.traces import singletons

MAX_STEPS = 35
TOY = replace(LONG, environment=TwoRooms(DOOR), max_steps=MAX_STEPS)
"""Episodes begin in the door, from where no place is far."""
LABELS = singletons(PROPOSITIONS)
"""All labels that can be seen: at most one proposition is true."""
TREE = rm.compile_task("visit ; k", tasks={"visit": "k ; [!k]"}, avoid=["g"], propositions=PROPOSITIONS)
"""A task that calls a machine, to enter `k` and leave it again, then comes back, and fails at `g`."""
ROUTES = {"fetch": "kb", "press": "bg"}
"""The places of each task whose machine is learned, in this order."""
CONFIG = HierarchicalDqnConfig(
    environments=4,
    batch=16,
    network=NetworkConfig(Body.MLP, hidden=(16,)),
    replay_size=4_000,
    replay_start=100,
    target=20,
    chunk=20,
    evaluate_every=2,
    exploration=EpsilonSchedule(steps=400),
    calls=CallConfig(
        network=NetworkConfig(Body.MLP, hidden=(8,)),
        replay_size=100,
        replay_start=5,
        exploration=EpsilonSchedule(steps=20),
    ),
)

STEPS = 5 * CONFIG.environments * CONFIG.chunk
"""Steps of a few chunks."""


def moved(cell: int, action: int) -> int:
    """Where an action leads from a cell: nowhere, if a wall is in the way."""
    row, column = cell // COLUMNS + int(MOVES[action][0]), cell % COLUMNS + int(MOVES[action][1])
    row, column = min(max(row, 0), ROWS - 1), min(max(column, 0), COLUMNS - 1)
    return cell if PLAN[row][column] == "#" else row * COLUMNS + column


def label_of(cell: int) -> Label:
    """The label of a cell."""
    return frozenset({"".join(PLAN)[cell]}) & frozenset(PROPOSITIONS)


class Rooms(gymnasium.Env[Any, Any]):
    """Two rooms in plain Python. With a route, an episode ends at its last place; otherwise it goes on."""

    observation_space = spaces.Discrete(CELLS)
    action_space = spaces.Discrete(4)
    opened = 0
    """Environments that have not been closed yet, in the whole process."""

    def __init__(self, route: str = "", log: list[Any] | None = None) -> None:
        self.route, self.log = route, [] if log is None else log
        Rooms.opened += 1

    def close(self) -> None:
        Rooms.opened -= 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.left = DOOR, list(self.route)
        return self.cell, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self.cell = self.cell, moved(self.cell, int(action))
        self.log.append((before, int(action), self.cell))
        is_new = label_of(self.cell) != label_of(before)
        if self.left and is_new and label_of(self.cell) == {self.left[0]}:
            self.left.pop(0)
        is_done = bool(self.route) and not self.left
        return self.cell, float(is_done), is_done, False, {}


def labelled(env: gymnasium.Env[Any, Any], steps: int = MAX_STEPS) -> LabelingWrapper:
    """The rooms with their labels, in episodes of limited length."""
    return LabelingWrapper(gymnasium.wrappers.TimeLimit(env, steps), labels=label_of, propositions=PROPOSITIONS)


def make_rooms() -> LabelingWrapper:
    """The rooms, to be used with any hierarchy."""
    return labelled(Rooms())


def maker(route: str) -> Callable[[], LabelingWrapper]:
    """Makes rooms in which the places of a route are to be visited."""
    return lambda: labelled(Rooms(route))


@dataclass(frozen=True)
class Case:
    """An algorithm and a driver: `hrl` or `crm` with a given hierarchy, or `lhrm`, which learns machines."""

    driver: str
    algorithm: str

    def __str__(self) -> str:
        return f"{self.algorithm}-{self.driver}"

    @property
    def learns_machines(self) -> bool:
        return self.algorithm == "lhrm"

    def settings(self, **changes: Any) -> Any:
        """The settings of the agent, with changes."""
        config = replace(CONFIG, **changes)
        return config if self.learns_machines else agent_kind(self.algorithm).settings(config)

    def run(
        self,
        stack: ExitStack,
        *,
        seed: int = 0,
        tree: Hierarchy = TREE,
        episodes: int | None = None,
        **changes: Any,
    ) -> Any:
        """The algorithm in memory, at its beginning. Its environments are closed with the stack."""
        if self.learns_machines:
            run: Any = _learning(self.driver, self.settings(**changes), seed)
        else:
            run = training(self.driver, self.algorithm, self.settings(**changes), seed, tree, episodes)
        if isinstance(run.suite, GymSuite):
            stack.callback(run.suite.close)
        return run


CASES = [Case(driver, algorithm) for algorithm in ("hrl", "crm", "lhrm") for driver in ("jax", "gym")]
TRAINED = [case for case in CASES if not case.learns_machines]


def training(
    driver: str,
    algorithm: str,
    config: AgentConfig,
    seed: int = 0,
    tree: Hierarchy = TREE,
    episodes: int | None = None,
) -> Training:
    """Training with a given hierarchy in the rooms."""
    if driver == "gym":
        suite = GymSuite([GymTask("task", 1, make_rooms, 1, tree)], max_steps=MAX_STEPS, seed=seed)
        return _trained(suite, algorithm, config, tree, seed, LABELS, episodes)
    return _trained(JaxSuite(TOY, ["task"], given=True), algorithm, config, tree, seed, LABELS, episodes)


def gym_training(
    make: Callable[[], Any],
    tree: Hierarchy,
    config: AgentConfig,
    *,
    seed: int = 0,
    labels: Iterable[Iterable[str]] | None = None,
    mode: AutoresetMode | None = None,
) -> Training:
    """Training with a given hierarchy in any environment; in a vector of them, if a mode of resets is given."""
    task = GymTask("task", 1, make, hierarchy=tree)
    if mode is None:
        suite = GymSuite([task], seed=seed)
    else:
        suite = VectorSuite(SyncVectorEnv([make] * config.environments, autoreset_mode=mode), task, seed=seed)
    algorithm = "crm" if isinstance(config, CrmConfig) else "hrl"
    seen = None if labels is None else tuple(map(frozenset, labels))
    return _trained(suite, algorithm, config, tree, seed, seen)


def _trained(
    suite: Any,
    algorithm: str,
    config: AgentConfig,
    tree: Hierarchy,
    seed: int,
    labels: Iterable[Label] | None,
    episodes: int | None = None,
) -> Training:
    kind = agent_kind(algorithm)
    plan = prepare(tree, kind, suite.propositions, labels, looks_ahead=looks_ahead(config))
    return Training(suite, kind, plan, config, seed=seed, episodes=episodes)


def _learning(driver: str, config: HierarchicalDqnConfig, seed: int) -> Lhrm:
    suite: Any = JaxSuite(TOY, tuple(ROUTES))
    if driver == "gym":
        tasks = [GymTask(name, 1, maker(route), 1) for name, route in ROUTES.items()]
        suite = GymSuite(tasks, max_steps=MAX_STEPS, seed=seed)
    settings = LhrmConfig(config, goals=(3,), examples=2, explores_with=Exploration.PROPOSITIONS)
    return Lhrm(suite, settings, Solvers(cores=1), seed=seed)
