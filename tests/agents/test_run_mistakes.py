"""What can be wrong with the folder of a run of training: it is named, and nothing is overwritten."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest

import rewardmachines as rm
from agents.tiny import tiny_spec
from agents.tiny_runs import STEPS, metrics, resumed
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.train import train
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.tensors import read_arrays, write_arrays

pytestmark = pytest.mark.usefixtures("shared_programs")


def test_a_folder_holds_one_run(whole: TrainRun, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a run already; choose another folder, or --resume it"):
        train(whole.folder, tiny_spec(), None, STEPS)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RewardMachineError, match="the folder is not empty"):
        train(tmp_path, tiny_spec(), None, STEPS)
    with pytest.raises(RewardMachineError, match=r"no run \(no config.json\), so nothing to resume"):
        resumed(tmp_path)


def test_nothing_is_written_for_what_cannot_be_trained(tmp_path: Path) -> None:
    gold = rm.compile_task("iron ; gold", name="bucket")
    for spec, tree, message in (
        (tiny_spec(task="bukket"), None, "no task 'bukket'; did you mean 'bucket'"),
        (tiny_spec(setting="opp"), None, "no setting 'opp'"),
        (tiny_spec(), gold, "speaks of 'gold', which CraftWorld OP does not have"),
    ):
        with pytest.raises(RewardMachineError, match=message):
            train(tmp_path / "run", spec, tree, STEPS)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RewardMachineError, match="file/run: cannot be written to"):
        train(tmp_path / "file" / "run", tiny_spec(), None, STEPS)


def test_only_one_process_trains_in_a_folder(copy: Path) -> None:
    with TrainFolder(copy).lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RewardMachineError, match="another process is training there"):
            resumed(copy, steps=2 * STEPS)
    assert load_run(copy).order.budget.steps == STEPS


def test_a_run_goes_on_with_its_own_settings_only(whole: TrainRun) -> None:
    with pytest.raises(RewardMachineError, match="begun with other settings: seed is 0, not 1"):
        resumed(whole.folder, spec=tiny_spec(seed=1))
    with pytest.raises(RewardMachineError, match="begun with another hierarchy"):
        resumed(whole.folder, hierarchy=rm.compile_task("iron", name="bucket"))


def _lose(path: Path) -> None:
    arrays, notes = read_arrays(path)
    arrays.popitem()
    write_arrays(path, arrays, notes)


def _misshape(path: Path) -> None:
    arrays, notes = read_arrays(path)
    write_arrays(path, {name: array[None] for name, array in arrays.items()}, notes)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b""), "damaged, this is not a whole safetensors file"),
        (lambda path: path.write_bytes(b"hello " * 1000), "damaged, this is not a whole safetensors file"),
        (lambda path: write_arrays(path, {}, read_arrays(path)[1]), "is missing"),
        (lambda path: write_arrays(path, read_arrays(path)[0], {}), "another version|does not tell 'chunks'"),
        (_lose, "is missing"),
        (_misshape, "misshapen|is .*, not "),
    ],
)
def test_damaged_checkpoints_and_policies_are_named(copy: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(copy / "checkpoint.safetensors")
    with pytest.raises(RewardMachineError, match=f"checkpoint.safetensors: .*({message}).*without this file"):
        resumed(copy)
    damage(copy / "policies" / "bucket-0.safetensors")
    with pytest.raises(RewardMachineError, match=f"bucket-0.safetensors: .*({message})"):
        load_run(copy).evaluate()


def test_damaged_metrics_are_named(copy: Path) -> None:
    whole = metrics(copy)
    (copy / "metrics.jsonl").write_bytes(b"hello\n" + whole)
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: damaged, this is not JSON"):
        load_run(copy).rows()
    (copy / "metrics.jsonl").write_bytes(whole.replace(b'"goals"', b'"gaols"'))
    with pytest.raises(RewardMachineError, match=r"metrics.jsonl, line 1: 'gaols' means nothing there"):
        load_run(copy).rows()


def test_missing_parts_are_named(copy: Path) -> None:
    (copy / "policies" / "bucket-0.safetensors").unlink()
    with pytest.raises(RewardMachineError, match="no policy of seed 0 yet"):
        load_run(copy).evaluate()
    (copy / "machines" / "bucket.json").unlink()
    with pytest.raises(RewardMachineError, match="the machine of the task is missing"):
        load_run(copy)
    (copy / "config.json").write_text("{")
    with pytest.raises(RewardMachineError, match=r"config.json: damaged, this is not JSON"):
        load_run(copy)
