"""Runs that earlier versions wrote still open, and their settings mean what they meant."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rewardmachines as rm
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.training import spec as train_settings
from rewardmachines.agents.training.spec import standard_spec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm import spec as learn_settings
from rewardmachines.lhrm.learner_registry import EXACT
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import FORMAT
from rewardmachines.runs.tensors import write_arrays

GOLDEN = Path(__file__).parents[1] / "golden" / "runs"
FIRST = GOLDEN / "first-of-format-1"
"""Settings as the first version wrote them that had both commands."""
SECOND = GOLDEN / "format-2"
"""Settings as the last version of format 2 wrote them."""

THIRD = GOLDEN / "format-3"
"""Settings as the last version of format 3 wrote them."""


@pytest.fixture
def copy(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run that was written in format 1, which may be written to."""
    return Path(shutil.copytree(GOLDEN / request.param, tmp_path / "run"))


def plain(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_first_settings_of_training_mean_what_they_meant() -> None:
    order = train_settings.load_order(FIRST / "train-hrl.json")
    assert (order.budget, order.stop_at) == (Budget(steps=1000), 0.9)
    config, before = order.spec.config, plain(FIRST / "train-hrl.json")["spec"]["config"]
    assert isinstance(config, HierarchicalDqnConfig)
    assert (config.evaluate_episodes, config.call_batch) == (None, before["call_batch"])
    assert config.discount == before["discount"]


def test_the_first_settings_of_crm_counted_steps_and_discounted_as_machines_do() -> None:
    order = train_settings.load_order(FIRST / "train-crm.json")
    config, before = order.spec.config, plain(FIRST / "train-crm.json")["spec"]["config"]
    assert order.spec.algorithm is Algorithm.CRM
    assert isinstance(config, CrmConfig)
    assert (config.counts_experiences, config.evaluate_episodes) == (False, None)
    assert config.discount == before["call_discount"] != before["discount"]
    assert config.replay_size == before["replay_size"]


def test_the_first_settings_of_learning_mean_what_they_meant() -> None:
    order = learn_settings.load_order(FIRST / "learn.json")
    assert (order.budget, order.stop_at, order.spec.learner) == (Budget(seconds=60.0), 0.95, EXACT)
    config, before = order.spec.config, plain(FIRST / "learn.json")["spec"]["config"]
    assert (config.disjuncts, config.cyclic, config.negative, config.learner_memory) == (1, False, False, None)
    assert before["evaluate_episodes"] is not None
    assert config.agent.evaluate_episodes == before["evaluate_episodes"]


def test_in_settings_of_format_2_all_seeds_have_the_same_instances() -> None:
    order = train_settings.load_order(SECOND / "train.json")
    assert (order.budget, order.spec.seed, order.spec.seeds, order.spec.own_instances) == (Budget(1000), 1, 3, False)
    assert order.spec == standard_spec("craftworld", "op", "cake", seed=1, seeds=3)
    learning = learn_settings.load_order(SECOND / "learn.json")
    assert learning.spec == without_trials(learn_settings.standard_learning("craftworld", "op", seed=4))


def without_trials(spec: learn_settings.LearnSpec) -> learn_settings.LearnSpec:
    """The specification as it was when machines were not confirmed and agents did not digress."""
    return replace(spec, config=replace(spec.config, digressions=0.0, trials=0))


def test_in_settings_of_format_3_nobody_digressed() -> None:
    order = learn_settings.load_order(THIRD / "learn.json")
    assert order.spec.config.digressions == 0
    assert order.spec == without_trials(learn_settings.standard_learning("craftworld", "op", seed=4))
    training = train_settings.load_order(THIRD / "train.json")
    assert training.spec == standard_spec("craftworld", "op", "cake", seed=1, seeds=3, own_instances=True)


@pytest.mark.parametrize("copy", ["train-hrl", "train-crm"], indirect=True)
def test_earlier_training_runs_are_looked_at_and_evaluated(copy: Path) -> None:
    run = rm.load_run(copy)
    rows = run.rows()
    assert (run.order.budget, len(rows), len(run.moments())) == (Budget(steps=400), 4, 4)
    assert run.evaluate()[0].returns == rows[-1].returns


@pytest.mark.parametrize("copy", ["learn"], indirect=True)
def test_earlier_learning_runs_are_looked_at_and_evaluated(copy: Path) -> None:
    run = rm.load_learning(copy)
    assert run.rows()[-1].steps >= 12_000
    assert set(run.hierarchies()) == {"bucket"}
    (evaluation,) = run.evaluate()
    assert len(evaluation.returns) == 2


@pytest.mark.parametrize("copy", ["train-hrl"], indirect=True)
def test_a_checkpoint_of_an_earlier_version_is_not_gone_on_from(copy: Path) -> None:
    write_arrays(copy / "checkpoint.safetensors", {}, {"format": 1})
    before = (copy / "metrics.jsonl").read_bytes()
    with pytest.raises(RewardMachineError, match=r"checkpoint of an earlier version \(format 1\)") as problem:
        rm.train(copy, resume=True, steps=600)
    assert "\n" not in str(problem.value)
    assert (copy / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("copy", ["train-hrl", "learn"], indirect=True)
def test_settings_of_a_later_version_name_it(copy: Path) -> None:
    content = plain(copy / "config.json")
    content.update(format=FORMAT + 1, command="train", made_by=[{"rewardmachines": "9.9"}], novelty=True)
    (copy / "config.json").write_text(json.dumps(content))
    for load in (rm.load_run, rm.load_learning):
        with pytest.raises(RewardMachineError, match=r"written by a later version \(rewardmachines 9.9\), in format 5"):
            load(copy)


@pytest.mark.parametrize("damage", [lambda c: c.pop("spec"), lambda c: c.update(spec=[]), lambda c: c.pop("stop_at")])
@pytest.mark.parametrize("copy", ["train-hrl", "learn"], indirect=True)
def test_damaged_settings_of_an_earlier_version_are_named(copy: Path, damage: Any) -> None:
    content = plain(copy / "config.json")
    damage(content)
    (copy / "config.json").write_text(json.dumps(content))
    load: Any = rm.load_learning if "command" in content else rm.load_run
    with pytest.raises(RewardMachineError, match=r"config.json: damaged, these are not the settings of a run"):
        load(copy)


@pytest.mark.parametrize("copy", ["train-crm"], indirect=True)
def test_settings_that_no_version_had_are_still_mistakes(copy: Path) -> None:
    content = plain(copy / "config.json")
    content["spec"]["bach"] = 3
    (copy / "config.json").write_text(json.dumps(content))
    with pytest.raises(RewardMachineError, match="spec: 'bach' means nothing there"):
        rm.load_run(copy)


def test_settings_that_were_added_are_written_only_where_they_are_used(tmp_path: Path) -> None:
    spec = standard_spec("craftworld", "op", "cake")
    for config, added in ((spec.config, {}), (replace(spec.config, persistence=0.5), {"persistence": 0.5})):
        order = train_settings.TrainOrder(replace(spec, config=config), Budget(steps=1000))
        train_settings.save_order(order, tmp_path / "config.json")
        written = plain(tmp_path / "config.json")["spec"]["config"]
        assert {name: written[name] for name in ("persistence", "lookahead") if name in written} == added
        assert train_settings.load_order(tmp_path / "config.json") == order
