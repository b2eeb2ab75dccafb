"""The time of a command counts from the start of its process, and is told phase by phase."""

from __future__ import annotations

import re
import subprocess
import sys
from math import isclose
from pathlib import Path

import pytest

from cli.commands import Hrm
from cli.small_learning import small
from rewardmachines.cli.progress import phases
from rewardmachines.cli.progress.phases import Phases, process_age
from rewardmachines.runs.metrics_log import Moment


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
    monkeypatch.setattr(phases, "time", clock)
    monkeypatch.setattr(phases, "process_age", lambda: 7.0)
    monkeypatch.setattr(Phases, "_is_new", True)
    return clock


def test_the_whole_time_begins_with_the_process_and_is_the_sum_of_its_phases(clock: Clock) -> None:
    told = Phases()
    clock.now += 1
    told.end("to start")
    clock.now += 40
    told.end_run("to learn", [Moment(10, 12.5), Moment(20, 39.0)], is_new=True)
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
    told.end_run("to train", [Moment(10, 12.5)], is_new=False)
    assert str(told) == "3.0 s in all: 3.0 s to train"


def test_a_process_is_older_than_those_that_it_starts() -> None:
    code = "from rewardmachines.cli.progress.phases import process_age; print(process_age())"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0 < float(started.stdout) < process_age()


def test_learning_tells_what_start_run_and_report_took_together(hrm: Hrm, tmp_path: Path) -> None:
    hrm(*small("--budget", 100, "--output", tmp_path / "run"))
    (line,) = [line for line in hrm.err.splitlines() if " in all: " in line]
    whole, *parts = (float(number.replace(",", "")) for number in re.findall(r"([\d,.]+) s (?!of them)", line))
    assert len(parts) == 3
    assert isclose(whole, sum(parts), abs_tol=0.3)
    assert line.endswith("for the report")
