"""Runs of training that are folders: equal when they should be, whatever happens in between."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from agents.tiny import CHUNK, tiny_spec
from agents.tiny_runs import STEPS, metrics, resumed
from rewardmachines.agents.training.folder import TrainFolder
from rewardmachines.agents.training.policy_file import read_policy, write_policy
from rewardmachines.agents.training.resumable import ResumableTraining, TrainSnapshot
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.train import train, training_rows
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.checkpoint import Marks, read_checkpoint, read_snapshot, write_checkpoint
from runs.killing import killed_once

pytestmark = pytest.mark.usefixtures("shared_programs")


def test_a_run_is_told_chunk_by_chunk_and_kept_in_files(whole: TrainRun) -> None:
    rows = whole.rows()
    assert [row.steps for row in rows] == [CHUNK * (i + 1) for i in range(10)]
    assert [row.returns is not None for row in rows] == [False, True] * 5
    assert [moment.steps for moment in whole.moments()] == [row.steps for row in rows]
    assert b"second" not in metrics(whole.folder)
    assert whole.hierarchy == tiny_spec().scenario().task("bucket")
    assert any((whole.folder / "events").iterdir())


def test_equal_seeds_give_equal_metrics_and_others_differ(whole: TrainRun, tmp_path: Path) -> None:
    seen: list[Sequence[Row]] = []
    again = train(tmp_path / "again", tiny_spec(), None, STEPS, callbacks=[seen.append])
    assert metrics(again.folder) == metrics(whole.folder)
    assert [row for rows in seen for row in rows] == whole.rows()
    policies = "policies/bucket-0.safetensors"
    assert (again.folder / policies).read_bytes() == (whole.folder / policies).read_bytes()
    other = train(tmp_path / "other", tiny_spec(seed=1), None, 4 * CHUNK)
    assert [row.formula_loss for row in other.rows()] != [row.formula_loss for row in whole.rows()[:4]]


def test_who_stops_asking_can_go_on_later(whole: TrainRun, tmp_path: Path) -> None:
    with closing(training_rows(tmp_path / "broken", tiny_spec(), None, STEPS)) as chunks:
        assert len(list(islice(chunks, 5))) == 5
    run = resumed(tmp_path / "broken")
    assert metrics(run.folder) == metrics(whole.folder)
    assert [m.steps for m in run.moments()] == [m.steps for m in whole.moments()]


_CHILD = """
import sys, time
from agents.tiny import tiny_spec
from rewardmachines.runs import journal
from rewardmachines.agents.training.train import train
journal.CHECKPOINT_SECONDS = 0
train(sys.argv[1], tiny_spec(), None, int(sys.argv[2]), callbacks=[lambda rows: time.sleep(0.2)])
"""


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(whole: TrainRun, tmp_path: Path) -> None:
    folder = tmp_path / "killed"

    def has_begun() -> bool:
        return (folder / "metrics.jsonl").exists() and metrics(folder).count(b"\n") >= 5

    with (
        killed_once(has_begun, _CHILD, folder, STEPS),
        pytest.raises(RewardMachineError, match="another process is training there"),
    ):
        resumed(folder)
    before = metrics(folder)
    assert (folder / "checkpoint.safetensors").exists()
    assert len(before) < len(metrics(whole.folder))
    (folder / "metrics.jsonl").write_bytes(before + b'{"seed": 0, "chu')  # killed while writing
    assert load_run(folder).rows() == whole.rows()[: before.count(b"\n")]
    resumed(folder)
    assert metrics(folder) == metrics(whole.folder)


def test_without_a_checkpoint_a_run_starts_again(whole: TrainRun, copy: Path) -> None:
    (copy / "checkpoint.safetensors").unlink()
    resumed(copy)
    assert metrics(copy) == metrics(whole.folder)


def test_a_finished_run_has_nothing_left_to_do_until_more_is_asked_for(whole: TrainRun, copy: Path) -> None:
    resumed(copy)
    assert metrics(copy) == metrics(whole.folder)
    assert resumed(copy, steps=STEPS + CHUNK).rows()[-1].steps == STEPS + CHUNK
    assert load_run(copy).order.budget.steps == STEPS + CHUNK


def test_a_run_ends_early_when_it_is_good_enough(tmp_path: Path) -> None:
    run = train(tmp_path / "run", tiny_spec(), None, STEPS, stop_at=-1)  # that, everybody achieves
    assert sum(row.returns is not None for row in run.rows()) == 3
    assert run.rows()[-1].returns is not None


def test_training_needs_no_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    run = train(tmp_path / "run", tiny_spec(), None, CHUNK)
    assert len(run.rows()) == 1
    assert not (run.folder / "events").exists()


def test_checkpoints_hold_all_seeds_and_policies_one(tmp_path: Path) -> None:
    spec = tiny_spec(seeds=2)
    session = Session(spec, spec.scenario().task("bucket"))
    session.tally.episodes += [3, 4]
    session.tally.returns += 0.1
    run, other = (
        ResumableTraining(each, TrainFolder(tmp_path)) for each in (session, Session(spec, session.hierarchy))
    )
    write_checkpoint(tmp_path / "all", run.device_state(), run.snapshot(), Marks(5, 6, 0.7))
    checkpoint = read_checkpoint(tmp_path / "all", TrainSnapshot)
    assert checkpoint.marks == Marks(5, 6, 0.7)
    other.restore(checkpoint)
    assert other.session.tally.episodes.tolist() == [3, 4]
    assert (other.session.tally.returns == session.tally.returns).all()
    alone = Session(tiny_spec(), session.hierarchy)
    for number in range(2):
        write_policy(tmp_path / "one", spec.config, session.state.agent, 7, number)
        agent, _ = read_policy(tmp_path / "one", alone.state.agent)
        weight = session.state.agent.formulas.online.head.layers[0].weight[number]
        assert np.array_equal(agent.formulas.online.head.layers[0].weight, weight)


def test_ctrl_c_leaves_a_checkpoint(whole: TrainRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Session.advance

    def interrupted(session: Session) -> list[Row]:
        rows = advance(session)
        if session.tally.chunks == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return rows

    monkeypatch.setattr(Session, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", tiny_spec(), None, STEPS)
    assert load_run(tmp_path / "run").rows() == whole.rows()[:3]
    assert read_snapshot(tmp_path / "run" / "checkpoint.safetensors", TrainSnapshot).chunks == 3


def test_a_chunk_that_was_broken_off_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(session: Session) -> list[Row]:
        raise KeyboardInterrupt

    with closing(training_rows(tmp_path / "run", tiny_spec(), None, STEPS)) as chunks:
        next(chunks)
        monkeypatch.setattr(Session, "advance", broken)
        with pytest.raises(KeyboardInterrupt):
            next(chunks)
    assert not (tmp_path / "run" / "checkpoint.safetensors").exists()
