"""What people mistype when they begin: each mistake gets one line that helps, exit status 2, and writes nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import rewardmachines
from cli.commands import Hrm

MISTAKES: Final = {
    # commands
    "trian craftworld": "hrm: there is no command 'trian'; did you mean 'train'?",
    "craftworld": "hrm: there is no command 'craftworld'; see hrm --help",
    "--verison": "hrm: there is no command '--verison'; did you mean '--version'?",
    # options
    "learn craftworld --taks cake": "hrm learn: there is no option --taks; did you mean '--tasks'?",
    "train craftworld -steps 5": "hrm train: -steps has two dashes: --steps;",
    "train craftworld cake --gpu": "hrm train: there is no option --gpu; see 'hrm train --help'",
    "draw craftworld/book": "hrm draw: --output PATH must be given; see 'hrm draw --help'",
    "draw craftworld/book -o": "hrm draw: -o/--output needs a value; see",
    "train craftworld cake book": "hrm train: nothing is known of 'book'; see",
    "study list -o page.md": "hrm: -o is for the page of hrm study run, show and report; list writes none",
    "study status smoke -o page.md": "hrm: -o is for the page of hrm study run, show and report; status writes none",
    # numbers
    "train craftworld cake --steps many": "hrm train: --steps: 'many' is not a whole number, such as 500000",
    "train craftworld cake --steps 1.5": "hrm train: --steps: '1.5' is not a whole number, such as 500000",
    "train craftworld cake --steps -5": "hrm: at least one step is needed, not -5",
    "train craftworld cake --seeds 0": "hrm: at least one seed is needed, not 0",
    "train craftworld cake --stop-at 95%": "hrm train: --stop-at: '95%' is not a number, such as 0.95;",
    "learn craftworld --budget 2hours": "hrm: --budget 2hours: write a number of steps, such as 500000",
    "learn craftworld --instances frsh": "hrm: --instances frsh: write a number, or fresh",
    # names
    "train craftwrld cake": "hrm: there is no domain 'craftwrld', and no environment of Gymnasium by that name;",
    "play craftwrld": "hrm play: domain is one of craft, craftworld, office, waterworld, not 'craftwrld'; did you mean",
    "train craftworld caek": "hrm: CraftWorld has no task 'caek'; did you mean 'cake'?",
    "learn craftworld --tasks bucket caek": "hrm: CraftWorld has no task 'caek'; did you mean 'cake'?",
    "learn craftworld --setting opp": "hrm: CraftWorld has no setting 'opp'; did you mean 'op'?",
    "learn craftworld --setting big": "hrm: CraftWorld has no setting 'big'; there are op, opl, fr, frl",
    "learn craftworld --learner exat": "hrm: there is no learner of machines 'exat'; did you mean 'exact'?",
    "train craftworld cake --preset papr": "hrm train: --preset is one of fast, paper, table, not 'papr'; did",
    "train craftworld cake --set bach=64": "hrm: --set: 'bach' means nothing there; did you mean 'batch'?",
    "train craftworld cake --set batch": "hrm: --set batch: write NAME=VALUE, such as batch=64",
    "export craftworld/book --to dto": "hrm export: --to is one of asp, dot, hoa, ilasp, mermaid, not 'dto'; did you",
    "study run smok": "hrm: there is no study 'smok'; did you mean 'smoke'?",
    "check boook": "hrm: boook: no such file; did you mean 'craftworld/book'?",
    "draw craftwrld/book -o a.svg": "hrm: craftwrld/book: no such file, and the library has nothing called",
    "run craftworld/book --trace sugercane": "hrm: trace, label 1: the hierarchy has no proposition 'sugercane'; did",
    # files, and what is missing
    "check missing.yaml": "hrm: missing.yaml: No such file or directory",
    "evaluate runs/nothing": "hrm: runs/nothing: there is no run",
    "draw craftworld/book -o book.jpg": "hrm: 'book.jpg' ends in '.jpg', which is no kind of drawing: end it in one of",
    "train --steps 5": "hrm: say where to act (hrm train craftworld cake), or --resume -o FOLDER",
    "train craftworld": "hrm: say what to learn after where to act: a task (hrm library lists",
    "compile a&": "hrm: task, character 3: expected a proposition, a task, '[' or '(', but the text ends",
}  # fmt: skip
"""What is typed, and how the answer begins."""


def test_there_are_enough_of_them() -> None:
    assert len(MISTAKES) >= 30


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_gets_one_line_that_helps(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hrm(*line.split()) == 2
    assert hrm.err.startswith(MISTAKES[line]), hrm.err
    assert hrm.err.count("\n") == 1
    assert not re.search(r"Traceback|\bNone\b|\bINT\b|<class|object at 0x", hrm.err)
    assert hrm.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_setting_that_needs_more_memory_than_there_is_gets_one_line(hrm: Hrm, tmp_path: Path) -> None:
    run = ("train", "craftworld", "bucket", "--steps", "2000", "-o", tmp_path / "run", "--quiet")
    assert hrm(*run, "--set", "batch=1000000000") == 2
    assert len(hrm.err.splitlines()) == 1
    assert "memory" in hrm.err
    assert "batch" in hrm.err
    assert "delete the folder" in hrm.err, "it is a run with that setting"


@pytest.mark.parametrize("problem", [MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: Out of memory")])
def test_memory_that_runs_out_anywhere_gets_one_line(
    problem: Exception, hrm: Hrm, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> int:
        raise problem

    monkeypatch.setattr("rewardmachines.cli.commands.check.Check.run", fail)
    assert hrm("check", "craftworld/book") == 2
    assert "memory" in hrm.err


def test_other_errors_are_not_taken_for_a_lack_of_memory(hrm: Hrm, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise RuntimeError("something else")

    monkeypatch.setattr("rewardmachines.cli.commands.check.Check.run", fail)
    with pytest.raises(RuntimeError, match="something else"):
        hrm("check", "craftworld/book")


def test_an_older_python_gets_one_line() -> None:
    """The version is checked before anything is imported that needs a newer one."""
    for argument, status in (("-m", 2), ("", 1)):
        script = (
            f"import sys; sys.version_info = (3, 10, 12, 'final', 0); sys.argv = [{argument!r}]; import rewardmachines"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == status
        assert "needs Python 3.11" in done.stderr.splitlines()[-1]
        assert argument == "" or len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_entry_files_can_be_read_by_an_older_python(name: str) -> None:
    ast.parse((Path(rewardmachines.__file__).parent / name).read_text(), feature_version=(3, 8))
