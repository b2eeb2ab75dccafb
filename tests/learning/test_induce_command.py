"""`hrm induce` within limits: what it says, what it writes and how it exits."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from learning.test_budgets import SLACK, many
from rewardmachines.cli.main import main
from rewardmachines.files import save_traces
from rewardmachines.learning import solvers as module
from rewardmachines.traces import Outcome, Trace


@pytest.fixture
def easy(tmp_path: Path) -> Path:
    path = tmp_path / "easy.jsonl"
    save_traces([Trace((frozenset("a"), frozenset("b")), Outcome.GOAL), Trace((frozenset("b"),))], path)
    return path


@pytest.fixture
def hard(tmp_path: Path) -> Path:
    path = tmp_path / "hard.jsonl"
    save_traces(many(), path)
    return path


def test_too_little_memory_is_told_and_nothing_is_written(hard: Path, tmp_path: Path) -> None:
    """In a program of its own: nothing else may be in the way of what it prints and how it exits."""
    output = tmp_path / "out.yaml"
    command = [sys.executable, "-m", "rewardmachines", "induce", "--traces", str(hard)]
    done = subprocess.run(
        [*command, "--memory", "0.001", "-o", str(output)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "out of memory: a machine has at least 2 states" in done.stderr
    assert not output.exists()


def test_a_time_limit_holds_for_the_command(hard: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started = time.monotonic()
    assert main(["induce", "--traces", str(hard), "--timeout", "2", "--json"]) == 1
    assert time.monotonic() - started < 2 + SLACK
    said = capsys.readouterr()
    assert "out of time: a machine has at least" in said.err
    answer = json.loads(said.out)
    assert (answer["result"], answer["reason"]) == ("timed_out", "time")


@pytest.mark.parametrize("option", ["--memory", "--timeout"])
def test_limits_are_numbers(easy: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["induce", "--traces", str(easy), f"{option}=nan"]) == 2
    said = capsys.readouterr().err
    assert f"{option}: 'nan' is not a number" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("memory", ["inf", "0", "-1", "1e300"])
def test_memory_must_be_a_number_above_none(easy: Path, memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["induce", "--traces", str(easy), f"--memory={memory}"]) == 2
    assert "--memory is a number of GiB above 0" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_a_time_must_be_a_number_above_none(easy: Path, seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["induce", "--traces", str(easy), f"--timeout={seconds}"]) == 2
    assert "more than 0 seconds" in capsys.readouterr().err


def test_limits_that_are_far_away_change_nothing(easy: Path) -> None:
    assert main(["induce", "--traces", str(easy), "--timeout=inf", "--memory=1e200"]) == 0


def test_a_killed_solver_is_told(
    easy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script, output = tmp_path / "worker.py", tmp_path / "out.yaml"
    script.write_text("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    monkeypatch.setattr(module, "SCRIPT", script)
    monkeypatch.setattr(module, "QUICK_INTEGERS", 0)
    assert main(["induce", "--traces", str(easy), "-o", str(output)]) == 2
    said = capsys.readouterr().err
    assert "a solver was killed" in said
    assert "python-sat" not in said
    assert not output.exists()
