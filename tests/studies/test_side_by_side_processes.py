"""Runs in processes side by side: one that is killed takes no other with it."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

from cluster.studies import FLAT, runs_of
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.execution import SweepWatcher
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.sweep.local import sweep

THREE = FLAT.replace("seeds = 1", "seeds = 3")


class Killer(SweepWatcher):
    """Kills the process of one of the first two runs."""

    def __init__(self) -> None:
        self.begun: list[PlannedRun] = []
        self.killed: list[int | None] = []

    def began(self, run: PlannedRun) -> None:
        self.begun.append(run)

    def look(self) -> None:
        if not self.killed and (processes := multiprocessing.active_children()):
            processes[0].kill()
            self.killed.append(processes[0].pid)


def test_a_process_that_is_killed_takes_no_other_run_with_it(tmp_path: Path) -> None:
    runs, killer = runs_of(THREE), Killer()
    ended = dict(sweep(runs, tmp_path, jobs=2, watcher=killer))
    assert set(ended) == set(runs) == set(killer.begun)
    assert len(killer.killed) == 1
    lost = [outcome for outcome in ended.values() if isinstance(outcome, RewardMachineError)]
    assert len(lost) == 1
    assert "its process ended" in str(lost[0])
    assert sum(isinstance(outcome, Result) for outcome in ended.values()) == 2
    assert not multiprocessing.active_children()
    again = dict(sweep([run for run in runs if ended[run] is lost[0]], tmp_path, jobs=2))
    assert all(isinstance(outcome, Result) for outcome in again.values())


SWEEPING = """
import multiprocessing, sys
from pathlib import Path
from cluster.studies import FLAT, runs_of
from rewardmachines.studies.execution import SweepWatcher
from rewardmachines.studies.sweep.local import sweep

class Teller(SweepWatcher):
    def look(self):
        print(*(process.pid for process in multiprocessing.active_children()), flush=True)

if __name__ == "__main__":
    list(sweep(runs_of(FLAT.replace("seeds = 1", "seeds = 9")), Path(sys.argv[1]), jobs=2, watcher=Teller()))
"""


def test_processes_end_when_the_study_is_killed(tmp_path: Path) -> None:
    """They would go on for hours otherwise, and nobody would know."""
    script = tmp_path / "sweeping.py"
    script.write_text(SWEEPING)
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    study = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "runs")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert study.stdout is not None
    workers: list[int] = []
    with study.stdout as told:
        while len(workers) < 2:
            workers = [int(word) for word in told.readline().split()]
    study.kill()
    study.wait()
    late = time.monotonic() + 30
    while left := [worker for worker in workers if _is_running(worker)]:
        assert time.monotonic() < late, left
        time.sleep(0.1)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")  # whoever inherited it may not have asked yet how it ended
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
