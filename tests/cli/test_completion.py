"""Shells complete what the parser understands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.cli.commands import COMMANDS
from rewardmachines.library import names


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from contextlib import redirect_stdout

    from rewardmachines.cli import main

    path = tmp_path_factory.mktemp("completion") / "hrm.bash"
    with path.open("w") as file, redirect_stdout(file):
        assert main(["completion", "bash"]) == 0
    return path


def completed(script: Path, line: str, folder: Path) -> list[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    assigned = " ".join(f"'{word}'" for word in words)
    code = f"set -u; source '{script}'; COMP_WORDS=({assigned}); COMP_CWORD={len(words) - 1}; _hrm; "
    code += 'printf "%s\\n" "${COMPREPLY[@]-}"'
    result = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("hrm tra", ["traces", "train"]),
        ("hrm --v", ["--version"]),
        ("hrm train cr", ["craft", "craftworld"]),
        ("hrm train craftworld --st", ["--steps", "--stop-at"]),
        ("hrm train --preset ", ["fast", "paper", "table"]),
        ("hrm sh", ["show"]),
        ("hrm learn --explore opt", ["options"]),
        ("hrm study r", ["report", "run"]),
        ("hrm study run --device ", ["cpu", "gpu"]),
        ("hrm draw figures/book-f", ["figures/book-flat", "figures/book-flattened"]),
        ("hrm draw craftworld/book -o mi", ["mine.svg"]),
        ("hrm check mi", ["mine.svg"]),
        ("hrm train --steps ", []),
        ("hrm completion z", ["zsh"]),
    ],
)
def test_bash_offers_what_can_follow(bash_script: Path, tmp_path: Path, line: str, offered: list[str]) -> None:
    (tmp_path / "mine.svg").write_text("")
    assert sorted(set(completed(bash_script, line, tmp_path))) == sorted(offered)


def test_bash_offers_every_command_and_every_machine(bash_script: Path, tmp_path: Path) -> None:
    assert completed(bash_script, "hrm ", tmp_path) == [*COMMANDS, "--help", "--version"]
    assert set(names()) <= set(completed(bash_script, "hrm draw ", tmp_path))


@pytest.mark.parametrize("command", COMMANDS)
def test_bash_offers_every_option_that_the_help_names(
    hrm: Hrm, bash_script: Path, tmp_path: Path, command: str
) -> None:
    assert hrm(command, "--help") == 0
    told = set(re.findall(r"^[^\w-]{0,3}(?:-\w [A-Z]*, |-h, )?(--[a-z][a-z-]*)", hrm.out, re.MULTILINE))
    assert set(completed(bash_script, f"hrm {command} --", tmp_path)) == told


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(hrm: Hrm, tmp_path: Path, shell: str) -> None:
    assert hrm("completion", shell) == 0
    assert all(re.search(rf"\b{name}\b", hrm.out) for name in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    (tmp_path / "script").write_text(hrm.out)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)
