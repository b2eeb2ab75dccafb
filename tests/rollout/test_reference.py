"""Training on the engine makes the transitions that a plain Python reference makes, in all drivers."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agents.two_rooms import PROPOSITIONS
from lhrm.toy import TREES
from rewardmachines.agents.registry import agent_kind
from rewardmachines.agents.setup import prepare
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.rollout.algorithm import UNLIMITED
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.tables import GOAL
from rewardmachines.rollout.training import Training
from rewardmachines.rollout.vector_environments import VectorSuite
from rollout.reference import BITS, PlainEnvironments, check_training, remembered
from rollout.rooms import CONFIG, LABELS, MAX_STEPS, TOY, TRAINED, TREE, Case, make_rooms, maker

N = CONFIG.environments


def followed() -> HierarchyWrapper:
    return HierarchyWrapper(make_rooms(), TREE)


@pytest.mark.parametrize("case", TRAINED, ids=str)
def test_training_makes_the_transitions_of_the_reference(case: Case, stack: ExitStack) -> None:
    run = case.run(stack)
    check_training(run)


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP], ids=lambda mode: mode.value)
def test_so_it_does_in_vector_environments(algorithm: str, mode: AutoresetMode, stack: ExitStack) -> None:
    kind, envs = agent_kind(algorithm), SyncVectorEnv([followed] * N, autoreset_mode=mode)
    suite = VectorSuite(stack.enter_context(closing(envs)), GymTask("task", 1, followed, hierarchy=TREE))
    stack.callback(suite.close)
    plan = prepare(TREE, kind, PROPOSITIONS, LABELS)
    run = Training(suite, kind, plan, kind.settings(CONFIG))
    check_training(run, rests=mode is AutoresetMode.NEXT_STEP)


@pytest.mark.parametrize("driver", ["jax", "gym"])
def test_while_machines_are_learned_goal_traces_are_those_of_the_reference(driver: str, stack: ExitStack) -> None:
    """Before there is a machine, an environment that has reached the goal waits with the trace that led there."""
    suite: Any = JaxSuite(TOY, ["press"])
    if driver == "gym":
        suite = GymSuite([GymTask("press", 1, maker("bg"), 1)], max_steps=MAX_STEPS)
        stack.callback(suite.close)
    run = Lhrm(suite, LhrmConfig(CONFIG), Solvers(cores=1))
    plain, found, read_so_far = PlainEnvironments(TREES["press"], N, MAX_STEPS, waits=True), 0, 0
    while found < 3:
        run.state, counts = run.driver.chunk(run.tables, run.state, learns=False, most=UNLIMITED)
        rows = remembered(run, read_so_far)
        actions = (row.action for row in rows)
        assert [one for _ in range(CONFIG.chunk) for one in plain.step(lambda _: next(actions))] == rows  # noqa: B023
        read_so_far += len(rows)
        assert int(counts.steps) == len(rows)
        search = jax.tree.map(np.asarray, run.state.episodes.search)
        assert (search.waiting == GOAL).tolist() == plain.is_waiting
        for i, episode in enumerate(plain.episodes):
            assert [BITS.decode(word) for word in search.trace[i][: search.length[i]]] == episode.trace
        for i in np.flatnonzero(plain.is_waiting).tolist():
            plain.begin(i)
            found += 1
        run.state = run.driver.restart(run.tables, run.state, search.waiting == GOAL)
        assert plain.ended < 1_000, "the goal is hardly ever reached"
