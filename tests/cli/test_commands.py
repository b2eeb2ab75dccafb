"""What all commands have in common: help, the version, and one line for a mistake."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

import rewardmachines
from cli.commands import Hrm


def test_help_teaches(hrm: Hrm) -> None:
    assert hrm("--help") == 0
    for word in ("compile", "check", "run", "flatten", "minimize", "equivalent", "draw", "export", "stats", "library"):
        assert word in hrm.out
    assert "hrm draw craftworld/book -o book.svg" in hrm.out
    assert hrm("compile", "--help") == 0
    assert "a, then b" in hrm.out


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_told(hrm: Hrm, word: str) -> None:
    assert hrm(word) == 0
    assert hrm.out == f"rewardmachines {version('rewardmachines')}\n"
    assert (hrm.err, rewardmachines.__version__) == ("", version("rewardmachines"))


def test_the_version_is_told_without_loading_jax() -> None:
    code = "import sys; from rewardmachines.cli import main; sys.exit(main(['--version']) or 'jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_not_installed_says_so(hrm: Hrm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardmachines.files.version.PACKAGE", "nobody-has-installed-this")
    assert hrm("--version") == 0
    assert hrm.out == "rewardmachines not installed\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["check", "nowhere"], "nowhere: no such file; `hrm library` lists"),
        (["check", "craftworld/bok"], "did you mean 'book'?"),
        (["check", "."], "Is a directory"),
        (["compile", "a &"], "task, character 4: expected a proposition"),
        (["compile", "a", "--task", "b"], "write NAME=EXPR"),
        (["compile", "a", "-o", "no/such/folder/a.yaml"], "No such file or directory"),
        (["run", "craftworld/book", "--trace", "sugarcan"], "did you mean 'sugarcane'?"),
        (["run", "craftworld/book", "--trace", "{"], "labels are separated by spaces"),
        (["run", "craftworld/book", "--trace", "missing.jsonl"], "missing.jsonl: No such file"),
        (["draw", "craftworld/book", "-o", "book.bmp"], ".svg"),
        (["export", "craftworld/book", "--to", "dot", "--trace", "iron"], "--trace goes with --to asp only"),
        (["minimize", "craftworld/book", "--labels", "a &"], "formula, character 4"),
        (["flatten", "figures/none"], "there is no figure 'none'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value[:20],
)
def test_mistakes_get_one_line_and_exit_status_2(hrm: Hrm, arguments: list[str], message: str) -> None:
    assert hrm(*arguments) == 2
    assert hrm.out == ""
    assert hrm.err.startswith("hrm: ")
    assert message in hrm.err
    assert len(hrm.err.splitlines()) == 1
    assert "Traceback" not in hrm.err


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["chek", "a"], ["check"], ["export", "a", "--to", "pdf"], ["draw", "a"]]
)
def test_unknown_commands_and_missing_arguments_exit_with_status_2(hrm: Hrm, arguments: list[str]) -> None:
    assert hrm(*arguments) == 2
    assert "Traceback" not in hrm.err + hrm.out


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    command = f"{sys.executable} -m rewardmachines library craftworld/cake | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout.startswith("propositions:")
    assert result.stderr == ""
