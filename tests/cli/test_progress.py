"""The progress of runs: a live display on a terminal, lines elsewhere, and the time that a command takes in all."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from dataclasses import replace
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import rewardmachines as rm
from cli import craft
from cli.commands import Hrm
from rewardmachines.cli import displays, main, progress
from rewardmachines.cli.displays import Phases, bars, process_age
from rewardmachines.cli.progress import Display, watching
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.journal import Chunk, TimingRow
from rewardmachines.runs.run import Run
from rewardmachines.runs.stopping import RunBudget

COMMANDS = {"train": (craft.TRAIN, craft.TRAIN_CHUNK), "learn": (craft.LEARN, craft.LEARN_CHUNK)}


@pytest.fixture(scope="module", params=list(COMMANDS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    words, chunk = COMMANDS[request.param]
    folder = tmp_path_factory.mktemp("runs") / request.param
    more = ["--steps", str(6 * chunk), "--stop-at", "0", "--no-report", "-o", str(folder)]
    assert main([*words, *more]) in (0, 1)
    return rm.open_run(folder)


def chunks(run: Run) -> list[Chunk]:
    """The chunks of a run as a display gets them, each with the run at its end."""
    return [Chunk(run.last, row, timing) for row, timing in zip(run.rows, run.timing, strict=True)]


def shown(display: Any) -> str:
    screen = Console(width=150, file=StringIO())
    with screen.capture() as capture:
        screen.print(display.render())
    return capture.get()


# -- elsewhere than on a terminal


def test_every_evaluation_and_every_machine_is_a_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with watching([run.config]) as watch:
        for chunk in chunks(run):
            watch(0, chunk)
    lines = capsys.readouterr().out.splitlines()
    evaluations = [line for line in lines if "steps/s" in line]
    assert [line.split()[0] for line in evaluations] == [
        f"{row.steps:,}" for row in run.rows if row.returns is not None
    ]
    assert all(f"return {row.mean_return:.2f}" in "\n".join(evaluations) for row in run.rows if row.returns)
    if run.config.learns_machines:
        assert any("bucket: 1 goal trace → " in line for line in lines)
        assert all("level 1 of 1" in line and "of 1 machines" in line for line in evaluations)
    else:
        assert lines == evaluations
        assert all("exploration" in line and "losses" in line for line in lines)


def test_nothing_is_shown_to_those_who_do_not_want_to_see_it(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with watching([run.config], quiet=True) as watch:
        for chunk in chunks(run):
            watch(0, chunk)
    assert capsys.readouterr() == ("", "")


def test_a_log_has_a_line_while_a_search_holds_up_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if run.lhrm is None:
        pytest.skip("there is nothing to search for")
    monkeypatch.setattr(progress, "_SEARCH", 0.0)
    monkeypatch.setattr(progress, "_LONG", 0.01)
    with watching([run.config]) as watch:
        watch(0, chunks(run)[0])
        capsys.readouterr()
        monkeypatch.setattr(run.lhrm.machines, "searching", "bucket")
        until = time.monotonic() + 30
        while not (said := capsys.readouterr().out) and time.monotonic() < until:
            time.sleep(0.01)
    assert "searching for a machine of bucket" in said


# -- displays


def test_the_display_shows_returns_what_is_known_of_tasks_and_news(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    display = Display([run.config])
    assert run.config.title in shown(display)
    assert "compiling" in shown(display)
    for chunk in chunks(run):
        display.update(0, chunk)
    seen = shown(display)
    steps, limit = run.rows[-1].steps, run.config.budget.steps
    parts = ["bucket", "▁▁", "steps/s", "0:00:00 left at most", f"{steps:,} of {limit:,} steps"]
    if run.config.learns_machines:
        parts += ["level 1 of 1", "level 1 · now", "states, ", "bucket: 1 goal"]
    else:
        parts += ["exploration", "losses", "goals"]
    assert [part for part in parts if part not in seen] == []
    monkeypatch.setattr(progress, "_LONG", -1)
    assert "compiling … " in shown(display)
    if run.lhrm is not None:
        monkeypatch.setattr(run.lhrm.machines, "searching", "bucket")
        assert "searching for a machine of bucket" in shown(display)


def test_on_narrow_terminals_the_display_has_fewer_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    display = Display([run.config])
    display.update(0, chunks(run)[-1])
    assert "solver" not in shown(display)
    assert "bucket" in shown(display)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (RunBudget(episodes=1000), " of 1,000 episodes"),
        (RunBudget(10**6), " of 1,000,000 steps"),
        (RunBudget(10**6, 1000), " of 1,000 episodes"),
        (RunBudget(seconds=10**6), "left at most"),
    ],
)
def test_progress_is_shown_in_what_was_asked_for(run: Run, budget: RunBudget, said: str) -> None:
    display = Display([replace(run.config, budget=budget)])
    for chunk in chunks(run):
        display.update(0, chunk)
    assert said in shown(display)


def test_several_runs_have_a_line_each(run: Run) -> None:
    configs = [run.config, replace(run.config, seed=1, budget=RunBudget(10**9))]
    display = Display(configs)
    assert "2 runs" in shown(display)
    assert "compiling" in shown(display)
    for chunk in chunks(run):
        display.update(0, chunk)
    assert [line.split()[0] for line in shown(display).splitlines()[-2:]] == ["0", "1"]
    for chunk in chunks(run):
        display.update(1, chunk)
    lines = shown(display).splitlines()
    assert "1 under way" in lines[1]
    assert "the budget is spent" in lines[-2]
    assert "the budget is spent" not in lines[-1]
    assert all(f"{run.rows[-1].steps:,}" in line for line in lines[-2:])


def test_a_run_that_has_learned_enough_is_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    config: RunConfig = replace(run.config, budget=RunBudget(10**9), stop_at=0.5)
    display = Display([config, config])
    monkeypatch.setattr(type(run.last.algorithm), "lowest_return", 0.5)
    display.update(0, chunks(run)[-1])
    assert "done" in shown(display).splitlines()[-2]


def test_on_a_terminal_progress_is_shown_live(tmp_path: Path) -> None:
    arguments = [*craft.TRAIN, "--steps", "400", "--no-report", "-o", str(tmp_path / "run")]
    place = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rewardmachines", *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env=place) as process:
        os.close(theirs)
        said = _read(ours)
        assert process.wait() == 0
    os.close(ours)
    for word in ("CraftWorld OP · bucket · hrl · seed 0", "400 of 400 steps", "steps/s", "exploration", "▁"):
        assert word in said


def _read(terminal: int) -> str:
    said = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    return said.decode(errors="replace")


def test_bars_are_as_high_as_returns() -> None:
    assert bars([0, 0.5, 1]).plain == "▁▅█"
    assert bars([0.0] * 20 + [1.0] * 20).plain == "▁" * 10 + "█" * 10
    assert bars([]).plain == ""


# -- the time in all


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock of a process that is 7 seconds old and has run no command yet."""
    clock = Clock()
    monkeypatch.setattr(displays, "time", clock)
    monkeypatch.setattr(displays, "process_age", lambda: 7.0)
    monkeypatch.setattr(Phases, "_is_new", True)
    return clock


def test_the_whole_time_begins_with_the_process_and_is_the_sum_of_its_phases(clock: Clock) -> None:
    told = Phases()
    clock.now += 1
    told.end("to start")
    clock.now += 40
    told.end_run("to learn", [TimingRow(10, 12.5), TimingRow(20, 39.0)], is_new=True)
    clock.now += 2
    told.end("for the report")
    assert str(told) == (
        "50.0 s in all: 8.0 s to start, 40.0 s to learn, 12.5 s of them until the first chunk was done, "
        "2.0 s for the report"
    )


def test_a_run_that_is_resumed_has_no_first_chunk_and_a_second_command_no_start_of_a_process(clock: Clock) -> None:
    Phases()
    told = Phases()
    clock.now += 3
    told.end_run("to train", [TimingRow(10, 12.5)], is_new=False)
    assert str(told) == "3.0 s in all: 3.0 s to train"


def test_a_process_is_older_than_those_that_it_starts() -> None:
    code = "from rewardmachines.cli.displays import process_age; print(process_age())"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(started.stdout) < process_age()


def test_commands_tell_what_start_and_run_took_together(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm(*craft.TRAIN, "--steps", 1, "--no-report", "-o", tmp_path / "run") == 0
    (line,) = [line for line in hrm.err.splitlines() if " in all: " in line]
    whole, *parts = (float(number.replace(",", "")) for number in re.findall(r"([\d,.]+) s (?!of them)", line))
    assert len(parts) == 2
    assert isclose(whole, sum(parts), abs_tol=0.3)
