"""Quick runs of `hrm learn`, and `make learn`: folders of their own, and tasks that show what there is to learn."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cli.commands import Hrm
from cli.small_learning import CHUNK, small
from rewardmachines.envs import registry
from rewardmachines.lhrm.run import load_learning
from rewardmachines.library import DOMAINS, domain, task


def test_quick_runs_have_a_folder_of_their_own(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quicker = replace(registry.domain("craftworld"), quick_tasks=("bucket",))
    monkeypatch.setattr("rewardmachines.cli.commands.learn.domain", lambda _: quicker)
    more = ("--budget", CHUNK, "--no-report")
    quick = [word for word in small("--quick", *more) if word not in ("--tasks", "bucket")]
    assert hrm(*quick) == 1
    assert hrm(*small(*more)) == 1
    assert sorted(path.name for path in Path("runs").iterdir()) == ["learn-craftworld-op-0", "quick-craftworld-op-0"]
    assert hrm(*quick, "--resume") == 1
    assert hrm(*quick) == 2
    steps = load_learning("runs/quick-craftworld-op-0").rows()[-1].steps
    assert (
        "quick-craftworld-op-0: there is a run already; choose another folder, or --resume it: it is of 'hrm learn', "
        f"craftworld op, task bucket, seed 0, {steps:,} steps so far; to go on with it, type: "
        "hrm learn --resume -o runs/quick-craftworld-op-0\n"
    ) in hrm.err
    assert hrm("learn", "craftworld", "--setting", "op", "--resume", "-o", "runs/quick-craftworld-op-0") == 2
    assert "begun with other settings: tasks is ['bucket'], not ['" in hrm.err


def test_make_learn_goes_on_only_with_what_it_would_begin(tmp_path: Path) -> None:
    """The domain is named to resume as well, so that a run of other tasks is told and not taken."""
    shutil.copy(Path(__file__).parents[2] / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    command = ["make", "-n", "learn"]
    first = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "hrm learn craftworld --setting op -o runs/learn-craftworld-op-0" in first
    assert "--resume" not in first
    (tmp_path / "runs" / "learn-craftworld-op-0").mkdir(parents=True)
    (tmp_path / "runs" / "learn-craftworld-op-0" / "config.json").touch()
    again = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "hrm learn craftworld --setting op -o runs/learn-craftworld-op-0 --resume" in again


def test_quiet_runs_say_only_what_came_of_them(hrm: Hrm, tmp_path: Path) -> None:
    words = small("--budget", CHUNK, "--stop-at", 0, "--quiet", "--no-report", "-o", tmp_path / "run")
    assert hrm(*words) in (0, 1)
    assert hrm.out == ""
    assert "tasks learned" in hrm.err


@pytest.mark.parametrize("name", DOMAINS)
def test_quick_tasks_have_two_levels_and_a_call(name: str) -> None:
    trees = {other: task(name, other) for other in registry.domain(name).quick_tasks}
    assert {tree.height for tree in trees.values()} == {1, 2}
    called = {callee for other, tree in trees.items() for callee in tree[other].callees}
    assert called
    assert called <= trees.keys() <= domain(name).tasks.keys()
