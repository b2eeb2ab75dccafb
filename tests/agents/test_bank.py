"""A bank of skills in new tasks: what is in it is used as it is, and only what is missing is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.room_bank import CONFIG, OUTPUTS, SLOTS, STATES, cut_off, saved_bank, train_with
from agents.trees import same
from agents.two_rooms import PROPOSITIONS
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.manifest import NAME
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.rollout.training import Training
from rewardmachines.runs import verbs
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import TrainArguments, order_of
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.session import Session

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

FEW = 3_200
"""Steps in which a root learns what to choose."""


def trained(bank: Bank, task: str, folder: Path, steps: int = FEW, **options: Any) -> Run:
    return train_with(bank, task, folder, steps=steps, **options)


def training(bank: Bank, task: str, **options: Any) -> Training:
    """A training in two rooms with a bank, in memory."""
    asked = TrainArguments(
        "two-rooms", task, instances=1, max_steps=60, settings=bank.fitted(CONFIG), bank=bank, **options
    )
    order = order_of(asked, RunFolder(Path("never")), resume=False)
    algorithm = Session(order.config, order.hierarchies, order.given).algorithm
    assert isinstance(algorithm, Training)
    return algorithm


def formulas_of(run: Training) -> formula_q.FormulaBank:
    found: formula_q.FormulaBank = run.state.agent.formulas
    return found


def inputs(states: int) -> np.ndarray[Any, Any]:
    """States and contexts beside each of 20 observations, for networks that know this number of states."""
    state, context = np.arange(20) % STATES, np.arange(20) % len(PROPOSITIONS)
    return np.concatenate([np.eye(states)[state], np.eye(len(PROPOSITIONS))[context]], axis=1).astype(np.float32)


def test_a_chain_needs_no_step_of_training(bank: Bank, tmp_path: Path) -> None:
    run = trained(bank, "k ; b ; g ; k", tmp_path / "run")
    assert run.is_zero_shot
    assert run.rows == []
    assert [evaluation.returns for evaluation in run.evaluate()] == [(1.0,)]
    again = verbs.train(folder=tmp_path / "run", resume=True)
    assert again.evaluate() == run.evaluate()


def test_policies_of_a_bank_are_those_of_the_bank_bit_by_bit(bank: Bank) -> None:
    """With the bank's networks for formulas and machines, whatever else the task has."""
    for task in ("g ; k", "fetch ; either", "either & (b ; [!k & !b & !g])"):
        one = training(bank, task)
        plan = one.plan
        assert isinstance(plan, OptionPlan)
        seen = jnp.eye(20)
        values = formula_q.values(CONFIG.layout, 4, formulas_of(one).online, seen)[:SLOTS]
        expected = formula_q.values(CONFIG.layout, 4, bank.networks.formulas, seen)
        assert same(values, expected)
        calls = one.state.agent.calls.online
        for name in set(plan.lowered.machines) & set(bank.names):
            mine = call_q.select(calls, plan.lowered.machines.index(name))  # type: ignore[arg-type]
            theirs = call_q.select(bank.networks.calls, bank.names.index(name))  # type: ignore[arg-type]
            states = plan.lowered.capacity.states
            assert states == (6 if "b ; [" in task else STATES)
            values = mine(seen, inputs(states))
            assert same(values[:, :OUTPUTS], theirs(seen, inputs(STATES)))


def test_machines_of_a_bank_are_called_as_they_were_learned(bank: Bank, tmp_path: Path) -> None:
    """`either` prefers g, which is farther away: its callers go there first."""
    run = trained(bank, "either ; b", tmp_path / "run")
    assert run.is_zero_shot
    assert run.hierarchy("either ; b")["either"] == bank.hierarchy("either")["either"]
    policy, env = run.policy("either ; b"), run.environment(instance=0)
    observation, info = env.reset()
    policy.reset(info["label"])
    labels, is_over = [], False
    while not is_over:
        observation, _, is_over, _, info = env.step(policy.act(observation, info["label"]))
        labels += info["label"]
    assert labels == ["g", "b"]


def test_what_to_choose_is_learned_in_few_steps_and_the_bank_stays_as_it_is(bank: Bank, tmp_path: Path) -> None:
    run = trained(bank, "(k ; fetch) | (g ; fetch)", tmp_path / "run")
    assert not run.is_zero_shot
    assert run.rows[-1].steps <= FEW
    assert run.evaluate()[0].returns == (1.0,)
    policy = run.policy("(k ; fetch) | (g ; fetch)")
    assert same(policy._learned.formulas.online, bank.networks.formulas)


def test_formulas_that_are_missing_are_learned_beside_those_of_the_bank(tmp_path: Path) -> None:
    for layout in Layout:
        bank = saved_bank(tmp_path / layout.value, layout, ("k", "g"))
        one = training(bank, "k ; b")
        plan = one.plan
        assert isinstance(plan, OptionPlan)
        assert plan.skills is not None
        assert [str(formula) for formula in plan.skills.missing] == ["b"]
        assert not one.is_exhausted
        seen = jnp.eye(20)
        before = formula_q.values(layout, 4, formulas_of(one).online, seen)
        for _ in range(4):
            one.advance()
        after = formula_q.values(layout, 4, formulas_of(one).online, seen)
        assert same(after[:SLOTS], formula_q.values(layout, 4, bank.networks.formulas, seen))
        assert not same(before[SLOTS:], after[SLOTS:])


def test_a_bank_can_be_trained_further(bank: Bank) -> None:
    one = training(bank, "k ; b", trains_bank=True)
    assert not one.is_exhausted
    for _ in range(4):
        one.advance()
    assert not same(formulas_of(one).online, bank.networks.formulas)


def test_formulas_are_the_same_if_no_label_tells_them_apart(bank: Bank) -> None:
    """At most one proposition is seen at a time."""
    k, b = (Conjunction(frozenset({p})) for p in "kb")
    assert bank.slot_of(Conjunction(frozenset("k"), frozenset("b"))) == bank.slot_of(k) == 0
    assert bank.slot_of(b) == 1
    assert bank.slot_of(Conjunction(frozenset("kb"))) is None
    assert bank.slot_of(Conjunction(frozenset(), frozenset("k"))) is None


def test_formulas_that_no_label_satisfies_need_no_policy(bank: Bank) -> None:
    """At most one proposition is seen at a time."""
    plan = training(bank, "([k & b] | g) ; b").plan
    assert isinstance(plan, OptionPlan)
    assert plan.skills is not None
    assert any(formula.required == {"k", "b"} for formula in plan.option_set.formulas)
    assert (plan.skills.missing, plan.skills.new_slots) == ((), 0)


def test_no_machine_chooses_to_fail_as_long_as_there_is_anything_else(bank: Bank, tmp_path: Path) -> None:
    hierarchy = rm.compile_task("b ; g", avoid=["k"], propositions=PROPOSITIONS)
    run = train_with(bank, hierarchy, tmp_path / "run", steps=FEW)
    assert run.is_zero_shot
    assert run.evaluate()[0].returns == (1.0,)


def test_calls_under_new_contexts_are_seen_as_calls_that_are_known(bank: Bank) -> None:
    """That b is not seen changes nothing about `either`, since labels have at most one proposition."""
    one = training(bank, "either & b")
    options, plan = one.tables.task.options, one.plan  # type: ignore[attr-defined]
    assert isinstance(plan, OptionPlan)
    assert Conjunction(frozenset(), frozenset("b")) in plan.option_set.contexts
    assert not np.asarray(options.context).any()


def test_a_run_keeps_its_bank_and_goes_on_with_no_other(bank: Bank, tmp_path: Path) -> None:
    run = trained(bank, "either & b", tmp_path / "run", steps=800)
    assert run.bank == bank
    trained(bank, "either & b", tmp_path / "run", steps=1600, resume=True)
    _check_that_another_bank_is_refused(bank, tmp_path)
    (tmp_path / "skills" / NAME).unlink()
    assert verbs.train(folder=tmp_path / "run", steps=2400, resume=True).rows[-1].steps == 2400
    cut_off(tmp_path / "run" / "bank")
    for use in (
        lambda: open_run(tmp_path / "run").evaluate(),
        lambda: verbs.train(folder=tmp_path / "run", resume=True),
    ):
        with pytest.raises(RewardMachineError, match=r"run/bank/networks\.safetensors: damaged"):
            use()


def _check_that_another_bank_is_refused(bank: Bank, tmp_path: Path) -> None:
    other = saved_bank(tmp_path / "other", Layout.SHARED, ("k", "g"))
    with pytest.raises(RewardMachineError, match="the run was begun with another bank of skills"):
        verbs.train(folder=tmp_path / "run", resume=True, bank=other)
    with pytest.raises(RewardMachineError, match="trains_bank is False, not True"):
        verbs.train(folder=tmp_path / "run", resume=True, trains_bank=True)
    verbs.train("two-rooms", "fetch", settings=CONFIG, folder=tmp_path / "plain", seconds=1e-6)
    with pytest.raises(RewardMachineError, match="the run was begun with no bank of skills"):
        verbs.train(folder=tmp_path / "plain", resume=True, bank=bank)
