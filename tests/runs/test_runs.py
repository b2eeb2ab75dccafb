"""Runs of each kind: what is in their folders, when they end, and that equal configs give equal runs."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import warnings
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewardmachines as rm
from lhrm import yards
from lhrm.toy import SMALL, TREES
from lhrm.yards import Yard
from rewardmachines.agents.registry import CRM
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.rollout.rows import Row
from rewardmachines.rollout.tables import RunState
from rewardmachines.rollout.training import Training
from rewardmachines.runs.checkpoint import read_host_state
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.orders import carry_out
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.runs.tensorboard import Events
from runs.conftest import Wholes
from runs.kinds import LEARN_DOMAIN, LHRM, TRAIN_GYM, Kind, kept, metrics


def test_a_run_is_told_chunk_by_chunk_and_kept_in_files(kind: Kind, whole: Run) -> None:
    names = {path.name for path in whole.folder.iterdir()}
    files = {"config.json", "metrics.jsonl", "timing.jsonl", "checkpoint.safetensors", "policies.safetensors"}
    written = files | {"machines", "examples", "events", "run.lock"}
    assert names == (written | {"policies-best.safetensors"} if kind.is_gym else written)
    rows = whole.rows
    assert [row.chunk for row in rows] == [*range(1, len(rows) + 1)]
    taken = np.diff([0, *(row.steps for row in rows)])
    assert (taken > 0).all()
    assert taken.max() == kind.chunk
    assert (taken == kind.chunk).all() or kind.learns, "only environments whose traces are collected wait"
    assert [row.returns is not None for row in rows] == [row.chunk % 2 == 0 for row in rows]
    assert {len(row.goals) for row in rows} == {kind.tasks}
    assert {len(returns) for row in rows for returns in row.returns or ()} == {kind.instances}
    assert [row.steps for row in whole.timing] == [row.steps for row in rows]
    assert b"second" not in metrics(whole.folder)
    assert any((whole.folder / "events").iterdir())
    assert Yard.open == 0


def test_a_run_is_opened_as_it_was(kind: Kind, whole: Run) -> None:
    opened = open_run(whole.folder)
    assert (opened.config, opened.rows, opened.timing) == (whole.config, whole.rows, whole.timing)
    assert opened.tasks == tuple(spec.name for spec in opened.ranked_tasks)
    assert opened.machines == whole.machines
    assert opened.hierarchy(kind.task) == opened.machines[kind.task]
    assert opened.state.best == whole.state.best
    assert str(whole.folder) in repr(opened)


def test_reading_a_run_builds_nothing(kind: Kind, whole: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the suite nor the algorithm: pages and tables read hundreds of runs."""
    expected = open_run(whole.folder)
    read = [name for name in dir(Run) if isinstance(getattr(Run, name), property) and not name.startswith("_")]
    built = {"last", "lhrm", "end", "is_zero_shot"}
    values = {name: getattr(expected, name) for name in read if name not in built}

    def build(*_: Any, **__: Any) -> Any:
        raise AssertionError("built")

    monkeypatch.setattr("rewardmachines.runs.run.Session", build)
    monkeypatch.setattr("rewardmachines.runs.run.suite_of", build)
    opened = open_run(whole.folder)
    assert {name: getattr(opened, name) for name in values} == values
    assert opened.is_zero_shot is False
    with pytest.raises(AssertionError, match="built"):
        opened.policy(kind.task)


def test_a_run_that_is_under_way_is_read_as_it_is_now(kind: Kind, tmp_path: Path) -> None:
    kind.run(tmp_path / "run", steps=2 * kind.chunk)
    opened = open_run(tmp_path / "run")
    before, policy = opened.state, opened.learned()
    kind.resume(tmp_path / "run", steps=4 * kind.chunk)
    assert opened.state != before
    assert opened.learned()[0].algorithm.counters.chunks > policy[0].algorithm.counters.chunks
    assert opened.last.algorithm.counters.chunks == len(opened.rows)


def test_equal_seeds_give_equal_runs_and_others_differ(kind: Kind, whole: Run, tmp_path: Path) -> None:
    chunks: list[Chunk] = []
    again = kind.run(tmp_path / "again", callbacks=[chunks.append])
    assert kept(again.folder) == kept(whole.folder)
    assert [chunk.row for chunk in chunks] == whole.rows
    assert [chunk.timing for chunk in chunks] == again.timing
    assert chunks[-1].session.algorithm.counters.chunks == len(chunks)
    other = kind.run(tmp_path / "other", seed=8, steps=4 * kind.chunk)
    assert other.rows != whole.rows[: len(other.rows)]


def test_a_run_without_a_folder_is_the_same_and_leaves_nothing_behind(kind: Kind, whole: Run) -> None:
    few = kind.run(None, steps=4 * kind.chunk)
    assert few.rows == whole.rows[: len(few.rows)]
    assert not (few.folder / "checkpoint.safetensors").exists()
    place = few.folder.parent
    assert place.parent == Path(tempfile.gettempdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del few
        gc.collect()
    assert not place.exists()


def test_what_fails_without_a_folder_leaves_nothing_behind_either(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def stop(_: Chunk) -> None:
        raise KeyboardInterrupt

    for options, error in (({"max_steps": 0}, RewardMachineError), ({"callbacks": [stop]}, KeyboardInterrupt)):
        with pytest.raises(error):
            kind.run(None, **options)
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert Yard.open == 0


def test_a_generator_that_is_closed_can_go_on_later(kind: Kind, whole: Run, tmp_path: Path) -> None:
    order = kind.order(RunFolder(tmp_path / "broken"))
    with closing(carry_out([order])) as chunks:
        assert [chunk.row for _, chunk in islice(chunks, 5)] == whole.rows[:5]
    assert open_run(tmp_path / "broken").rows == whole.rows[:5]
    told: list[Row] = []
    kind.resume(tmp_path / "broken", callbacks=[lambda chunk: told.append(chunk.row)])
    assert told == whole.rows[5:]
    assert kept(tmp_path / "broken") == kept(whole.folder)


# -- the end


def test_a_finished_run_has_nothing_left_to_do_until_more_is_asked_for(kind: Kind, whole: Run, copy: Path) -> None:
    checkpoint = (copy / "checkpoint.safetensors").stat()
    assert kind.resume(copy).rows == whole.rows
    assert (copy / "checkpoint.safetensors").stat().st_mtime_ns == checkpoint.st_mtime_ns, "nothing was new"
    more = whole.rows[-1].steps + 1
    longer = kind.resume(copy, steps=more, stop_at=0)
    assert longer.rows[: len(whole.rows)] == whole.rows
    assert len(longer.rows) == len(whole.rows) + 1
    assert (longer.config.budget, longer.config.stop_at) == (RunBudget(more), 0.0)
    assert open_run(copy).config == longer.config


def test_a_run_ends_with_what_is_reached_first(kind: Kind, whole: Run, tmp_path: Path) -> None:
    timed = kind.run(tmp_path / "run", seconds=1e-6)
    assert (timed.rows, timed.timing, timed.returns) == ([], [], dict.fromkeys(timed.tasks, 0.0))
    stepped = kind.resume(tmp_path / "run", steps=2 * kind.chunk, episodes=10**6)
    assert stepped.rows[-2].steps < 2 * kind.chunk <= stepped.rows[-1].steps
    ended = stepped.rows[-1].episodes
    few = kind.resume(tmp_path / "run", episodes=ended + 3)
    assert few.rows[-2].episodes < ended + 3 <= few.rows[-1].episodes
    assert (few.config.budget, few.config.stop_at) == (RunBudget(episodes=ended + 3), whole.config.stop_at)


def test_a_limit_of_episodes_ends_a_chunk_as_soon_as_it_is_reached(kind: Kind, whole: Run) -> None:
    run = kind.run(None, steps=None, episodes=5)
    assert 5 <= run.rows[-1].episodes < 5 + 40, "no more than those that end in the same step"
    assert run.rows[-1].steps < whole.rows[len(run.rows) - 1].steps


def test_evaluations_come_after_a_number_of_episodes_if_asked_for(kind: Kind) -> None:
    agent = replace(yards.FEW.agent if kind.is_gym else SMALL.agent, evaluate_every="50 episodes")
    usual = yards.FEW if kind.is_gym else LHRM
    rows = kind.run(None, steps=6 * kind.chunk, settings=replace(usual, agent=agent) if kind.learns else agent).rows
    evaluated = [row.episodes for row in rows if row.returns is not None]
    assert evaluated
    assert all(now // 50 > before // 50 for before, now in zip([0, *evaluated], evaluated, strict=False))


@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_a_run_without_instances_that_is_resumed_goes_on_as_if_nothing_had_happened(tmp_path: Path, agent: str) -> None:
    settings = yards.FEW.agent if agent == "hrl" else CRM.settings(yards.FEW.agent)
    options: dict[str, Any] = {"instances": None, "agent": agent, "settings": settings}
    TRAIN_GYM.run(tmp_path / "run", steps=3 * TRAIN_GYM.chunk, **options)
    longer = TRAIN_GYM.resume(tmp_path / "run", steps=5 * TRAIN_GYM.chunk)
    assert longer.rows == TRAIN_GYM.run(None, steps=5 * TRAIN_GYM.chunk, **options).rows
    returns = [row.returns[0] for row in longer.rows if row.returns is not None]
    assert {len(one) for one in returns} == {1}, "the mean of several episodes"
    assert longer.config.place.instances == 1


def test_a_run_ends_when_it_is_good_enough_also_after_a_break(tmp_path: Path) -> None:
    whole = TRAIN_GYM.run(None, steps=16 * TRAIN_GYM.chunk)
    means = [row.mean_return for row in whole.rows if row.mean_return is not None]
    good = max(sum(means[i : i + 3]) / 3 for i in range(len(means) - 2))
    assert good > 0
    early = TRAIN_GYM.run(tmp_path / "run", steps=16 * TRAIN_GYM.chunk, stop_at=good - 1e-9)
    assert early.rows == whole.rows[: len(early.rows)]
    assert early.rows[-1].mean_return is not None
    assert len(early.rows) < len(whole.rows) or good == sum(means[-3:]) / 3
    assert TRAIN_GYM.resume(tmp_path / "run", steps=40 * TRAIN_GYM.chunk).rows == early.rows, (
        "it was good enough before"
    )


def test_tasks_are_learned_and_what_was_learned_is_in_the_run(wholes: Wholes) -> None:
    run = wholes[LEARN_DOMAIN]
    judged = [row.returns for row in run.rows if row.returns is not None][-3:]
    assert np.mean(judged, axis=(0, 2)).min() >= 0.95
    assert (run.missing, min(run.returns.values()) >= 0.95) == ({}, True)
    assert (run.tasks, run.levels["all"], run.level) == (tuple(TREES), 2, 3)
    assert set(run.first_machines) == set(TREES)
    assert run.activated[1] == 0 < run.activated[2]
    spent = sum(progress.seconds for progress in run.progress.values())
    assert run.timing[0].learner_seconds == 0
    assert run.timing[-1].learner_seconds == pytest.approx(spent, abs=0.001)
    assert spent < run.timing[-1].seconds
    events = [event for row in run.rows for event in row.learned]
    for name, progress in run.progress.items():
        mine = [event for event in events if event.task == name]
        assert (progress.learned, progress.calls, progress.problem) == (len(mine), mine[-1].calls, None)
    machines = run.machines
    assert list(machines) == list(TREES)
    for name, traces in run.examples.items():
        assert set(machines[name].machines) == set(machines[name].reachable()), "files hold what is needed"
        assert traces == run.progress[name].examples.traces
        callables = [machines[other] for other in TREES if run.levels[other] < run.levels[name]]
        found = rm.induce(traces, machines[name].propositions, callables, name=name)
        assert isinstance(found, rm.Learned)
        assert found.hierarchy == machines[name], "examples are enough to learn the same machine again"


def test_training_needs_no_tensorboard(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tensorboardX", "tensorboardX.event_file_writer"):  # the latter may be loaded already
        monkeypatch.setitem(sys.modules, module, None)
    run = kind.run(tmp_path / "run", steps=1)
    assert len(run.rows) == 1
    assert not (run.folder / "events").exists()


def test_curves_are_written_without_semaphores_that_a_killed_process_would_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiprocessing.Queue", None)
    for steps in (0, 500):
        events = Events(tmp_path / str(steps), steps)
        events.add({"return": 0.5, "loss": 0.25}, steps + 100)
        events.close()
        (file,) = (tmp_path / str(steps)).iterdir()
        content = file.read_bytes()
        assert b"return" in content
        assert b"loss" in content
        assert content.count(b"brain.Event") == (2 if steps else 1), "what an earlier process wrote later is hidden"


# -- Ctrl-C


def test_ctrl_c_takes_effect_after_the_chunk_and_leaves_a_checkpoint(
    kind: Kind, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm: Any = Lhrm if kind.learns else Training
    take = algorithm.take

    def interrupted(run: Any, state: RunState, counts: Any) -> Any:
        if run.counters.chunks == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return take(run, state, counts)

    monkeypatch.setattr(algorithm, "take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kind.run(tmp_path / "run")
    assert open_run(tmp_path / "run").rows == whole.rows[:3]
    state = read_host_state(tmp_path / "run" / "checkpoint.safetensors")
    assert state.algorithm["counters"]["chunks"] == 3
    assert Yard.open == 0


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_chunk_that_is_broken_off_in_the_middle_is_not_kept(
    kind: Kind, whole: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_saved: bool
) -> None:
    """There is the checkpoint from before the chunk, or none. Either way the run goes on as if nothing had happened."""
    if is_saved:
        monkeypatch.setattr("rewardmachines.runs.journal.CHECKPOINT_SECONDS", 0)
        monkeypatch.setattr("rewardmachines.runs.journal.NEWS_SECONDS", 0)
    algorithm: Any = Lhrm if kind.learns else Training
    conclude = algorithm.conclude

    def broken(run: Any, *arguments: Any) -> Row:
        if run.counters.chunks == 3:  # the device and half of the host have moved on
            raise KeyboardInterrupt
        row: Row = conclude(run, *arguments)
        return row

    with monkeypatch.context() as patch:
        patch.setattr(algorithm, "conclude", broken)
        with pytest.raises(KeyboardInterrupt):
            kind.run(tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint.safetensors").exists() == is_saved
    assert len(open_run(tmp_path / "run").rows) == 2
    kind.resume(tmp_path / "run")
    assert kept(tmp_path / "run") == kept(whole.folder)
