"""Banks of skills as a person would type it."""

from __future__ import annotations

from pathlib import Path

import pytest

import rewardmachines as rm
from agents.room_bank import cut_off, saved_bank
from cli.commands import Hrm
from rewardmachines.agents.bank.files import load_bank

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

SETTINGS = [
    f"{name}={value}"
    for name, value in {
        "environments": 16, "batch": 64, "replay_size": 20000, "replay_start": 500, "chunk": 50, "evaluate_every": 2,
        "calls.replay_size": 1000, "calls.replay_start": 50, "calls.target": 50, "calls.exploration.steps": 30,
    }.items()
]  # fmt: skip
SMALL = ["--instances", "1", "--max-steps", "60", *(word for change in SETTINGS for word in ("--set", change))]


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    saved_bank(tmp_path / "skills")
    return Path("skills")


def test_a_bank_is_listed_checked_and_drawn(hrm: Hrm, skills: Path) -> None:
    assert hrm("bank", "list", skills) == 0
    for text in ("two-rooms PLAIN: 2 machines, 3 policies of formulas", "propositions: k, b, g", "fetch", "either"):
        assert text in hrm.out
    listed = hrm.json("bank", "list", skills)
    assert isinstance(listed, dict)
    assert [machine["name"] for machine in listed["machines"]] == ["fetch", "either"]
    assert hrm("bank", "draw", skills, "-o", "pictures") == 0
    assert sorted(path.name for path in Path("pictures").iterdir()) == ["either.svg", "fetch.svg"]
    assert hrm("bank", "check", skills) == 0
    assert [line.split(":")[-1].strip() for line in hrm.out.splitlines()] == ["fine"] * 4
    cut_off(skills)
    assert hrm("bank", "check", skills) == 1
    assert "networks.safetensors" in hrm.out.splitlines()[1]
    assert "checksum" in hrm.out.splitlines()[1]


def test_a_chain_is_done_at_once_and_evaluated(hrm: Hrm, skills: Path) -> None:
    assert hrm("train", "fetch ; g", "--bank", skills, "--no-report", *SMALL) == 0
    assert "machines of the bank: fetch" in hrm.err
    assert "there is nothing to choose: the bank does it without any step of training" in hrm.err
    assert "no step was taken: greedy return 1.00 in 1 episodes; runs/two-rooms-plain-fetch-g-hrl-0" in hrm.err
    assert hrm("evaluate", "runs/two-rooms-plain-fetch-g-hrl-0") == 0
    assert "1.00" in hrm.out
    assert hrm("train", "--resume", "-o", "runs/two-rooms-plain-fetch-g-hrl-0", "--no-report") == 0
    assert "no step was taken" in hrm.err


def test_what_is_left_to_learn_is_said(hrm: Hrm, skills: Path) -> None:
    task = "(k ; [!k & !b & !g]) | g"
    words = ["train", "two-rooms", task, "--bank", skills, "--steps", 800, "--no-report", "-o", "run", *SMALL]
    assert hrm(*words) == 0
    assert "not in the bank, so learned as usual: !b & !g & !k" in hrm.err
    assert "to be learned: what to choose in task" in hrm.err
    assert rm.open_run("run").rows[-1].steps == 800
    assert hrm("train", "--resume", "-o", "run", "--steps", 1600, "--no-report") == 0


def test_machines_are_learned_on_top_of_a_bank(hrm: Hrm, skills: Path) -> None:
    words = ["--bank", skills, "--tasks", "all", "--budget", "800", "--no-report", *SMALL]
    assert hrm("learn", *words) == 1
    run = rm.open_run("runs/learn-two-rooms-plain-0")
    assert (run.tasks, run.bank) == (("all",), load_bank(skills))
    assert hrm("learn", "--resume", "-o", run.folder, "--budget", "1600", "--no-report") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bank", "list", "nowhere"], "there is no bank"),
        (["bank", "check", "nowhere"], "there is no bank"),
        (["bank", "save", "nowhere", "-o", "there"], "there is no run"),
        (["bank", "save", "nowhere"], "say where to write, -o FOLDER"),
        (["bank", "list", "skills", "-o", "there"], "writes nothing: leave out -o"),
        (["bank", "mend", "skills"], "mend"),
        (["train", "k", "--bank", "nowhere"], "there is no bank"),
        (["train", "k ; kk", "--bank", "skills"], "'kk' is neither a declared proposition nor a task"),
        (["train", "--bank", "skills"], "say what to learn"),
        (["train", "k", "--bank", "skills", "--agent", "crm"], "a bank holds options"),
        (["train", "k", "--bank", "skills", "--set", "layout=separate"], "layout is shared there"),
        (["train", "craftworld", "iron", "--bank", "skills"], "does not fit CraftWorld OP: propositions"),
        (["train", "cli.corridor:make", "left", "--bank", "skills"], "bank: only domains have it"),
        (["train", "two-rooms", "all", "--train-bank"], "no bank of skills to be trained further"),
        (["learn", "--bank", "nowhere"], "there is no bank"),
        (["learn", "--bank", "skills", "--tasks", "fetch"], "'fetch' is in the bank of skills already"),
        (["learn", "craftworld", "--bank", "skills"], "does not fit CraftWorld OP: propositions"),
        (["learn", "cli.corridor:make_out", "--bank", "skills"], "bank: only domains have it"),
    ],
)
def test_mistakes_get_one_line_and_exit_status_2(hrm: Hrm, skills: Path, arguments: list[str], message: str) -> None:
    assert hrm(*arguments) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["skills"]
