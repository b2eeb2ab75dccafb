"""What a run has learned becomes a bank, whose policies do as those of the run did, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lhrm.toy import SMALL, TOY
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.training import Training
from rewardmachines.runs.banks import save_bank
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import TrainArguments, order_of
from rewardmachines.runs.run import Run
from rewardmachines.runs.session import Session
from rewardmachines.runs.verbs import train
from runs.kinds import CHUNK, LEARN_DOMAIN, TRAIN_DOMAIN, TRAIN_GYM

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

FEW = 16 * CHUNK
"""Enough for the first machines."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return LEARN_DOMAIN.run(tmp_path_factory.mktemp("runs") / "whole", steps=FEW)


@pytest.fixture(scope="module")
def bank(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return save_bank(run.folder, tmp_path_factory.mktemp("banks") / "skills")


def test_a_bank_holds_what_the_run_has_learned(run: Run, bank: Bank) -> None:
    assert {*bank.names} == {*run.machines} >= {"fetch", "press"}
    assert {str(formula) for formula in bank.formulas} >= {"k", "b", "g"}
    assert (bank.domain, bank.setting, bank.propositions) == ("two-rooms", "plain", TOY.environment.propositions)
    for name, tree in run.machines.items():
        assert bank.hierarchy(name) == tree.rooted(name)
    assert dict(bank.returns) == {name: run.returns[name] for name in bank.names}


def test_its_policies_are_those_of_the_run_bit_by_bit(run: Run, bank: Bank) -> None:
    config, actions = SMALL.agent, TOY.environment.actions
    assert bank.fitted(config) == config
    asked = TrainArguments(task="fetch", settings=config, instances=1, max_steps=60, bank=bank)
    order = order_of(asked, RunFolder(Path("never")), resume=False)
    training, (session, learned) = Session(order.config, order.hierarchies, order.given).algorithm, run.learned()
    assert isinstance(training, Training)
    assert isinstance(session.algorithm, Lhrm)
    agent = training.state.agent
    seen = jnp.eye(20)
    ours, theirs = (formula_q.values(config.layout, actions, a.formulas.online, seen) for a in (agent, learned))
    np.testing.assert_array_equal(ours, theirs)
    plan, written = training.plan, session.algorithm.written
    assert isinstance(plan, OptionPlan)
    inputs = call_q.CallInputs(seen, jnp.zeros(20, jnp.int32), jnp.zeros(20, jnp.int32))
    values = [
        call_q.values(options, call_q.select(online, jnp.int32(machines.index("fetch"))), inputs)
        for options, online, machines in (
            (training.tables.task.options, agent.calls.online, plan.lowered.machines),  # type: ignore[attr-defined]
            (written.options, learned.calls.online, written.lowered.machines),
        )
    ]
    np.testing.assert_array_equal(values[0], values[1])


def test_its_policies_act_as_those_of_the_run(run: Run, bank: Bank, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"settings": SMALL.agent, "instances": 1, "max_steps": 60, "bank": bank}
    trained = train("two-rooms", "fetch", folder=tmp_path / "fetch", steps=1, **asked)
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
        save_bank(tmp_path, tmp_path / "bank")
    LEARN_DOMAIN.run(tmp_path / "run", steps=1)
    with pytest.raises(RewardMachineError, match="no machine has been learned yet"):
        save_bank(tmp_path / "run", tmp_path / "bank")
    (tmp_path / "run" / "policies.safetensors").unlink()
    with pytest.raises(RewardMachineError, match="there are no policies yet"):
        save_bank(tmp_path / "run", tmp_path / "bank")
    for kind in (TRAIN_DOMAIN, TRAIN_GYM):
        with pytest.raises(RewardMachineError, match="banks of skills come of runs that learn machines in a domain"):
            save_bank(kind.run(None, steps=1), tmp_path / "bank")
    assert not (tmp_path / "bank").exists()
