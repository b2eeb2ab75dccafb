"""Runs on a cluster that is written here, in one class: what satisfies `Cluster` carries a study out as Ray does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from cluster.studies import FLAT, locally, runs_of, timeless
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.execution import RESULT, Outcome, SweepWatcher, Unit
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Result
from rewardmachines.studies.sweep import cluster, worker
from rewardmachines.studies.sweep.cluster import WorkerLost, sweep_on
from rewardmachines.studies.sweep.worker import Answer, Assignment, Board, Note, work

TWO = FLAT.replace("seeds = 1", "seeds = 2")


@dataclass
class Desk:
    """A cluster of one worker, which is this process and works while it is waited for."""

    losses: dict[str, int] = field(default_factory=dict)
    """How many times the worker of a run is lost, by key."""
    home: str | None = None
    """The folder of runs as the worker sees it."""
    has_gpus: bool = False
    tasks: list[tuple[Unit, Assignment]] = field(default_factory=list)
    cancelled: list[tuple[int, bool]] = field(default_factory=list)
    is_closed: bool = False
    board: Board = field(default_factory=Board)

    def lacking(self, units: Sequence[Unit]) -> list[str]:
        return ["abacuses"]

    def submit(self, unit: Unit, assignment: Assignment) -> int:
        self.tasks.append((unit, replace(assignment, root=self.home or assignment.root)))
        return len(self.tasks) - 1

    def wait(self, tickets: Sequence[Any], seconds: float, count: int = 1) -> Sequence[Any]:
        return tickets[:count]

    def answers(self, ticket: Any, seconds: float | None = None) -> Sequence[Answer]:
        unit, assignment = self.tasks[ticket]
        key = unit[0].key
        if (ticket, False) in self.cancelled:
            raise RewardMachineError("cancelled")
        if self.losses.get(key, 0) >= assignment.attempt:
            self.board.write({key: Note(assignment.attempt, False, None)})
            raise WorkerLost("a beam has broken")
        return work(unit, assignment, self.board.write, uses_gpu=False)

    def notes(self) -> Mapping[str, Note]:
        return dict(self.board.read())

    def cancel(self, ticket: Any, *, force: bool) -> None:
        self.cancelled.append((ticket, force))

    def close(self) -> None:
        self.is_closed = True


class Listener(SweepWatcher):
    def __init__(self) -> None:
        self.losses: list[str] = []
        self.words: list[str] = []
        self.steps: dict[str, int] = {}

    def advanced(self, run: PlannedRun, steps: int) -> None:
        self.steps[run.key] = steps

    def lost(self, run: PlannedRun, reason: str) -> None:
        assert reason == "a beam has broken"
        self.losses.append(run.key)

    def say(self, message: str) -> None:
        self.words.append(message)


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is this process, which has its device and its cache already."""
    monkeypatch.setattr(worker, "keep_compiled", lambda: None)
    monkeypatch.setattr(worker, "_choose_device", lambda _: None)


def swept(desk: Desk, root: Path, **asked: Any) -> tuple[dict[str, Outcome], Listener]:
    listener = Listener()
    outcomes = {run.key: outcome for run, outcome in sweep_on(desk, runs_of(TWO), root, watcher=listener, **asked)}
    assert desk.is_closed
    assert list(root.glob(".*")) == [], "the mark is gone"
    return outcomes, listener


@pytest.mark.parametrize("is_shared", [True, False])
def test_results_are_those_of_one_machine_though_workers_are_lost(tmp_path: Path, is_shared: bool) -> None:
    first, second = runs_of(TWO)
    desk = Desk({first.key: 2}, None if is_shared else str(tmp_path / "elsewhere"))
    outcomes, listener = swept(desk, tmp_path / "there")
    assert timeless(outcomes) == locally((first, second), tmp_path / "here")
    assert listener.losses == [first.key] * 2
    assert listener.words == ["no node of the cluster has abacuses; waiting for one"]
    assert [assignment.attempt for _, assignment in desk.tasks] == [1, 1, 2, 3]
    for run in (first, second):
        names = {path.name for path in (tmp_path / "there" / run.key).iterdir()}
        assert RESULT in names
        assert (names == {RESULT}) is not is_shared, "elsewhere, only the result comes back"


def test_a_run_whose_worker_is_always_lost_does_not_end_the_study(tmp_path: Path) -> None:
    first, second = runs_of(TWO)
    (tmp_path / second.key).mkdir()
    (tmp_path / second.key / "thesis.tex").touch()
    outcomes, listener = swept(Desk({first.key: 9}), tmp_path)
    assert "its worker was lost 4 times; the last time: a beam has broken" in str(outcomes[first.key])
    assert listener.losses == [first.key] * 3
    assert "it holds 'thesis.tex'" in str(outcomes[second.key])


def test_time_that_is_up_cancels_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([False, True])
    monkeypatch.setattr(cluster, "deadline", lambda _: lambda: next(looks))
    desk = Desk()
    outcomes, _ = swept(desk, tmp_path, seconds=1.0)
    (done,) = outcomes.values()
    assert isinstance(done, Result)
    assert desk.cancelled == [(1, False)], "it had not begun, so nothing is said of it"


def test_another_version_of_the_package_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "package_version", lambda: "99")
    outcomes, _ = swept(Desk(), tmp_path)
    assert all("is installed there, and 99 here" in str(outcome) for outcome in outcomes.values())
