"""A learner that is defined in the tests only is found by its name, and no other file knows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lhrm.flat_learner import FlatLearner
from lhrm.toy import MAX_STEPS, quickly, two_rooms_registered
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm import learners
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.learners import (
    ExactLearner,
    learner_names,
    make_learner,
    register_learner,
    unregister_learner,
)
from rewardmachines.runs.run import open_run
from rewardmachines.runs.verbs import learn

CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)


@pytest.fixture(autouse=True)
def flat() -> Iterator[None]:
    register_learner("flat", FlatLearner)
    with two_rooms_registered():
        yield
    unregister_learner("flat")


def test_flat_machines_are_learned_by_name_and_the_folder_knows_by_whom(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    learn("two-rooms", settings=CONFIG, instances=1, max_steps=MAX_STEPS, learner="flat", steps=24_000, folder=folder)
    assert json.loads((folder / "config.json").read_text())["learner"] == "flat"
    assert "LHRM (flat)" in repr(open_run(folder))
    learned = open_run(folder).machines
    assert "all" in learned
    assert all(not machine.callees for tree in learned.values() for machine in tree.machines)
    before = (folder / "metrics.jsonl").read_bytes()
    learn(folder=folder, resume=True, steps=26_000, stop_at=0)
    assert (folder / "metrics.jsonl").read_bytes().startswith(before)
    unregister_learner("flat")
    with pytest.raises(RewardMachineError, match="begun with the learner 'flat', which is not known here: register it"):
        learn(folder=folder, resume=True, steps=28_000)
    assert open_run(folder).evaluate(), "to look at it, the learner is not needed"


def test_a_name_belongs_to_one_learner() -> None:
    register_learner("flat", FlatLearner)
    for name in ("flat", "exact"):
        with pytest.raises(DuplicateNameError, match=f"another learner called '{name}'"):
            register_learner(name, ExactLearner)


def offers(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    points = [EntryPoint("shallow", value, learners.GROUP)]
    monkeypatch.setattr(learners, "entry_points", lambda *, group: points)


def test_packages_offer_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, "lhrm.flat_learner:FlatLearner")
    assert learner_names() == ("exact", "flat", "shallow")
    with Solvers(cores=1) as solvers:
        assert isinstance(make_learner("shallow", solvers), FlatLearner)
        assert isinstance(make_learner("exact", solvers), ExactLearner)


@pytest.mark.parametrize(
    ("value", "message"), [("no_such:THING", "ModuleNotFoundError"), ("math:pi", "math:pi cannot be called")]
)
def test_a_broken_package_is_named(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    offers(monkeypatch, value)
    with Solvers(cores=1) as solvers, pytest.raises(RewardMachineError, match=message) as problem:
        make_learner("shallow", solvers)
    assert "offers the learner 'shallow'" in str(problem.value)
    assert "\n" not in str(problem.value)


def test_the_document_shows_this_very_learner() -> None:
    root = Path(__file__).parents[2]
    document = (root / "docs" / "adding-a-learner.md").read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    assert (root / "tests" / "lhrm" / "flat_learner.py").read_text() in shown
