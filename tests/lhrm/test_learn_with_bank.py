"""LHRM that begins with a bank of skills: its machines are called from the first episode on, and stay as they are."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import jax
import numpy as np
import pytest

import rewardmachines as rm
from agents.room_bank import saved_bank
from agents.trees import same
from lhrm.toy import LABELS, MAX_STEPS, SMALL, TREES
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import load_bank, write_bank
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.learn import learning_rows
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import LearnSpec

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return saved_bank(tmp_path_factory.mktemp("banks") / "skills")


@pytest.fixture(scope="module")
def run(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> LearnRun:
    return rm.learn(tmp_path_factory.mktemp("runs") / "all", spec(bank), stop_at=0.95, bank=bank)


def config(bank: Bank) -> LhrmConfig:
    return replace(SMALL, agent=bank.fitted(SMALL.agent))


def spec(bank: Bank, *tasks: str) -> LearnSpec:
    return LearnSpec("two-rooms", "plain", tasks or ("all",), config(bank), instances=1, max_steps=MAX_STEPS)


def test_a_task_is_learned_on_top_of_machines_that_are_there(run: LearnRun, bank: Bank) -> None:
    learned = run.hierarchies()["all"]
    assert difference(learned, TREES["all"], labels=LABELS, events=True) is None
    assert learned["all"].callees & {*bank.names}
    assert run.tasks == ("all",)
    assert run.missing() == {}
    assert [evaluation.returns for evaluation in run.evaluate()] == [(1.0,)]
    for name in learned["all"].callees:
        assert learned[name] == bank.hierarchy()[name]


def test_machines_of_the_bank_choose_as_before(run: LearnRun, bank: Bank) -> None:
    policies = run.policies()
    rows = [policies.written.lowered.machines.index(name) for name in bank.names]
    networks = jax.tree.map(lambda x: np.asarray(x)[rows], policies.agent.calls.online)
    layer, before = networks.head.layers[0], bank.networks.calls.head.layers[0]
    sizes = bank.sizes
    known = [*range(20 + sizes.states), *range(layer.weight.shape[1] - 3, layer.weight.shape[1])]
    assert same(layer.weight[:, known, : sizes.outputs], before.weight)
    assert same(layer.bias[:, : sizes.outputs], before.bias)


def test_policies_of_the_bank_act_from_the_first_step_on(bank: Bank) -> None:
    algorithm = Lhrm(spec(bank).worlds(), config(bank), Solvers(cores=1), bank=bank)
    assert {str(formula): slot for formula, slot in algorithm.registry.slots.items()} == {"k": 0, "b": 1, "g": 2}
    knowledge, formulas = algorithm.knowledge, algorithm.state.agent.formulas
    assert np.asarray(knowledge.is_guide).sum() >= len(bank.names)
    weight = formulas.online.head.layers[0].weight
    assert same(weight[:, : bank.sizes.slots * 4], bank.networks.formulas.head.layers[0].weight)
    assert (np.asarray(formulas.steps)[:3] == SMALL.agent.annealing_steps).all()


def test_a_run_that_is_interrupted_goes_on_as_if_it_had_not_been(run: LearnRun, bank: Bank, tmp_path: Path) -> None:
    """Without the bank, of which it has a copy."""
    shutil.copytree(bank.path or "", tmp_path / "skills")
    with closing(learning_rows(tmp_path / "run", spec(bank), stop_at=0.95, bank=tmp_path / "skills")) as chunks:
        assert len(list(islice(chunks, 3))) == 3
    shutil.rmtree(tmp_path / "skills")
    again = rm.learn(tmp_path / "run", resume=True)
    assert again.files.metrics.read_bytes() == run.files.metrics.read_bytes()
    assert again.bank == bank


def test_what_was_learned_on_top_makes_a_larger_bank(run: LearnRun, bank: Bank, tmp_path: Path) -> None:
    larger = rm.save_bank(run, tmp_path / "larger")
    assert larger.names == ("all", *bank.names)
    assert larger.returns == {"all": 1.0, **bank.returns}
    assert larger.slot_of(next(iter(bank.formulas))) == 0
    with pytest.raises(RewardMachineError, match="'all' is in the bank of skills already"):
        rm.learn(tmp_path / "run", spec(larger), bank=larger)
    assert not (tmp_path / "run").exists()


def test_all_tasks_that_are_not_in_the_bank_are_learned_if_none_is_named(bank: Bank) -> None:
    asked = rm.standard_learning("two-rooms", "plain", bank=bank)
    assert asked.tasks == ("press", "all")
    assert asked.bank == bank.digest
    assert asked.config.agent == bank.fitted(asked.config.agent)


def test_machines_may_call_what_the_true_ones_call_if_it_is_in_the_bank(bank: Bank) -> None:
    restricted = replace(config(bank), callables=Callables.RESTRICTED)
    worlds = spec(bank, "press", "all").worlds()
    algorithm = Lhrm(worlds, restricted, Solvers(cores=1), bank=bank)
    assert [tree.root for tree in algorithm.pool.callables("all", worlds.dependencies)] == ["fetch"]
    assert [tree.root for tree in algorithm.pool.callables("press")] == ["fetch", "either"]


def test_a_bank_that_does_not_fit_is_refused_before_anything_is_written(bank: Bank, tmp_path: Path) -> None:
    usual = replace(spec(bank), config=SMALL)
    with pytest.raises(RewardMachineError, match="the bank has other networks: network is mlp"):
        rm.learn(tmp_path / "a", usual, bank=bank)
    with pytest.raises(RewardMachineError, match="the spec asks for a bank of skills"):
        rm.learn(tmp_path / "a", replace(spec(bank), bank=bank.digest))
    other = replace(bank, interface=replace(bank.interface, actions=("up", "down", "left", "jump")))
    write_bank(other, tmp_path / "other")
    with pytest.raises(RewardMachineError, match="actions: only in the bank jump; only there right"):
        rm.learn(tmp_path / "a", spec(bank), bank=load_bank(tmp_path / "other"))
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_run_whose_bank_was_changed_is_not_opened(run: LearnRun, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    manifest = copy / "bank" / "bank.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "setting": "other"}))
    with pytest.raises(RewardMachineError, match="this is not the bank that the run was begun with"):
        load_learning(copy).evaluate()
