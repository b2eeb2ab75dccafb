"""What is in the folder of a run: it survives kills and losses, and touches nothing that is not its own."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import rewardmachines as rm
from agents.tiny import CHUNK, tiny_spec
from agents.tiny_runs import metrics
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.spec import TrainOrder, standard_spec
from rewardmachines.agents.training.train import train
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.budget import Budget
from runs.killing import Kill, folders_left_by

pytestmark = pytest.mark.usefixtures("shared_programs")

STEPS = 8 * CHUNK


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TrainRun:
    """Trained without a break."""
    return train(tmp_path_factory.mktemp("runs") / "whole", tiny_spec(), None, STEPS)


def steps_in(path: Path) -> list[int]:
    return [json.loads(line)["steps"] for line in path.read_text().splitlines()]


# -- killed at any moment

_CHILD = f"""
from agents.tiny import tiny_spec
from rewardmachines.agents.training.train import train
train(FOLDER, tiny_spec(), None, {STEPS})
"""


KILLS = {
    Kill("machines/bucket.json", "half"): False,
    Kill("config.json", "half"): False,
    Kill("metrics.jsonl", "half", 5): True,
    Kill("bucket-0.safetensors", "before", 2): True,
    Kill("checkpoint.safetensors", "half", 2): True,
}
"""And whether there is a run by then."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of a run that is killed."""
    return folders_left_by(
        list(KILLS), lambda folder: train(folder, tiny_spec(), None, STEPS), _CHILD, tmp_path_factory
    )


@pytest.mark.parametrize(("kill", "has_begun"), KILLS.items(), ids=str)
def test_a_run_that_is_killed_while_it_writes_is_begun_again_or_goes_on(
    whole: TrainRun, copies: Path, kill: Kill, has_begun: bool
) -> None:
    folder = copies / kill.folder
    assert (folder / "config.json").exists() == has_begun
    if has_begun:
        train(folder, resume=True)
    else:
        train(folder, tiny_spec(), None, STEPS)
    assert metrics(folder) == metrics(whole.folder)
    assert not list(folder.rglob("*.part"))


def test_what_a_broken_beginning_left_is_no_run_and_not_in_the_way_of_another(tmp_path: Path) -> None:
    """The machine of the first is taken away: the run wrote it."""
    place = TrainFolder(tmp_path)
    (tmp_path / "machines").mkdir()
    (tmp_path / "policies").mkdir()
    place.lock.touch()
    (tmp_path / ".config.json.abcd1234.part").write_text('{"format"')
    place.note_machine("cake")
    place.machine("cake").write_text("{}")
    with pytest.raises(RewardMachineError, match="there is no run"):
        load_run(tmp_path)
    train(tmp_path, tiny_spec(), None, CHUNK)
    assert [path.name for path in (tmp_path / "machines").iterdir()] == ["bucket.json"]


@pytest.mark.parametrize(
    "name", ["machines/mine.json", "policies/notes.txt", ".config.json.part", ".mine.abcd1234.part", "report/a.txt"]
)
def test_what_is_not_ours_is_in_the_way_and_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    named = name if path.parent.name != "report" else "report"
    with pytest.raises(RewardMachineError, match=f"the folder is not empty: it holds '{named}'; choose another"):
        train(tmp_path, tiny_spec(), None, CHUNK)
    assert path.read_text() == "mine"


# -- what is lost beside an intact checkpoint


def test_a_run_goes_on_without_lines_that_are_lost_and_says_so(
    whole: TrainRun, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "metrics.jsonl").write_bytes(metrics(copy)[:-10])
    (copy / "timing.jsonl").unlink()
    run = train(copy, resume=True, steps=STEPS + CHUNK)
    said = capsys.readouterr().err.splitlines()
    assert [line.split(": ", 1)[1] for line in said] == [
        "damaged, 1 of 8 lines are lost; the run goes on without them",
        "damaged, 8 of 8 lines are lost; the run goes on without them",
    ]
    rows = run.rows()
    assert rows[:7] == whole.rows()[:7]
    assert [row.chunk for row in rows] == [1, 2, 3, 4, 5, 6, 7, 9]
    assert steps_in(copy / "timing.jsonl") == [STEPS + CHUNK]


def test_lines_that_were_written_after_the_checkpoint_are_not_taken_for_earlier_ones(
    whole: TrainRun, copy: Path
) -> None:
    """A line is missing and another one is too many: the file is as long as the checkpoint says."""
    lines = metrics(copy).splitlines(keepends=True)
    later = lines[-1].replace(b'"chunk": 8', b'"chunk": 9')
    assert later != lines[-1]
    (copy / "metrics.jsonl").write_bytes(b"".join([*lines[:3], *lines[4:], later]))
    rows = train(copy, resume=True, steps=STEPS + CHUNK).rows()
    assert [row.chunk for row in rows] == [1, 2, 3, 5, 6, 7, 8, 9]
    assert rows[:3] == whole.rows()[:3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"returns": [0.0]}, "'returns' must have 2 entries, not 1"),
        ({"lengths": []}, "'lengths' must have 2 entries, not 0"),
        ({"lengths": None}, "returns and lengths go together"),
        ({"seed": 7}, "there is no seed 7 in this run"),
    ],
)
def test_rows_with_too_few_entries_are_named(copy: Path, change: dict[str, Any], message: str) -> None:
    lines = metrics(copy).decode().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    (copy / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(RewardMachineError, match=f"metrics.jsonl, line 2: damaged, {message}"):
        load_run(copy).rows()


def test_numbers_that_are_too_large_are_named(whole: TrainRun, copy: Path) -> None:
    """Whoever adds or draws them would fail."""
    first = json.loads(metrics(whole.folder).splitlines()[0])
    for name, message in (("steps", "steps: larger than anything"), ("formula_loss", "must be a number, not 1000")):
        (copy / "metrics.jsonl").write_text(json.dumps({**first, name: 10**400}) + "\n")
        with pytest.raises(RewardMachineError, match=f"metrics.jsonl, line 1.*{message}"):
            load_run(copy).rows()


def test_numbers_of_thousands_of_digits_are_named(copy: Path) -> None:
    huge = "9" * 5000
    (copy / "metrics.jsonl").write_text(f'{{"seed": {huge}}}\n')
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: damaged, this is not JSON"):
        load_run(copy).rows()
    (copy / "config.json").write_text(f'{{"format": {huge}}}')
    with pytest.raises(RewardMachineError, match=r"config.json: damaged, this is not JSON"):
        load_run(copy)


# -- what is not ours


def test_a_run_leaves_alone_what_it_did_not_write(whole: TrainRun, copy: Path) -> None:
    foreign = [copy / name for name in ("machines/mine.json", "machines/.mine.part", ".notes.part", "policies/a.txt")]
    for path in foreign:
        path.write_text("mine")
    (copy / "machines" / "sub.json").mkdir()
    (copy / "machines" / ".x.json.abcd1234.part").mkdir()
    train(copy, resume=True, steps=STEPS + CHUNK)
    assert load_run(copy).hierarchy == whole.hierarchy
    assert all(path.read_text() == "mine" for path in foreign)
    assert (copy / "machines" / "sub.json").is_dir()


def test_a_machine_that_is_gone_is_not_replaced_by_one_of_somebody_else(copy: Path) -> None:
    rm.save(rm.compile_task("iron", name="bucket"), copy / "machines" / "mine.json")
    (copy / "machines" / "bucket.json").unlink()
    with pytest.raises(RewardMachineError, match=r"bucket\.json: damaged, the machine of the task is missing"):
        train(copy, resume=True)


# -- seeds and arrays


@pytest.mark.parametrize("seed", [-1, 2**32, 2**63, 2**64, 10**400])
def test_seeds_that_generators_do_not_take_are_refused_before_anything_is_written(tmp_path: Path, seed: int) -> None:
    with pytest.raises(RewardMachineError, match=r"a seed lies between 0 and 4,294,967,295, not [^\n]{1,25}$"):
        train(tmp_path / "run", tiny_spec(seed=seed), None, CHUNK)
    assert not (tmp_path / "run").exists()


def test_the_last_of_several_seeds_is_one_too() -> None:
    TrainOrder(standard_spec("craftworld", "op", "cake", seed=2**32 - 2, seeds=2), Budget(1))
    with pytest.raises(RewardMachineError, match=r"and so must be the last of 3, not 4294967294"):
        TrainOrder(standard_spec("craftworld", "op", "cake", seed=2**32 - 2, seeds=3), Budget(1))


@pytest.mark.parametrize("kind", ["F8_E4M3", "F8_E5M2", "F8_E8M0", "F4"])
def test_types_that_numpy_does_not_have_are_named(copy: Path, kind: str) -> None:
    size = 1 if kind == "F4" else 2
    header = json.dumps({"state/x": {"dtype": kind, "shape": [2], "data_offsets": [0, size]}}).encode()
    path = copy / "checkpoint.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size))
    with pytest.raises(RewardMachineError, match=r"checkpoint.*'state/x' has a type of numbers that NumPy does not"):
        train(copy, resume=True)


# -- what is in the way


def test_a_folder_that_is_taken_tells_what_is_in_it_and_what_to_type(copy: Path) -> None:
    message = (
        rf"copy: there is a run already; choose another folder, or --resume it: it is of 'hrm train', craftworld op, "
        rf"task bucket, seed 0, {STEPS} steps so far; to go on with it, type: hrm train --resume -o \S+copy$"
    )
    with pytest.raises(RewardMachineError, match=message):
        train(copy, tiny_spec(), None, STEPS)
    (copy / "config.json").write_text("{")
    with pytest.raises(RewardMachineError, match=r"cannot be told \(.*damaged.*\); delete the folder, or"):
        train(copy, tiny_spec(), None, STEPS)
