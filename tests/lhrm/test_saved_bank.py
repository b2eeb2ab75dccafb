"""What a run has learned becomes a bank, whose policies do as those of the run did, bit by bit."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from lhrm.room_runs import SPEC, STEPS
from lhrm.toy import TOY
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.run import LearnRun

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

FEW = 16 * STEPS
"""Enough for the first machines."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> LearnRun:
    return learn(tmp_path_factory.mktemp("runs") / "whole", SPEC, steps=FEW)


@pytest.fixture(scope="module")
def bank(run: LearnRun, tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return rm.save_bank(run.folder, tmp_path_factory.mktemp("banks") / "skills")


def test_a_bank_holds_what_the_run_has_learned(run: LearnRun, bank: Bank) -> None:
    assert {*bank.names} == {*run.hierarchies()} >= {"fetch", "press"}
    assert {str(formula) for formula in bank.formulas} >= {"k", "b", "g"}
    assert (bank.domain, bank.setting, bank.propositions) == ("two-rooms", "plain", TOY.environment.propositions)
    for name, tree in run.hierarchies().items():
        assert bank.hierarchy(name) == tree.rooted(name)
    assert dict(bank.returns) == {name: run.returns()[name] for name in bank.names}


def test_its_policies_are_those_of_the_run_bit_by_bit(run: LearnRun, bank: Bank) -> None:
    config, actions = SPEC.config.agent, TOY.environment.actions
    spec = TrainSpec("two-rooms", "plain", "fetch", Algorithm.HRL, config, instances=1, max_steps=60, bank=bank.digest)
    assert bank.fitted(config) == config
    session = Session(spec, bank.hierarchy("fetch"), bank=bank)
    agent, learned = session.state.agent, run.policies().agent
    seen = jnp.eye(20)
    ours, theirs = (formula_q.values(config.layout, actions, a.formulas.online, seen) for a in (agent, learned))
    np.testing.assert_array_equal(ours, theirs)
    plan, written = session.problem.plan, run.policies().written
    assert isinstance(plan, OptionPlan)
    inputs = call_q.Inputs(seen, jnp.zeros(20, jnp.int32), jnp.zeros(20, jnp.int32))
    values = [
        call_q.values(options, call_q.select(online, jnp.int32(machines.index("fetch"))), inputs)
        for options, online, machines in (
            (session.problem.task.options, agent.calls.online, plan.lowered.machines),  # type: ignore[attr-defined]
            (written.arrays.options, learned.calls.online, written.lowered.machines),
        )
    ]
    np.testing.assert_array_equal(values[0], values[1])


def test_its_policies_act_as_those_of_the_run(run: LearnRun, bank: Bank, tmp_path: Path) -> None:
    spec = TrainSpec("two-rooms", "plain", "fetch", Algorithm.HRL, SPEC.config.agent, instances=1, max_steps=60)
    trained = rm.train(tmp_path / "fetch", spec, steps=1, bank=bank)
    assert trained.is_zero_shot
    policies = trained.policy("fetch"), run.policy("fetch")
    for policy in policies:
        policy.reset()
    for number in np.random.default_rng(0).integers(0, 20, 40):
        cell = jax.nn.one_hot(number, 20)
        first, second = (policy.act(cell, ()) for policy in policies)
        assert first == second


def test_a_run_without_machines_makes_no_bank(tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is no run"):
        rm.save_bank(tmp_path, tmp_path / "bank")
    learn(tmp_path / "run", SPEC, steps=1)
    with pytest.raises(RewardMachineError, match="no machine has been learned yet"):
        rm.save_bank(tmp_path / "run", tmp_path / "bank")
    assert not (tmp_path / "bank").exists()
