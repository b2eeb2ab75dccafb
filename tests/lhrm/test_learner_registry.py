"""A learner that is defined in the tests only is found by its name, in `hrm learn` too, and no other file knows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import rewardmachines as rm
from cli.commands import Hrm
from envs.corridor import CORRIDOR
from envs.test_third_domain import SHORT, SIZES
from lhrm.flat_learner import FlatLearner
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.envs import registry
from rewardmachines.learning import Solvers
from rewardmachines.lhrm import learner_registry
from rewardmachines.lhrm.learner_registry import learner_names, make_learner, unregister_learner
from rewardmachines.lhrm.machine_learner import ExactLearner

LEARN = ["learn", "corridor", "--quick", "--single-trace", "--no-report", *SHORT, *SIZES]


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


@pytest.fixture(autouse=True)
def flat() -> Iterator[None]:
    rm.register_domain(CORRIDOR)
    rm.register_learner("flat", FlatLearner)
    yield
    unregister_learner("flat")
    registry.unregister_domain("corridor")


def test_flat_machines_are_learned_by_a_command_and_the_folder_knows_by_whom(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert hrm(*LEARN, "--learner", "flat", "--budget", 6000, "-o", folder) in (0, 1)
    assert json.loads((folder / "config.json").read_text())["spec"]["learner"] == "flat"
    learned = rm.load_learning(folder).hierarchies()
    assert "leave" in learned
    assert all(not machine.callees for tree in learned.values() for machine in tree.machines)
    before = (folder / "metrics.jsonl").read_bytes()
    assert hrm("learn", "--resume", "-o", folder, "--budget", 8000, "--no-report") in (0, 1)
    assert (folder / "metrics.jsonl").read_bytes().startswith(before)
    unregister_learner("flat")
    assert hrm("learn", "--resume", "-o", folder, "--budget", 9000) == 2
    assert "the run was begun with the learner 'flat', which is not known here: register it" in hrm.err


def test_a_learner_that_is_not_known_is_named_before_anything_is_written(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm(*LEARN, "--learner", "flatt", "-o", tmp_path / "run") == 2
    assert "there is no learner of machines 'flatt'; did you mean 'flat'" in hrm.err
    assert hrm.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_name_belongs_to_one_learner() -> None:
    rm.register_learner("flat", FlatLearner)
    for name in ("flat", "exact"):
        with pytest.raises(DuplicateNameError, match=f"another learner called '{name}'"):
            rm.register_learner(name, ExactLearner)


def offers(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    points = [EntryPoint("shallow", value, learner_registry.GROUP)]
    monkeypatch.setattr(learner_registry, "entry_points", lambda *, group: points)


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
