"""Interaction alone teaches machines: exact ones, and the examples that they come from are kept."""

from __future__ import annotations

import numpy as np

from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.equivalence import difference
from rewardmachines.core.traversal import verdict
from rewardmachines.envs.scenarios import scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.tables import NOTHING

SMALL = HierarchicalDqnConfig(
    environments=128,
    chunk=50,
    evaluate_every=10**6,
    replay_start=200_000,
    replay_size=200_000,
    network=NetworkConfig(Body.FLAT, hidden=(8,)),
    calls=CallConfig(network=NetworkConfig(Body.FLAT, hidden=(8,))),
)


def test_machines_are_learned_from_random_episodes_until_they_are_right() -> None:
    open_plan = scenario("craftworld", "op", instances=2, observation="one-hot")
    with Solvers(cores=1) as solvers:
        run = Lhrm(JaxSuite(open_plan, ["bucket", "paper"]), LhrmConfig(SMALL), solvers)
        while len(run.pool.learned) < 2 or run.counters.chunks < 20:
            run.advance()
            assert run.counters.chunks < 200
            assert run.state.episodes.search is not None
            assert (np.asarray(run.state.episodes.search.waiting) == NOTHING).all()
    for name in run.tasks:
        learned, examples = run.pool.hierarchy(name), run.progress[name].examples
        assert difference(learned, open_plan.task(name), labels=open_plan.domain.labels(), events=True) is None
        assert all(verdict(learned, trace.labels) is trace.outcome.verdict for trace in examples.traces)
        assert len(examples.traces) >= examples.first
    assert run.curriculum.level == 1
    assert frozenset({"iron"}) in run.registry.labels
