"""A bank of skills in new tasks: what is in it is used as it is, and only what is missing is learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.room_bank import CONFIG, OUTPUTS, SLOTS, STATES, room_bank, room_spec, saved_bank
from agents.two_rooms import PROPOSITIONS
from lhrm.toy import TOY
from rewardmachines.agents.bank.bank import Bank, Interface
from rewardmachines.agents.bank.files import NETWORKS, check_bank, load_bank, machine_file, write_bank
from rewardmachines.agents.bank.manifest import FORMAT, NAME
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.config import Algorithm, Layout
from rewardmachines.agents.hierarchical_dqn import call_q, formula_q
from rewardmachines.agents.setup import OptionPlan, is_zero_shot
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.agents.training.session import Session
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.runs.tensors import read_arrays, write_arrays

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

FEW = 3_200
"""Steps in which a root learns what to choose."""


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return saved_bank(tmp_path / "skills")


def trained(bank: Bank, task: str, folder: Path, steps: int = FEW, **changes: object) -> TrainRun:
    return rm.train(folder, room_spec(bank, task, **changes), steps=steps, stop_at=0.95, bank=bank)


def session(bank: Bank, task: str, **changes: object) -> Session:
    spec = room_spec(bank, task, **changes)
    return Session(spec, task_with_bank(bank, TOY, task), bank=bank)


def formulas_of(session: Session) -> formula_q.FormulaBank:
    found: formula_q.FormulaBank = session.state.agent.formulas
    return found


def same(one: object, other: object) -> bool:
    return all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((np.asarray(a) == np.asarray(b)).all()), one, other)))


def inputs(states: int) -> np.ndarray[Any, Any]:
    """States and contexts beside each of 20 observations, for networks that know so many states."""
    state, context = np.arange(20) % STATES, np.arange(20) % len(PROPOSITIONS)
    return np.concatenate([np.eye(states)[state], np.eye(len(PROPOSITIONS))[context]], axis=1).astype(np.float32)


# -- on disk


@pytest.mark.parametrize("layout", Layout)
def test_what_is_read_is_what_was_written(layout: Layout, tmp_path: Path) -> None:
    before, after = room_bank(layout), saved_bank(tmp_path / "skills", layout)
    assert same(before.networks.formulas, after.networks.formulas)
    assert same(before.networks.calls, after.networks.calls)
    assert replace(after, digest="") == before
    assert [check.problem for check in check_bank(tmp_path / "skills")] == [None] * 4
    assert load_bank(tmp_path / "skills") == after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["skills"]


def test_nothing_is_written_over(bank: Bank, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a bank already"):
        write_bank(bank, tmp_path / "skills")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(RewardMachineError, match="there is something already"):
        write_bank(bank, tmp_path / "mine")
    with pytest.raises(RewardMachineError, match="there is no bank"):
        load_bank(tmp_path / "mine")


def _other_format(folder: Path) -> None:
    content = json.loads((folder / NAME).read_text())
    (folder / NAME).write_text(json.dumps({**content, "format": FORMAT + 1}))


def _other_shape(folder: Path) -> None:
    """Networks of another shape, with a checksum that is right."""
    content = json.loads((folder / NAME).read_text())
    content["sizes"]["network"]["hidden"] = [3]
    (folder / NAME).write_text(json.dumps(content))


def _other_callee(folder: Path) -> None:
    machine_file(folder, "fetch").write_text(machine_file(folder, "fetch").read_text().replace("k", "g"))


def _cut_off(folder: Path) -> None:
    (folder / NETWORKS).write_bytes((folder / NETWORKS).read_bytes()[:-8])


def _other_numbers(folder: Path) -> None:
    arrays, notes = read_arrays(folder / NETWORKS)
    write_arrays(folder / NETWORKS, {name: array + 1 for name, array in arrays.items()}, notes)


def _unknown_proposition(folder: Path) -> None:
    content = json.loads((folder / NAME).read_text())
    content["formulas"][0]["required"] = ["x"]
    (folder / NAME).write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_other_format, rf"a bank of format {FORMAT + 1}; this version knows format {FORMAT}"),
        (lambda folder: (folder / NAME).write_text("{"), "damaged, this is not JSON"),
        (lambda folder: (folder / NAME).write_text("[]"), "not the manifest of a bank"),
        (_unknown_proposition, "'x' is not among its propositions"),
        (_other_shape, r"damaged, or of another version: [\d,]+ numbers, not [\d,]+"),
        (_other_callee, "fetch.yaml: damaged, it is not as it was written"),
        (lambda folder: machine_file(folder, "either").unlink(), "either.yaml: this file of the bank is missing"),
        (_cut_off, "networks.safetensors: damaged"),
        (_other_numbers, "networks.safetensors: damaged, it is not as it was written"),
    ],
)
def test_what_is_damaged_is_named_in_one_line(
    damage: Callable[[Path], object], message: str, bank: Bank, tmp_path: Path
) -> None:
    damage(tmp_path / "skills")
    with pytest.raises(RewardMachineError, match=message) as problem:
        load_bank(tmp_path / "skills")
    assert "\n" not in str(problem.value)


def test_a_check_finds_all_that_is_damaged(bank: Bank, tmp_path: Path) -> None:
    _other_callee(tmp_path / "skills")
    _cut_off(tmp_path / "skills")
    problems = {check.file: check.problem for check in check_bank(tmp_path / "skills")}
    assert problems[NAME] is problems["machines/either.yaml"] is None
    assert "checksum" in (problems[NETWORKS] or "")
    assert "checksum" in (problems["machines/fetch.yaml"] or "")


# -- in new tasks


def test_a_chain_needs_no_step_of_training(bank: Bank, tmp_path: Path) -> None:
    run = trained(bank, "k ; b ; g ; k", tmp_path / "run")
    assert run.is_zero_shot
    assert run.rows() == []
    assert [evaluation.returns for evaluation in run.evaluate()] == [(1.0,)]
    again = rm.train(tmp_path / "run", resume=True)
    assert again.evaluate() == run.evaluate()


def test_policies_of_a_bank_are_those_of_the_bank_bit_by_bit(bank: Bank) -> None:
    """With the bank's networks for formulas and machines, whatever else the task has."""
    for task in ("g ; k", "fetch ; either", "either & (b ; [!k & !b & !g])"):
        one = session(bank, task)
        plan = one.problem.plan
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
    """`either` prefers g, which is farther away: whoever calls it goes there first."""
    run = trained(bank, "either ; b", tmp_path / "run")
    assert run.is_zero_shot
    assert run.hierarchy["either"] == bank.hierarchy("either")["either"]
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
    assert run.rows()[-1].steps <= FEW
    assert run.evaluate()[0].returns == (1.0,)
    policy = run.policy("(k ; fetch) | (g ; fetch)")
    assert same(policy._agent.formulas.online, bank.networks.formulas)


def test_formulas_that_are_missing_are_learned_beside_those_of_the_bank(tmp_path: Path) -> None:
    for layout in Layout:
        bank = saved_bank(tmp_path / layout.value, layout, ("k", "g"))
        one = session(bank, "k ; b")
        plan = one.problem.plan
        assert isinstance(plan, OptionPlan)
        assert plan.skills is not None
        assert [str(formula) for formula in plan.skills.missing] == ["b"]
        assert not is_zero_shot(one.problem)
        seen = jnp.eye(20)
        before = formula_q.values(layout, 4, formulas_of(one).online, seen)
        for _ in range(4):
            one.advance()
        after = formula_q.values(layout, 4, formulas_of(one).online, seen)
        assert same(after[:SLOTS], formula_q.values(layout, 4, bank.networks.formulas, seen))
        assert not same(before[SLOTS:], after[SLOTS:])


def test_a_bank_can_be_trained_further(bank: Bank) -> None:
    one = session(bank, "k ; b", trains_bank=True)
    assert not is_zero_shot(one.problem)
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
    plan = session(bank, "([k & b] | g) ; b").problem.plan
    assert isinstance(plan, OptionPlan)
    assert plan.skills is not None
    assert any(formula.required == {"k", "b"} for formula in plan.menu.formulas)
    assert (plan.skills.missing, plan.skills.new_slots) == ((), 0)


def test_nobody_chooses_to_fail_as_long_as_there_is_anything_else(bank: Bank, tmp_path: Path) -> None:
    hierarchy = rm.compile_task("b ; g", avoid=["k"], propositions=PROPOSITIONS)
    spec = room_spec(bank, "b ; g")
    run = rm.train(tmp_path / "run", spec, hierarchy, steps=FEW, bank=bank)
    assert run.is_zero_shot
    assert run.evaluate()[0].returns == (1.0,)


def test_calls_under_new_contexts_are_seen_as_calls_that_are_known(bank: Bank) -> None:
    """That b is not seen changes nothing about `either`, since labels have at most one proposition."""
    one = session(bank, "either & b")
    options, plan = one.problem.task.options, one.problem.plan  # type: ignore[attr-defined]
    assert isinstance(plan, OptionPlan)
    assert Conjunction(frozenset(), frozenset("b")) in plan.menu.contexts
    assert not np.asarray(options.context).any()


# -- what does not fit


def test_names_in_a_task_are_propositions_machines_or_tasks_of_the_domain(bank: Bank) -> None:
    tree = task_with_bank(bank, TOY, "fetch ; press")
    assert tree["fetch"] == bank.hierarchy("fetch")["fetch"]
    assert "press" in {machine.name for machine in tree}
    assert task_with_bank(bank, TOY, "Fetch").root == "fetch"
    assert task_with_bank(bank, TOY, "all").root == "all"
    with pytest.raises(RewardMachineError, match="'fetsh' is neither a declared proposition nor a task; did you mean"):
        task_with_bank(bank, TOY, "fetsh ; k")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"propositions": ("k", "b", "lava")}, "propositions: only in the bank g; only there lava"),
        ({"propositions": ("b", "k", "g")}, "propositions: another order, k, b, g in the bank"),
        ({"actions": ("up", "down")}, "actions: only in the bank left, right"),
        ({"observation": "published"}, "observation: one-hot in the bank, published there"),
        ({"shape": (3, 7, 7)}, "observation shape: 20 in the bank, 3×7×7 there"),
    ],
)
def test_a_bank_says_what_differs_elsewhere(changes: dict[str, object], message: str, bank: Bank) -> None:
    elsewhere = replace(Interface.of(TOY, "one-hot"), **changes)  # type: ignore[arg-type]
    with pytest.raises(RewardMachineError, match="learned in two-rooms PLAIN and does not fit there") as problem:
        bank.check_interface(elsewhere, "there")
    assert message in str(problem.value)


def test_an_agent_must_have_the_networks_of_the_bank(bank: Bank, tmp_path: Path) -> None:
    spec = room_spec(bank, "k")
    wider = replace(spec.config, network=replace(spec.config.network, hidden=(8,)))
    with pytest.raises(RewardMachineError, match=r"network is mlp with .* hidden \[\] there, not mlp .* hidden \[8\]"):
        rm.train(tmp_path / "a", replace(spec, config=wider), steps=FEW, bank=bank)
    with pytest.raises(RewardMachineError, match="the spec asks for a bank of skills"):
        rm.train(tmp_path / "b", spec, steps=FEW)
    with pytest.raises(RewardMachineError, match="the spec asks for another bank"):
        rm.train(tmp_path / "c", replace(spec, bank="0"), steps=FEW, bank=bank)
    crm = rm.standard_spec("two-rooms", "plain", "fetch", Algorithm.CRM)
    with pytest.raises(RewardMachineError, match="a bank holds options"):
        rm.train(tmp_path / "d", crm, steps=FEW, bank=bank)
    with pytest.raises(RewardMachineError, match="no bank of skills to be trained further"):
        replace(crm, trains_bank=True)
    assert [path.name for path in tmp_path.iterdir()] == ["skills"]


def test_a_run_keeps_its_bank(bank: Bank, tmp_path: Path) -> None:
    run = trained(bank, "either & b", tmp_path / "run", steps=800)
    assert run.bank == bank
    (tmp_path / "skills" / NAME).unlink()
    assert rm.train(tmp_path / "run", steps=1600, resume=True).rows()[-1].steps == 1600
    _cut_off(tmp_path / "run" / "bank")
    with pytest.raises(RewardMachineError, match=r"run/bank/networks\.safetensors: damaged"):
        rm.load_run(tmp_path / "run")
