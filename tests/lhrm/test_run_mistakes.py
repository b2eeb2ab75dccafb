"""What can be wrong with a run of LHRM or its folder: it is named, and nothing is overwritten."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewardmachines as rm
from agents.tiny import tiny_spec
from lhrm.room_runs import CONFIG, SPEC
from rewardmachines.agents.training.spec import TrainOrder, save_order
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import standard_learning
from rewardmachines.library import domain
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.checkpoint import HOST
from rewardmachines.runs.tensors import read_arrays, write_arrays

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_a_folder_holds_one_run(rooms: LearnRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a run already; choose another folder, or --resume it"):
        learn(rooms.folder, SPEC)
    with pytest.raises(RewardMachineError, match=r"no run \(no config.json\), so nothing to resume"):
        learn(tmp_path, resume=True)


def test_runs_of_another_kind_are_told_apart(rooms: LearnRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="this is a run of 'hrm learn', not of 'hrm train'"):
        rm.load_run(rooms.folder)
    save_order(TrainOrder(tiny_spec(), Budget(100)), tmp_path / "config.json")
    for load in (load_learning, lambda folder: learn(folder, resume=True)):
        with pytest.raises(RewardMachineError, match="this is a run of 'hrm train', not of 'hrm learn'"):
            load(tmp_path)


def test_only_one_process_learns_in_a_folder(copied_rooms: Path) -> None:
    with LearnFolder(copied_rooms).lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            learn(copied_rooms, resume=True, steps=10**9)
    assert load_learning(copied_rooms).order.budget == Budget()


def test_a_run_goes_on_with_its_own_settings_only(rooms: LearnRun) -> None:
    with pytest.raises(RewardMachineError, match="begun with other settings: seed is 0, not 1"):
        learn(rooms.folder, replace(SPEC, seed=1), resume=True)
    with pytest.raises(RewardMachineError, match=r"begun with other settings: config.first_goals is 8, not 9"):
        learn(rooms.folder, replace(SPEC, config=replace(CONFIG, first_goals=9)), resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "at least one step is needed, not 0"),
        ({"seconds": 0.0}, "more than 0 seconds are needed"),
        ({"stop_at": 1.5}, "lies between 0 and 1, not 1.5"),
        ({"stop_at": 0}, "it would never end"),
    ],
)
def test_nothing_is_written_for_what_cannot_be_learned(tmp_path: Path, options: Any, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        learn(tmp_path / "run", SPEC, **options)
    assert not (tmp_path / "run").exists()


def test_tasks_are_those_of_the_domain_and_each_is_there_once() -> None:
    assert set(standard_learning("craftworld", "OP").tasks) == set(domain("craftworld").tasks)
    assert standard_learning("craftworld", "op", ["MilkBucket"]).tasks == ("milk-bucket",)
    for tasks, message in (([], "no task to learn"), (["book", "Book"], "the task 'book' is there twice")):
        with pytest.raises(RewardMachineError, match=message):
            standard_learning("craftworld", "op", tasks)
    with pytest.raises(RewardMachineError, match="no task 'bukket'; did you mean 'bucket'"):
        standard_learning("craftworld", "op", ["bukket"])


def _host(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Damages the text of a checkpoint."""

    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path)
        content = json.loads(arrays[HOST].tobytes())
        change(content)
        text = json.dumps(content).encode()
        write_arrays(path, {**arrays, HOST: np.frombuffer(text, np.uint8)}, notes)

    return damage


def _lose(name: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        arrays, notes = read_arrays(path, lambda found: not found.startswith(name))
        write_arrays(path, arrays, notes)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b""), "damaged, this is not a whole safetensors file"),
        (_lose(HOST), "'host' is missing"),
        (_lose("state/agent/formulas"), "damaged, or of another version: 'state/agent/formulas/.*' is missing"),
        (_host(lambda c: c["snapshot"].pop("level")), "snapshot: 'level' is missing"),
        (_host(lambda c: c["snapshot"].update(running=[[0.0]])), "speaks of other tasks or instances"),
        (_host(lambda c: c["snapshot"].update(learnings=[])), "speaks of other tasks or instances"),
        (_host(lambda c: c["snapshot"].update(chance="{}")), "the state of its chance cannot be read"),
        (_host(lambda c: c["snapshot"]["learnings"][0].update(traces="{")), "examples of 'fetch', line 1: not JSON"),
        (_host(lambda c: c["snapshot"].update(machines="{")), "machines"),
        (_host(lambda c: c["snapshot"].update(learned=["cake"])), "speaks of other tasks or instances"),
    ],
)
def test_damaged_checkpoints_are_named(copied_rooms: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copied_rooms / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors.*({message}).*without this file"):
        learn(copied_rooms, resume=True)
