"""LHRM that begins with a bank of skills: its machines are called from the first episode on, and stay as they are."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from agents.room_bank import saved_bank
from agents.trees import same
from lhrm.toy import LABELS, MAX_STEPS, SMALL, TOY, TREES
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import load_bank, write_bank
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.runs.banks import save_bank
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.maker import this_maker
from rewardmachines.runs.orders import LearnArguments, carry_out, order_of
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.verbs import learn

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return saved_bank(tmp_path_factory.mktemp("banks") / "skills")


@pytest.fixture(scope="module")
def run(bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return learned(bank, tmp_path_factory.mktemp("runs") / "all")


def config(bank: Bank) -> LhrmConfig:
    return replace(SMALL, agent=bank.fitted(SMALL.agent))


def arguments(bank: Bank, **options: Any) -> dict[str, Any]:
    """The task `all` with a bank."""
    usual = {"tasks": "all", "settings": config(bank), "instances": 1, "max_steps": MAX_STEPS, "bank": bank}
    return {"where": "two-rooms", **usual, **options}


def learned(given: Bank, folder: Path, **options: Any) -> Run:
    run: Run = learn(folder=folder, stop_at=0.95, **arguments(given, **options))
    return run


def begun(bank: Bank, *tasks: str, settings: LhrmConfig | None = None) -> Lhrm:
    """LHRM at its beginning, with a bank."""
    return Lhrm(JaxSuite(TOY, tasks or ("all",)), settings or config(bank), Solvers(cores=1), bank=bank)


def test_a_task_is_learned_on_top_of_machines_that_are_there(run: Run, bank: Bank) -> None:
    tree = run.machines["all"]
    assert difference(tree, TREES["all"], labels=LABELS, events=True) is None
    assert tree["all"].callees & {*bank.names}
    assert run.tasks == ("all",)
    assert run.missing == {}
    assert [evaluation.returns for evaluation in run.evaluate()] == [(1.0,)]
    for name in tree["all"].callees:
        assert tree[name] == bank.hierarchy()[name]


def test_machines_of_the_bank_choose_as_before(run: Run, bank: Bank) -> None:
    session, agent = run.learned()
    assert isinstance(session.algorithm, Lhrm)
    rows = [session.algorithm.written.lowered.machines.index(name) for name in bank.names]
    networks = jax.tree.map(lambda x: np.asarray(x)[rows], agent.calls.online)
    layer, before = networks.head.layers[0], bank.networks.calls.head.layers[0]
    sizes = bank.sizes
    known = [*range(20 + sizes.states), *range(layer.weight.shape[1] - 3, layer.weight.shape[1])]
    assert same(layer.weight[:, known, : sizes.outputs], before.weight)
    assert same(layer.bias[:, : sizes.outputs], before.bias)


def test_policies_of_the_bank_act_from_the_first_step_on(bank: Bank) -> None:
    algorithm = begun(bank)
    assert {str(formula): slot for formula, slot in algorithm.registry.slots.items()} == {"k": 0, "b": 1, "g": 2}
    tables, formulas = algorithm.tables, algorithm.state.agent.formulas
    assert tables.exploration is not None
    assert np.asarray(tables.exploration.is_available).sum() >= len(bank.names)
    weight = formulas.online.head.layers[0].weight
    assert same(weight[:, : bank.sizes.slots * 4], bank.networks.formulas.head.layers[0].weight)
    assert (np.asarray(formulas.steps)[:3] == SMALL.agent.exploration.steps).all()


def test_a_run_that_is_interrupted_goes_on_as_if_it_had_not_been(run: Run, bank: Bank, tmp_path: Path) -> None:
    """Without the bank, of which it has a copy."""
    shutil.copytree(bank.path or "", tmp_path / "skills")
    asked = LearnArguments(**{**arguments(bank), "bank": tmp_path / "skills"}, stop_at=0.95)
    with closing(carry_out([order_of(asked, RunFolder(tmp_path / "run"), resume=False)])) as chunks:
        assert len(list(islice(chunks, 3))) == 3
    shutil.rmtree(tmp_path / "skills")
    again = learn(folder=tmp_path / "run", resume=True)
    assert again.files.metrics.read_bytes() == run.files.metrics.read_bytes()
    assert again.bank == bank


def test_what_was_learned_on_top_makes_a_larger_bank(run: Run, bank: Bank, tmp_path: Path) -> None:
    larger = save_bank(run, tmp_path / "larger")
    assert larger.names == ("all", *bank.names)
    assert larger.returns == {"all": 1.0, **bank.returns}
    assert larger.slot_of(next(iter(bank.formulas))) == 0
    with pytest.raises(RewardMachineError, match="'all' is in the bank of skills already"):
        learned(larger, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_all_tasks_that_are_not_in_the_bank_are_learned_if_none_is_named(bank: Bank) -> None:
    order = order_of(LearnArguments(bank=bank), RunFolder(Path("never")), resume=False)
    assert order.config.tasks == ("press", "all")
    assert order.config.bank == bank.digest
    assert order.config.domain is not None
    assert (order.config.domain.domain, order.config.domain.setting) == ("two-rooms", "plain")
    assert order.config.settings.agent == bank.fitted(order.config.settings.agent)


def test_machines_may_call_what_the_true_ones_call_if_it_is_in_the_bank(bank: Bank) -> None:
    restricted = replace(config(bank), callables=Callables.RESTRICTED)
    algorithm = begun(bank, "press", "all", settings=restricted)
    assert [tree.root for tree in algorithm.pool.callables("all", algorithm.suite.dependencies)] == ["fetch"]
    assert [tree.root for tree in algorithm.pool.callables("press")] == ["fetch", "either"]


def test_a_bank_that_does_not_fit_is_refused_before_anything_is_written(bank: Bank, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="the bank has other networks: network is mlp"):
        learned(bank, tmp_path / "a", settings=SMALL)
    other = replace(bank, interface=replace(bank.interface, actions=("up", "down", "left", "jump")))
    write_bank(other, tmp_path / "other", this_maker())
    with pytest.raises(RewardMachineError, match="actions: only in the bank jump; only there right"):
        learned(load_bank(tmp_path / "other"), tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_run_whose_bank_was_changed_is_not_opened(run: Run, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run.folder, tmp_path / "copy"))
    manifest = copy / "bank" / "bank.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "setting": "other"}))
    with pytest.raises(RewardMachineError, match="this is not the bank that the run was begun with"):
        open_run(copy).evaluate()
