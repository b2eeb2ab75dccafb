"""Mistakes with environments of one's own: one line, exit status 2, and nothing is written or lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Hrm

TASK = ("--task", "left ; right")
MAKE = "envs.painted:make"
FUNCTIONS = {
    "nowhere:make": "cannot be found as nowhere:make (ModuleNotFoundError: No module named 'nowhere')",
    "envs.painted:mak": "cannot be found as envs.painted:mak (AttributeError: ",
    "envs.painted:paint": "cannot be made: envs.painted:paint is not a function",
    "envs.painted:make_nothing": "the environment cannot be made: ValueError: out of paint",
    "envs.painted:make_number": "3 is no Gymnasium environment",
    "envs.painted:make_bare": "is not labelled",
}
"""Names of functions, and what is wrong with them."""


def refused(hrm: Hrm, folder: Path, words: list[str], message: str) -> None:
    assert hrm(*words) == 2
    assert message in hrm.err
    assert hrm.err.count("\n") == 1
    assert not folder.exists()


@pytest.mark.parametrize(("function", "message"), FUNCTIONS.items())
def test_functions_that_make_no_environment(hrm: Hrm, tmp_path: Path, function: str, message: str) -> None:
    folder = tmp_path / "run"
    refused(hrm, folder, ["train", "--env", function, *TASK, "-o", str(folder)], message)
    refused(hrm, folder, ["learn", "--env", function, "-o", str(folder)], message)
    refused(hrm, folder, ["labels", "--env", function], message)
    refused(hrm, folder, ["labels", function], message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env", "envs.painted", *TASK], "the environment is named as module:function, not 'envs.painted'"),
        (
            ["--env", MAKE, "--task", "left ; moon"],
            "mentions 'moon', but the environment only knows left",
        ),
        (["--env", MAKE, "--task", "left ;"], "but the text ends (in 'left ;')"),
        (["--env", MAKE], "say what to learn: --task"),
        (["--env", MAKE, "--hierarchy", "none.yaml"], "none.yaml"),
        (["craftworld", "--env", MAKE, *TASK], "environments of your own go without a domain: leave it out"),
        (["--env", MAKE, *TASK, "--seeds", "2"], "go without --seeds: start the command once for each --seed"),
        (["--env", MAKE, *TASK, "--own-instances"], "environments of your own go without --own-instances"),
        (["--env", MAKE, *TASK, "--instances", "fresh"], "only a domain draws instances"),
        (["--env", MAKE, *TASK, "--instance-seed", "4"], "environments of your own go without --instance-seed"),
        (["--env", MAKE, *TASK, "--instances", "0"], "at least one instance, not 0"),
        (["--env", MAKE, *TASK, "--preset", "paper"], "environments of your own go without --preset"),
        (["--env", "envs.painted:make_picture", *TASK], "seem to have their channels last"),
        (["--env", MAKE, *TASK, "--encode", "envs.painted:flatt"], "encode cannot be found as envs.painted:flatt"),
        (["--env", MAKE, *TASK, "--set", "bach=3"], "did you mean 'batch'?"),
        (
            ["--env", MAKE, *TASK, "--set", "network.body=pooled-cnn", "--set", "network.filters=[1,1,1,1,1]"],
            "too small",
        ),
        (["--env", MAKE, *TASK, "--steps", "5", "--budget", "5"], "--steps and --budget both say how many steps"),
        (["--env", MAKE, *TASK, "--stop-at", "2"], "a return that is good enough lies between 0 and 1, not 2"),
    ],
)
def test_commands_that_train(hrm: Hrm, tmp_path: Path, words: list[str], message: str) -> None:
    refused(hrm, tmp_path / "run", ["train", *words, "-o", str(tmp_path / "run")], message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "say which environment to look at, once: hrm labels "),
        ([MAKE, "--env", MAKE], "say which environment to look at, once"),
    ],
)
def test_commands_that_look_at_labels(hrm: Hrm, tmp_path: Path, words: list[str], message: str) -> None:
    refused(hrm, tmp_path / "run", ["labels", *words], message)


def test_labels_are_those_of_the_environment_however_it_is_named(hrm: Hrm) -> None:
    assert hrm.json("labels", "--env", MAKE) == hrm.json("labels", MAKE)


def test_folders_that_hold_something_else(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    begun = ["train", "--env", MAKE, *TASK, "--set", "chunk=5", "--set", "environments=4", "-o", str(folder)]
    assert hrm(*begun, "--budget", "20", "--no-report") == 0
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for words, message in (
        (begun, "there is a run already; choose another folder, or --resume it: it is of 'rm.train_gymnasium'"),
        (["learn", "--env", MAKE, "-o", str(folder)], "there is a run already"),
        (
            ["train", "--resume", "--env", "envs.painted:make_unseen", "-o", str(folder)],
            "env is envs.painted:make,",
        ),
        (["train", "--resume", "--env", "lhrm.yards:make_ab", "-o", str(folder)], "the hierarchy mentions 'left', but"),
        (["train", "--resume", "--task", "right", "-o", str(folder)], "the run was begun with another hierarchy"),
        (
            ["train", "--resume", "--set", "batch=7", "-o", str(folder)],
            "begun with other settings: config.",
        ),
        (["learn", "--resume", "-o", str(folder)], "this is a run of 'rm.train_gymnasium', not of 'hrm learn'"),
    ):
        assert hrm(*words) == 2
        assert message in hrm.err
        assert len([line for line in hrm.err.splitlines() if not line.startswith("importing ")]) == 1
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    assert hrm(*begun[:-1], tmp_path / "notes", "--budget", "20") == 2
    assert "the folder is not empty: it holds 'diary.txt'" in hrm.err
