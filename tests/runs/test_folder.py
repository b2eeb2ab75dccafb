"""The folder of a run: what the run writes there it knows by name, and it touches nothing outside."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.language import compile_task
from rewardmachines.runs.written import remove_file, write_file


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file beside the folder `run`, which no run may touch."""
    path = tmp_path / "victim" / "f.json"
    path.parent.mkdir()
    path.write_text("mine")
    (tmp_path / "run").mkdir()
    return path


@pytest.mark.parametrize("name", ["../victim/f.json", "{tmp}/victim/f.json", "machines/../../victim/f.json"])
def test_no_file_of_a_folder_names_files_to_delete(victim: Path, name: str) -> None:
    folder = TrainFolder(victim.parents[1] / "run")
    digest = hashlib.sha256(victim.read_bytes()).hexdigest()
    named = name.format(tmp=victim.parents[1])
    (folder.path / "written.jsonl").write_text(json.dumps([named, digest]) + "\n")
    with folder.writable(), pytest.raises(RewardMachineError, match=r"not empty.*written\.jsonl"):
        folder.begin()
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["../../victim/f", "../victim/f", "/victim/f", "..", "x" * 100_000, "\udcff", ""])
def test_a_beginning_that_was_broken_off_takes_away_only_a_machine_file_inside(victim: Path, name: str) -> None:
    folder = TrainFolder(victim.parents[1] / "run")
    folder.lock.write_bytes(name.encode(errors="surrogateescape"))
    with folder.writable():
        folder.begin()
    assert victim.read_text() == "mine"


def test_a_run_does_not_write_through_a_folder_that_leads_elsewhere(victim: Path) -> None:
    folder = TrainFolder(victim.parents[1] / "run")
    folder.machines.symlink_to(victim.parent)
    folder.lock.write_text("f")
    with pytest.raises(RewardMachineError, match="machines"), folder.writable():
        folder.begin()
    assert victim.read_text() == "mine"


def test_the_machine_of_a_beginning_that_was_broken_off_is_not_in_the_way_of_another_task(tmp_path: Path) -> None:
    folder = TrainFolder(tmp_path)
    with folder.writable():
        folder.begin()
        folder.write_hierarchy("cake", compile_task("wheat", name="cake"))
    assert folder.machine("cake").exists()
    with folder.writable():
        folder.begin()
    assert not folder.machine("cake").exists()


def test_what_is_no_file_is_renamed_where_a_file_of_the_run_belongs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    path.mkdir()
    other.symlink_to("elsewhere")
    write_file(path, "ours")
    write_file(path, "ours again")
    remove_file(other)
    assert (path.read_text(), other.is_symlink()) == ("ours again", False)
    assert (tmp_path / "a.json.old").is_dir()
    assert (tmp_path / "b.json.old").is_symlink()
    assert "kept as a.json.old" in capsys.readouterr().err
    path.unlink()
    path.mkdir()
    remove_file(path)
    assert (tmp_path / "a.json.old2").is_dir()
    remove_file(path)
