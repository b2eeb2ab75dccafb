"""How runs of LHRM end: with their budget, with nothing left to learn, or with Ctrl-C, and what is missing then."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rewardmachines as rm
from lhrm.room_runs import CONFIG, SPEC, STEPS, fresh
from lhrm.toy import TREES
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.diagnosis import what_is_missing
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.setbacks import Setback
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.checkpoint import read_snapshot

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_what_is_missing_is_said_of_every_task() -> None:
    run, none = fresh(), dict.fromkeys(TREES, 7)
    goal = rm.Trace((frozenset("k"), frozenset("b")), rm.Outcome.GOAL)
    some = run.learnings["press"].examples.collected(goal)
    run.learnings["press"] = replace(run.learnings["press"], examples=some)
    assert what_is_missing(run, none, 0.95) == {
        "fetch": "no goal trace of fetch was seen in 7 episodes",
        "press": "1 distinct goal trace was seen in 7 episodes: the first machine waits for 8",
        "all": "level 2 has to wait: level 1 is not mastered",
    }
    run.curriculum = replace(run.curriculum, level=2)
    for name in TREES:
        run.learnings[name] = replace(run.learnings[name], examples=replace(some, traces=(goal,)))
    run.learnings["all"] = replace(run.learnings["all"], setback=Setback("all: nothing explains it", ()))
    assert what_is_missing(run, none, 0)["all"] == "given up: nothing explains it"
    assert set(what_is_missing(run, none, 0)) == {"all"}
    assert what_is_missing(run, none, 0.95)["fetch"] == "3 evaluations say whether it is learned, and there were 0"
    run.recent = [np.array([[0.9], [1.0], [0.0]])] * 3
    assert what_is_missing(run, none, 0.95)["fetch"] == "returns 0.90 on average: 0.95 is asked for"
    assert set(what_is_missing(run, none, 0.9)) == {"all"}


def test_it_ends_with_its_budget_and_goes_on_with_another(rooms: LearnRun, tmp_path: Path) -> None:
    run = learn(tmp_path / "run", SPEC, steps=3 * STEPS)
    assert len(run.rows()) == 3
    assert run.missing()["all"] == "level 2 has to wait: level 1 is not mastered"
    assert "seen in" in run.missing()["fetch"]
    assert len(learn(run.folder, resume=True).rows()) == 3
    assert len(learn(run.folder, resume=True, seconds=0.001).rows()) == 3
    order = load_learning(run.folder).order
    assert (order.budget, order.stop_at) == (Budget(seconds=0.001), 0.95)
    again = learn(run.folder, resume=True, steps=5 * STEPS).rows()
    assert again == rooms.rows()[: len(again)]
    assert again[-2].steps < 5 * STEPS <= again[-1].steps


def test_it_ends_when_every_task_was_given_up(tmp_path: Path) -> None:
    spec = replace(SPEC, config=replace(CONFIG, learner_seconds=1e-9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rewardmachines.learning.solvers.quick", lambda *_: None)  # nothing is easy
        run = learn(tmp_path / "run", spec)
    assert all("given up: no machine was found in 1e-09 s" in message for message in run.missing().values())
    assert set(run.missing()) == set(TREES)
    assert run.hierarchies() == {}
    rows = run.rows()
    assert learn(run.folder, resume=True).rows() == rows
    with pytest.raises(RewardMachineError, match="nothing can be done about 'fetch' yet"):
        run.policy("fetch")


def test_ctrl_c_leaves_a_checkpoint(rooms: LearnRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Lhrm.advance

    def interrupted(run: Lhrm) -> Row:
        row = advance(run)
        if row.chunk == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return row

    monkeypatch.setattr(Lhrm, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "run", SPEC)
    assert load_learning(tmp_path / "run").rows() == rooms.rows()[:3]
    assert read_snapshot(tmp_path / "run" / "checkpoint.safetensors", Snapshot).tally.chunks == 3
