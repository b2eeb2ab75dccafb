"""What is in the folder of a run of LHRM: it survives kills and losses, and touches nothing that is not its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lhrm.room_runs import SPEC, STEPS, kept
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import standard_learning
from runs.killing import Kill, folders_left_by

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

FEW = 16 * STEPS
"""Enough for the first machines, with nothing left to do afterwards."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LearnRun:
    """Learned without a break."""
    run = learn(tmp_path_factory.mktemp("runs") / "whole", SPEC, steps=FEW)
    assert set(run.hierarchies()) >= {"fetch", "press"}
    return run


@pytest.fixture
def copy(whole: LearnRun, tmp_path: Path) -> Path:
    """To be damaged."""
    shutil.copytree(whole.folder, tmp_path / "copy")
    return tmp_path / "copy"


# -- what is not ours


def test_a_run_leaves_alone_what_it_did_not_write(whole: LearnRun, copy: Path) -> None:
    names = ("machines/mine.json", "examples/mine.jsonl", "machines/fetch.yaml", "examples/.mine.part", ".notes.part")
    for name in names:
        (copy / name).write_text("mine")
    for folder in ("machines/sub", "machines/sub.json", "examples/sub"):
        (copy / folder).mkdir()
        (copy / folder / "a.json").write_text("mine")
    for steps in (None, FEW + STEPS):  # with nothing left to do, and with something
        run = learn(copy, resume=True, steps=steps)
        assert all((copy / name).read_text() == "mine" for name in names)
        assert (copy / "machines" / "sub.json" / "a.json").read_text() == "mine"
        assert run.hierarchies().keys() == run.examples().keys() == whole.hierarchies().keys()


def test_what_is_no_file_in_the_place_of_one_is_renamed_and_told(
    whole: LearnRun, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "machines" / "fetch.json").write_text("mine")
    (copy / "machines" / "press.json").unlink()
    (copy / "machines" / "press.json").mkdir()
    (copy / "examples" / "fetch.jsonl").unlink()
    (copy / "examples" / "fetch.jsonl").symlink_to("elsewhere")
    learn(copy, resume=True)
    assert (copy / "machines" / "press.json.old").is_dir()
    assert (copy / "examples" / "fetch.jsonl.old").is_symlink()
    assert "kept as press.json.old" in capsys.readouterr().err
    for name, content in kept(whole.folder).items():
        assert (copy / name).read_bytes() == content


def test_files_that_are_as_they_should_be_are_not_written_again(copy: Path) -> None:
    before = {path: path.stat().st_ino for name in ("machines", "examples") for path in (copy / name).iterdir()}
    learn(copy, resume=True)
    assert {path: path.stat().st_ino for path in before} == before


# -- killed at any moment

_CHILD = f"""
from lhrm.room_runs import SPEC
from lhrm.toy import TWO_ROOMS
from rewardmachines.envs.registry import register_domain
from rewardmachines.lhrm.learn import learn
register_domain(TWO_ROOMS)
learn(FOLDER, SPEC, steps={FEW})
"""


KILLS = {
    Kill("config.json", "half"): False,
    Kill("metrics.jsonl", "half", 2): True,
    Kill("machines/fetch.json", "half"): True,
    Kill("examples/press.jsonl", "after"): True,
    Kill("/policies.safetensors", "half", 3): True,
    Kill("checkpoint.safetensors", "before", 7): True,
}
"""And whether there is a run by then."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of a run that is killed."""
    return folders_left_by(list(KILLS), lambda folder: learn(folder, SPEC, steps=FEW), _CHILD, tmp_path_factory)


@pytest.mark.parametrize(("kill", "has_begun"), KILLS.items(), ids=str)
def test_a_run_that_is_killed_while_it_writes_is_begun_again_or_goes_on(
    whole: LearnRun, copies: Path, kill: Kill, has_begun: bool
) -> None:
    folder = copies / kill.folder
    assert (folder / "config.json").exists() == has_begun
    if has_begun:
        learn(folder, resume=True)
    else:
        learn(folder, SPEC, steps=FEW)
    assert kept(folder) == kept(whole.folder)
    assert not list(folder.rglob("*.part"))


# -- what is lost beside an intact checkpoint


def test_a_run_goes_on_without_lines_that_are_lost_and_says_so(
    whole: LearnRun, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = whole.rows()
    (copy / "metrics.jsonl").write_bytes((copy / "metrics.jsonl").read_bytes()[:-10])
    (copy / "timing.jsonl").unlink()
    run = learn(copy, resume=True, steps=rows[-1].steps + 1)
    said = [line for line in capsys.readouterr().err.splitlines() if "lost" in line]
    assert [line.split(": ", 1)[1] for line in said] == [
        f"damaged, 1 of {len(rows)} lines are lost; the run goes on without them",
        f"damaged, {len(rows)} of {len(rows)} lines are lost; the run goes on without them",
    ]
    assert run.rows()[: len(rows) - 1] == rows[:-1]
    assert [row.chunk for row in run.rows()][-2:] == [len(rows) - 1, len(rows) + 1]
    assert len(run.moments()) == 1
    assert run.missing().keys() == whole.missing().keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ended": [1, 2]}, "'ended' must have 3 entries, not 2"),
        ({"goals": []}, "'goals' must have 3 entries, not 0"),
        ({"running": [0.0] * 4}, "'running' must have 3 entries, not 4"),
        ({"returns": [[0.0]]}, "'returns' must have 3 entries, not 1"),
        ({"returns": [[0.0], [0.0], []]}, "'returns' must have 1 entries for each task, not 0"),
    ],
)
def test_rows_with_too_few_entries_are_named(copy: Path, change: dict[str, Any], message: str) -> None:
    path = copy / "metrics.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RewardMachineError, match=f"metrics.jsonl, line 2: damaged, {message}"):
        load_learning(copy).missing()


# -- what is in the way


def test_a_folder_that_is_taken_tells_what_is_in_it_and_what_to_type(whole: LearnRun) -> None:
    steps = whole.rows()[-1].steps
    message = (
        rf"whole: there is a run already; choose another folder, or --resume it: it is of 'hrm learn', "
        rf"two-rooms plain, tasks fetch, press, all, seed 0, {steps:,} steps so far; "
        r"to go on with it, type: hrm learn --resume -o \S+$"
    )
    with pytest.raises(RewardMachineError, match=message):
        learn(whole.folder, replace(SPEC, seed=1))


@pytest.mark.parametrize("seed", [-1, 2**32, 2**64, 10**400])
def test_seeds_that_generators_do_not_take_are_refused(seed: int) -> None:
    with pytest.raises(RewardMachineError, match=r"a seed lies between 0 and 4,294,967,295, not [^\n]{1,25}$"):
        standard_learning("craftworld", "op", seed=seed)
