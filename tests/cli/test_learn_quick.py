"""Quick runs of `hrm learn`, and `make learn`: folders of their own, and tasks that show what there is to learn."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import rewardmachines as rm
from cli.commands import Hrm
from cli.craft import LEARN, LEARN_CHUNK
from rewardmachines.cli.commands.learn import Learn
from rewardmachines.envs import registry
from rewardmachines.library import DOMAINS, domain, task


def test_quick_runs_have_a_folder_of_their_own(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quicker = replace(registry.domain("craftworld"), quick_tasks=("bucket",))
    monkeypatch.setattr(registry, "BUILT_IN", {**registry.BUILT_IN, "craftworld": quicker})
    more = ("--budget", LEARN_CHUNK, "--no-report")
    quick = ["--quick" if word == "--tasks" else word for word in LEARN if word != "bucket"]
    assert hrm(*quick, *more) == 1
    assert hrm(*LEARN, *more) == 1
    assert sorted(path.name for path in Path("runs").iterdir()) == ["learn-craftworld-op-0", "quick-craftworld-op-0"]
    config = rm.open_run("runs/quick-craftworld-op-0").config
    assert (config.tasks, config.settings.goals) == (("bucket",), (1,))
    assert hrm(*quick, *more, "--resume") == 1
    assert "nothing left to do" in hrm.err
    assert hrm("learn", "--quick", "--resume", "-o", "runs/quick-craftworld-op-0", "--no-report") == 1
    assert hrm(*quick, *more) == 2
    assert "there is a run already; choose another folder, or --resume it" in hrm.err
    assert "hrm learn --resume -o runs/quick-craftworld-op-0" in hrm.err
    assert hrm("learn", "craftworld", "--setting", "op", "--resume", "-o", "runs/quick-craftworld-op-0") == 2
    assert "begun with other settings: tasks is ['bucket'], not ['" in hrm.err


@pytest.mark.parametrize(("given", "taken"), [(None, 3), ("2", 2), ("10", 3), ("fresh", "fresh")])
def test_quick_runs_take_few_instances_or_fresh_ones(given: str | None, taken: int | str) -> None:
    assert Learn(where=("craftworld",), instances=given, quick=True)._asked().instances == taken


def test_make_learn_goes_on_only_with_what_it_would_begin(tmp_path: Path) -> None:
    """The domain is named to resume as well, so that a run of other tasks is told and not taken."""
    shutil.copy(Path(__file__).parents[2] / "Makefile", tmp_path)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    command = ["make", "-n", "learn"]
    first = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "hrm learn craftworld --setting op --instances fresh -o runs/learn-craftworld-op-fresh-0" in first
    assert "--resume" not in first
    (tmp_path / "runs" / "learn-craftworld-op-fresh-0").mkdir(parents=True)
    (tmp_path / "runs" / "learn-craftworld-op-fresh-0" / "config.json").touch()
    again = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert "hrm learn craftworld --setting op --instances fresh -o runs/learn-craftworld-op-fresh-0 --resume" in again


@pytest.mark.parametrize("name", DOMAINS)
def test_quick_tasks_have_two_levels_and_a_call(name: str) -> None:
    trees = {other: task(name, other) for other in registry.domain(name).quick_tasks}
    assert {tree.height for tree in trees.values()} == {1, 2}
    called = {callee for other, tree in trees.items() for callee in tree[other].callees}
    assert called
    assert called <= trees.keys() <= domain(name).tasks.keys()
