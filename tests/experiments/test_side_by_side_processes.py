"""Runs in processes side by side: one that is killed takes no other with it."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

from cluster.studies import FLAT, runs_of
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Result
from rewardmachines.experiments.sweep.attempt import SweepWatcher
from rewardmachines.experiments.sweep.local import sweep

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
