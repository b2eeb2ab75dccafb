"""A bank of skills on disk: it is read as it was written, and what is damaged is named."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.room_bank import cut_off, room_bank, saved_bank, train_with
from agents.trees import same
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import NETWORKS, check_bank, load_bank, machine_file, write_bank
from rewardmachines.agents.bank.manifest import FORMAT, NAME
from rewardmachines.agents.config import Layout
from rewardmachines.agents.tensors import read_arrays, write_arrays
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs import verbs
from rewardmachines.runs.maker import this_maker
from runs.killing import Kill

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


@pytest.mark.parametrize("layout", Layout)
def test_what_is_read_is_what_was_written(layout: Layout, tmp_path: Path) -> None:
    before, after = room_bank(layout), saved_bank(tmp_path / "skills", layout)
    assert same(before.networks.formulas, after.networks.formulas)
    assert same(before.networks.calls, after.networks.calls)
    assert replace(after, digest="") == before
    assert [check.problem for check in check_bank(tmp_path / "skills")] == [None] * 4
    assert load_bank(tmp_path / "skills") == after
    assert sorted(path.name for path in tmp_path.iterdir()) == ["skills"]


def test_nothing_is_written_over(bank: Bank, tmp_path: Path) -> None:
    with pytest.raises(RewardMachineError, match="there is a bank already"):
        write_bank(bank, tmp_path / "skills", this_maker())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").write_text("mine")
    with pytest.raises(RewardMachineError, match="there is something already"):
        write_bank(bank, tmp_path / "mine", this_maker())
    with pytest.raises(RewardMachineError, match="there is no bank"):
        load_bank(tmp_path / "mine")


def _other_format(folder: Path) -> None:
    content = json.loads((folder / NAME).read_text())
    (folder / NAME).write_text(json.dumps({**content, "format": FORMAT + 1}))


def _other_shape(folder: Path) -> None:
    """Networks of another shape, with a checksum that is right."""
    content = json.loads((folder / NAME).read_text())
    content["sizes"]["network"]["hidden"] = [3]
    (folder / NAME).write_text(json.dumps(content))


def _other_callee(folder: Path) -> None:
    machine_file(folder, "fetch").write_text(machine_file(folder, "fetch").read_text().replace("k", "g"))


def _other_numbers(folder: Path) -> None:
    arrays, notes = read_arrays(folder / NETWORKS)
    write_arrays(folder / NETWORKS, {name: array + 1 for name, array in arrays.items()}, notes)


def _unknown_proposition(folder: Path) -> None:
    content = json.loads((folder / NAME).read_text())
    content["formulas"][0]["required"] = ["x"]
    (folder / NAME).write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_other_format, rf"a bank of format {FORMAT + 1}; this version knows format {FORMAT}"),
        (lambda folder: (folder / NAME).write_text("{"), "damaged, this is not JSON"),
        (lambda folder: (folder / NAME).write_text("[]"), "not the manifest of a bank"),
        (_unknown_proposition, "'x' is not among its propositions"),
        (_other_shape, r"damaged, or of another version: [\d,]+ numbers, not [\d,]+"),
        (_other_callee, "fetch.yaml: damaged, it is not as it was written"),
        (lambda folder: machine_file(folder, "either").unlink(), "either.yaml: this file of the bank is missing"),
        (cut_off, "networks.safetensors: damaged"),
        (_other_numbers, "networks.safetensors: damaged, it is not as it was written"),
    ],
)
def test_what_is_damaged_is_named_in_one_line(
    damage: Callable[[Path], object], message: str, bank: Bank, tmp_path: Path
) -> None:
    damage(tmp_path / "skills")
    with pytest.raises(RewardMachineError, match=message) as problem:
        load_bank(tmp_path / "skills")
    assert "\n" not in str(problem.value)


def test_a_check_finds_all_that_is_damaged(bank: Bank, tmp_path: Path) -> None:
    _other_callee(tmp_path / "skills")
    cut_off(tmp_path / "skills")
    problems = {check.file: check.problem for check in check_bank(tmp_path / "skills")}
    assert problems[NAME] is problems["machines/either.yaml"] is None
    assert "checksum" in (problems[NETWORKS] or "")
    assert "checksum" in (problems["machines/fetch.yaml"] or "")


# -- killed at any moment

_SAVE = """
from pathlib import Path
from agents.room_bank import saved_bank
saved_bank(Path(FOLDER) / "skills")
"""


@pytest.mark.parametrize("kill", [Kill("networks.safetensors", "half"), Kill("skills", "before")], ids=str)
def test_a_bank_that_a_killed_process_was_writing_is_written_again(tmp_path: Path, kill: Kill) -> None:
    kill.run(tmp_path, _SAVE)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    saved_bank(tmp_path / "skills")
    assert [path.name for path in tmp_path.iterdir()] == ["skills"]


_TRAIN = """
from pathlib import Path
from agents.room_bank import train_with
from lhrm.toy import TWO_ROOMS
from rewardmachines.agents.bank.files import load_bank
from rewardmachines.envs.registry import register_domain
from rewardmachines.runs.maker import this_maker
from rewardmachines.runs.verbs import train
register_domain(TWO_ROOMS)
train_with(load_bank(Path(FOLDER).parent / "skills"), "fetch ; g", Path(FOLDER), steps=100)
"""


@pytest.mark.parametrize("kill", [Kill("run/bank", "before"), Kill("run/bank", "after")], ids=str)
def test_a_run_that_was_killed_while_a_bank_was_copied_is_begun_again(bank: Bank, tmp_path: Path, kill: Kill) -> None:
    folder = tmp_path / "run"
    kill.run(folder, _TRAIN)
    assert not (folder / "config.json").exists()
    other = saved_bank(tmp_path / "other", Layout.SHARED, ("k", "g"))
    if kill.moment == "after":
        with pytest.raises(RewardMachineError, match="another bank of skills is there already"):
            train_with(other, "fetch ; g", folder, steps=100)
    train_with(bank, "fetch ; g", folder, steps=100)
    assert not list(folder.rglob("*.part"))
    assert load_bank(folder / "bank").digest == bank.digest


def test_a_run_that_was_killed_while_a_bank_was_copied_goes_on(bank: Bank, tmp_path: Path) -> None:
    """Its config may be there already, if the copy of the bank was lost and copied again."""
    folder = tmp_path / "run"
    train_with(bank, "fetch ; g", folder, steps=100)
    (folder / ".bank.abcd1234.part" / "machines").mkdir(parents=True)
    verbs.train(folder=folder, resume=True)
    assert not list(folder.rglob("*.part"))


def test_a_bank_is_as_private_as_other_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        saved_bank(tmp_path / "skills")
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "skills", *(tmp_path / "skills").rglob("*"))}
    assert modes == {0o700, 0o600}
