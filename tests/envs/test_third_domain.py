"""A domain that is defined in the tests only goes all the way, from playing to learning, and no other file knows it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import gymnasium
import pytest
from PIL import Image

import rewardmachines as rm
from cli.commands import Hrm
from envs.corridor import CORRIDOR
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.envs import ScenarioEnv, registry
from rewardmachines.envs.gymnasium_ids import ids_of
from rewardmachines.library import domain_names, find, names, offered

NETWORK = '{"body": "flat", "filters": [], "hidden": [8], "normalizes": false}'
TINY = {
    "environments": 4, "batch": 8, "chunk": 50, "evaluate_every": 2, "replay_size": 2000, "replay_start": 100,
    "network": NETWORK, "calls.network": NETWORK, "calls.replay_size": 100, "calls.replay_start": 5,
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
    assert hrm("train", "corridor", "both", "--no-report", "--steps", 600, *SHORT, *SIZES, "-o", folder) == 0
    place = rm.open_run(folder).config.domain
    assert place is not None
    assert place.domain == "corridor"
    assert hrm("evaluate", folder) == 0


def test_machines_are_learned(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    budget = ["--budget", 3000, "--single-trace"]
    assert hrm("learn", "corridor", "--quick", *budget, *SHORT, *SIZES, "-o", folder) in (0, 1)
    run = rm.open_run(folder)
    assert set(run.tasks) == {"leave", "ring", "both"}
    assert "leave" in run.machines
    assert "Corridor SHORT" in (folder / "report" / "index.html").read_text()


def test_the_library_has_its_tasks(hrm: Hrm) -> None:
    assert find("corridor/both").height == 2
    assert "corridor/leave" in names()
    assert hrm("library") == 0
    assert "Corridor" in hrm.out


def test_wrong_names_are_told_in_one_line(hrm: Hrm) -> None:
    for words, message in (
        (
            ("play", "coridor"),
            "domain is one of corridor, craft, craftworld, office, waterworld, not 'coridor'; did you mean",
        ),
        (("play", "corridor", "--setting", "shrt"), "Corridor has no setting 'shrt'; did you mean 'short'"),
        (("learn", "corridor", "--tasks", "leav"), "Corridor has no task 'leav'; did you mean 'leave'"),
    ):
        assert hrm(*words) == 2
        assert message in hrm.err
        assert hrm.err.count("\n") == 1


def test_a_name_belongs_to_one_domain() -> None:
    rm.register_domain(CORRIDOR)
    with pytest.raises(DuplicateNameError, match="another domain called 'corridor'"):
        rm.register_domain(replace(CORRIDOR, solved_return=0.5))
    with pytest.raises(DuplicateNameError, match="another domain called 'craftworld'"):
        rm.register_domain(registry.domain("craftworld"))


def offers(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    registry.unregister_domain("corridor")
    points = [EntryPoint("corridor", value, offered.GROUP)]
    monkeypatch.setattr(offered, "entry_points", lambda *, group: points if group == offered.GROUP else [])


def test_packages_offer_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    offers(monkeypatch, "envs.corridor:CORRIDOR")
    assert domain_names() == ("craftworld", "waterworld", "office", "craft", "corridor")
    assert registry.domain("corridor") is CORRIDOR
    assert registry.domain_of("long") == "corridor"


def test_commands_find_tasks_of_offered_domains(monkeypatch: pytest.MonkeyPatch, hrm: Hrm, tmp_path: Path) -> None:
    for words in (("check",), ("stats",), ("draw", "-o", tmp_path / "both.svg"), ("library",)):
        offers(monkeypatch, "envs.corridor:CORRIDOR")
        assert hrm(words[0], "Corridor/both", *words[1:]) == 0
    assert "coin" in (tmp_path / "both.svg").read_text()
    offers(monkeypatch, "envs.corridor:CORRIDOR")
    assert hrm("library", "--json") == 0
    assert "corridor/leave" in hrm.out


def test_only_tasks_of_a_broken_domain_are_refused(monkeypatch: pytest.MonkeyPatch, hrm: Hrm) -> None:
    offers(monkeypatch, "no_such:THING")
    assert hrm("stats", "craftworld/book") == 0
    assert hrm("stats", "corridor/both") == 2
    assert "offers the domain 'corridor', but it cannot be loaded" in hrm.err


def test_gymnasium_makes_it_by_its_ids() -> None:
    env = gymnasium.make("rewardmachines/Corridor-LONG-v0", task="both", instance=1)
    assert isinstance(env.unwrapped, ScenarioEnv)
    assert env.unwrapped.scenario.domain is CORRIDOR
    assert env.reset(seed=0)[0].shape == (9,)
    side_by_side = gymnasium.make_vec("rewardmachines/Corridor-SHORT-v0", 3, vectorization_mode="vector_entry_point")
    assert side_by_side.reset(seed=0)[0].shape == (3, 5)
    registry.unregister_domain("corridor")
    assert not any("rewardmachines/Corridor" in identifier for identifier in gymnasium.registry)


def test_offered_domains_have_ids_as_soon_as_they_are_loaded(monkeypatch: pytest.MonkeyPatch, hrm: Hrm) -> None:
    offers(monkeypatch, "envs.corridor:CORRIDOR")
    assert "rewardmachines/Corridor-SHORT-v0" not in gymnasium.registry
    assert hrm("labels", "rewardmachines/Corridor-SHORT-v0", "--episodes", 1, "--max-steps", 5) == 0
    assert "coin" in hrm.out
    assert "rewardmachines/Corridor-SHORT-v0" in gymnasium.registry


def test_ids_belong_to_one_domain_and_have_no_odd_characters() -> None:
    same_title = replace(CORRIDOR, task_set=replace(CORRIDOR.task_set, name="other"))
    with pytest.raises(DuplicateNameError, match="Corridor-SHORT-v0 belongs to another domain"):
        rm.register_domain(same_title)
    assert "other" not in domain_names()
    odd = replace(CORRIDOR, task_set=replace(CORRIDOR.task_set, name="odd", title="An odd (long) corridor"))
    assert next(iter(ids_of(odd))) == "rewardmachines/Anoddlongcorridor-SHORT-v0"


def test_it_is_registered_where_gymnasium_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.unregister_domain("corridor")
    monkeypatch.setitem(sys.modules, "gymnasium", None)  # importing it fails from now on
    rm.register_domain(CORRIDOR)
    assert registry.domain("corridor") is CORRIDOR
    registry.unregister_domain("corridor")


def test_the_help_names_the_domains_that_are_installed() -> None:
    """In a process of its own, because the help is put together when the commands are loaded."""
    code = (
        "from importlib.metadata import EntryPoint\n"
        "from rewardmachines.library import offered\n"
        "offered.entry_points = lambda *, group: [EntryPoint('corridor', 'no_such:THING', group)]\n"
        "from rewardmachines.cli.main import main\n"
        "main(['traces', '--help'])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "craftworld, waterworld, office, craft, corridor" in re.sub(r"[\s│]+", " ", shown)


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
