"""Two rooms with three tasks on two levels: small enough to learn everything in seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.two_rooms import PROPOSITIONS, TwoRooms
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lhrm.config import LhrmConfig

LABELS = tuple(frozenset(label) for label in ((), ("k",), ("b",), ("g",)))
"""All that can be seen there."""


def _edge(source: str, target: str, formula: str, callee: str = LEAF) -> Edge:
    return Edge(source, target, parse_formula(formula), callee)


FETCH = machine("fetch", [_edge("u0", "u1", "k"), _edge("u1", "uA", "b")])
PRESS = machine("press", [_edge("u0", "u1", "b"), _edge("u1", "uA", "g")])
ALL = machine("all", [_edge("u0", "u1", "true", "fetch"), _edge("u1", "uA", "true", "press")])
TREES = {
    "fetch": Hierarchy("fetch", (FETCH,), PROPOSITIONS),
    "press": Hierarchy("press", (PRESS,), PROPOSITIONS),
    "all": Hierarchy("all", (ALL, FETCH, PRESS), PROPOSITIONS),
}


@dataclass(frozen=True)
class Toy(Scenario):
    """With tasks of its own."""

    def task(self, name: str) -> Hierarchy:
        return TREES[name]

    @property
    def dead_ends(self) -> bool:
        return False


TOY = Toy(domain("craftworld"), "toy", TwoRooms(), None, (0,), 60)
"""The only one, so that its programs are compiled once."""


SMALL = LhrmConfig(
    HierarchicalDqnConfig(
        environments=16,
        batch=64,
        network=NetworkConfig(Body.MLP, hidden=(64,)),
        learning_rate=3e-3,
        replay_size=20_000,
        replay_start=500,
        target_period=100,
        annealing_steps=1_000,
        call_network=NetworkConfig(Body.MLP, hidden=(32,)),
        call_replay_size=1_000,
        call_replay_start=50,
        call_target_period=50,
        call_annealing=30,
        curriculum_weight=0.5,
        chunk=50,
        evaluate_every=2,
    ),
    first_goals=8,
    goals=12,
    examples=5,
)


def quickly(**changes: object) -> LhrmConfig:
    return replace(SMALL, **changes)  # type: ignore[arg-type]
