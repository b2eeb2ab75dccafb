"""A domain that is defined in the tests only goes all the way, from playing to learning, and no other file knows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from PIL import Image

import rewardmachines as rm
from agents.tiny import compiled_once
from cli.commands import Hrm
from envs.corridor import CORRIDOR
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.envs import registry
from rewardmachines.library import find, names

NETWORK = '{"body": "flat", "filters": [], "hidden": [8]}'
TINY = {
    "environments": 4, "batch": 8, "chunk": 50, "evaluate_every": 2, "replay_size": 2000, "replay_start": 100,
    "network": NETWORK, "call_network": NETWORK, "call_replay_size": 100, "call_replay_start": 5,
}  # fmt: skip
SIZES = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
SHORT = ["--instances", 2, "--max-steps", 30]


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


@pytest.fixture(autouse=True)
def corridor() -> Iterator[None]:
    rm.register_domain(CORRIDOR)
    yield
    registry.unregister_domain("corridor")


@pytest.fixture(autouse=True, scope="module")
def _compiled_once() -> Iterator[None]:
    yield from compiled_once()


def test_it_can_be_played(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("play", "corridor", "--random", "--steps", 100) == 0
    assert "verdict: " in hrm.out
    assert hrm("play", "Corridor", "--setting", "long", "--task", "both", "--png", tmp_path / "corridor.png") == 0
    with Image.open(tmp_path / "corridor.png") as shown:
        assert shown.width > 100
    assert hrm("traces", "corridor", "--episodes", 3) == 0
    assert hrm("traces", "corridor", "--walker", "guided") == 2
    assert "Corridor has no walker that knows the way" in hrm.err


def test_policies_are_trained(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert hrm("train", "corridor", "--task", "both", "--steps", 600, *SHORT, *SIZES, "-o", folder) == 0
    assert rm.load_run(folder).spec.domain == "corridor"
    assert hrm("evaluate", folder) == 0


def test_machines_are_learned(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    budget = ["--budget", 3000, "--single-trace"]
    assert hrm("learn", "corridor", "--quick", *budget, *SHORT, *SIZES, "-o", folder) in (0, 1)
    run = rm.load_learning(folder)
    assert set(run.spec.tasks) == {"leave", "ring", "both"}
    assert "leave" in run.hierarchies()
    assert "Corridor SHORT" in (folder / "report" / "index.html").read_text()


def test_the_library_has_its_tasks(hrm: Hrm) -> None:
    assert find("corridor/both").height == 2
    assert "corridor/leave" in names()
    assert hrm("library") == 0
    assert "Corridor" in hrm.out


def test_wrong_names_are_told_in_one_line(hrm: Hrm) -> None:
    for words, message in (
        (("play", "coridor"), "domain is one of corridor, craftworld, waterworld, not 'coridor'; did you mean"),
        (("play", "corridor", "--setting", "shrt"), "Corridor has no setting 'shrt'; did you mean 'short'"),
        (("learn", "corridor", "--tasks", "leav"), "Corridor has no task 'leav'; did you mean 'leave'"),
    ):
        assert hrm(*words) == 2
        assert message in hrm.err
        assert hrm.err.count("\n") == 1


def test_a_name_belongs_to_one_domain() -> None:
    rm.register_domain(CORRIDOR)
    with pytest.raises(DuplicateNameError, match="another domain called 'corridor'"):
        rm.register_domain(replace(CORRIDOR, threshold=0.5))
    with pytest.raises(DuplicateNameError, match="another domain called 'craftworld'"):
        rm.register_domain(registry.domain("craftworld"))


def offers(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    registry.unregister_domain("corridor")
    points = [EntryPoint("corridor", value, registry.GROUP)]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: points if group == registry.GROUP else [])


def test_packages_offer_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, "envs.corridor:CORRIDOR")
    assert registry.domain_names() == ("craftworld", "waterworld", "corridor")
    assert registry.domain("corridor") is CORRIDOR
    assert registry.domain_of("long") == "corridor"


@pytest.mark.parametrize(
    ("value", "message"), [("no_such:THING", "ModuleNotFoundError"), ("math:pi", "is no Domain of that name")]
)
def test_a_broken_package_is_named(monkeypatch: pytest.MonkeyPatch, value: str, message: str) -> None:
    offers(monkeypatch, value)
    assert registry.domain("craftworld").title == "CraftWorld"
    with pytest.raises(RewardMachineError, match=re.escape(value.partition(":")[0])) as told:
        registry.domain("corridor")
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_the_document_shows_this_very_domain() -> None:
    root = Path(__file__).parents[2]
    document = (root / "docs" / "adding-a-domain.md").read_text()
    shown = re.findall(r"^```python\n(.*?)^```$", document, re.DOTALL | re.MULTILINE)
    assert (root / "tests" / "envs" / "corridor.py").read_text() in shown
