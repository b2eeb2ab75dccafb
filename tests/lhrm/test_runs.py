"""Runs of LHRM that are folders: what is learned is in them, equal when it should be, whatever happens in between."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import rewardmachines as rm
from lhrm.room_runs import SPEC, STEPS, kept
from lhrm.toy import LABELS, TOY, TREES
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.episodes import advance, begin
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.learn import learn, learning_rows
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import standard_learning
from rewardmachines.lowered.traversal import VERDICTS, verdict
from runs.killing import killed_once

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_the_package_offers_what_runs_are_made_with() -> None:
    assert (rm.learn, rm.learning_rows, rm.load_learning) == (learn, learning_rows, load_learning)
    assert rm.standard_learning is standard_learning


def test_a_run_ends_when_all_tasks_are_learned_and_is_kept_in_files(rooms: LearnRun) -> None:
    rows = rooms.rows()
    assert [row.chunk for row in rows] == [i + 1 for i in range(len(rows))]
    taken = np.diff([0, *(row.steps for row in rows)])  # an environment whose trace waits to be taken takes no steps
    assert (taken > 0).all()
    assert taken.max() == STEPS
    assert np.mean([row.returns for row in rows if row.returns is not None][-3:], axis=(0, 2)).min() >= 0.95
    assert rooms.missing() == {}
    assert min(rooms.returns().values()) >= 0.95
    assert (rooms.tasks, rooms.levels["all"], rooms.level) == (tuple(TREES), 2, 3)
    assert any((rooms.folder / "events").iterdir())
    assert b"second" not in kept(rooms.folder)["metrics.jsonl"]


def test_moments_tell_what_the_learner_took(rooms: LearnRun) -> None:
    moments = rooms.moments()
    assert [moment.steps for moment in moments] == [row.steps for row in rooms.rows()]
    spent = sum(learning.seconds for learning in rooms.learnings().values())
    assert moments[0].learner_seconds == 0
    assert moments[-1].learner_seconds == pytest.approx(spent, abs=0.001)
    assert spent < moments[-1].seconds


def test_learned_hierarchies_are_those_of_the_tasks_and_hold_nothing_else(rooms: LearnRun) -> None:
    found = rooms.hierarchies()
    assert list(found) == list(TREES)
    for name, tree in TREES.items():
        assert found[name].root == name
        assert set(found[name].machines) == set(found[name].reachable())
        assert rm.difference(found[name], tree, labels=LABELS, events=True) is None


def test_examples_are_enough_to_learn_the_same_machine_again(rooms: LearnRun) -> None:
    found, learnings = rooms.hierarchies(), rooms.learnings()
    for name, traces in rooms.examples().items():
        assert traces == learnings[name].examples.traces
        callables = [found[other] for other in TREES if rooms.levels[other] < rooms.levels[name]]
        result = rm.induce(traces, found[name].propositions, callables, name=name)
        assert isinstance(result, rm.Learned)
        assert result.hierarchy == found[name]


def test_learnings_agree_with_what_was_told(rooms: LearnRun) -> None:
    events = [event for row in rooms.rows() for event in row.learned]
    for name, learning in rooms.learnings().items():
        mine = [event for event in events if event.task == name]
        assert learning.learned == len(mine)
        assert learning.calls == mine[-1].calls
        assert learning.problem is None
    assert set(rooms.first()) == set(TREES)
    assert rooms.activated()[1] == 0 < rooms.activated()[2]


def test_policies_follow_what_was_learned_to_the_goal(rooms: LearnRun) -> None:
    scenario = TOY
    for name, tree in TREES.items():
        policy, truth = rooms.policy(name), scenario.lower(tree)
        episode = begin(scenario.environment, scenario.world, truth.tables, 0, truth.root)
        label = scenario.environment.bits.decode(np.asarray(episode.label))
        policy.reset(label)
        for _ in range(scenario.max_steps):
            observation = scenario.environment.observe(scenario.world, episode.state)
            action = policy.act(observation, label)
            assert policy.state.machine in TREES
            assert policy.options[0].startswith(f"{name}: ")
            episode, outcome = advance(
                scenario.environment, scenario.world, truth.tables, episode, action, max_steps=scenario.max_steps
            )
            label = scenario.environment.bits.decode(np.asarray(episode.label))
            if bool(outcome.done):
                break
        assert VERDICTS[int(verdict(truth.tables, episode.task))] is Verdict.ACCEPT


def test_environments_have_the_true_hierarchy(rooms: LearnRun) -> None:
    spec = standard_learning("craftworld", "op", ("bucket", "milk-bucket"), instances=2)
    run = replace(rooms, order=replace(rooms.order, spec=spec))
    env = run.environment("milk-bucket", 1)
    assert env.hierarchy == run.spec.scenario().task("milk-bucket")
    assert env.reset()[1]["instance"] == 1


def test_a_task_that_is_not_there_is_named(rooms: LearnRun) -> None:
    with pytest.raises(RewardMachineError, match="there is no task 'fetsh' in this run; did you mean 'fetch'"):
        rooms.policy("fetsh")


def test_who_stops_asking_can_go_on_later(rooms: LearnRun, tmp_path: Path) -> None:
    with closing(learning_rows(tmp_path / "broken", SPEC)) as chunks:
        assert len(list(islice(chunks, 9))) == 9
    before = load_learning(tmp_path / "broken")
    assert before.rows() == rooms.rows()[:9]
    told: list[Row] = []
    learn(before.folder, resume=True, callbacks=[lambda chunk: told.append(chunk.row)])
    assert told == rooms.rows()[9:]
    assert kept(before.folder) == kept(rooms.folder)


_CHILD = """
import sys, time
from lhrm.room_runs import SPEC
from lhrm.toy import TWO_ROOMS
from rewardmachines.envs.registry import register_domain
from rewardmachines.lhrm.learn import learn
from rewardmachines.runs import journal
register_domain(TWO_ROOMS)
journal.CHECKPOINT_SECONDS = 0
learn(sys.argv[1], SPEC, callbacks=[lambda chunk: time.sleep(0.05)])
"""


def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(rooms: LearnRun, tmp_path: Path) -> None:
    folder, rows = tmp_path / "killed", rooms.rows()
    enough = next(row.chunk for row in rows if row.level == 2) + 2  # there are machines, and guides to follow
    with (
        killed_once(lambda: len(load_rows(folder)) >= enough, _CHILD, folder),
        pytest.raises(RewardMachineError, match="another process is training there"),
    ):
        learn(folder, resume=True)
    before = load_rows(folder)
    assert enough <= len(before) < len(rows)
    assert before == rows[: len(before)]
    assert (folder / "checkpoint.safetensors").exists()
    with (folder / "metrics.jsonl").open("ab") as file:
        file.write(b'{"chunk": 7, "st')  # killed while writing
    fetch = (folder / "machines" / "fetch.json").read_text()
    (folder / "machines" / "all.json").write_text(fetch)  # learned, but after the checkpoint
    (folder / ".checkpoint.safetensors.x.part").write_bytes(b"half")
    learn(folder, resume=True)
    assert kept(folder) == kept(rooms.folder)
    assert not list(folder.glob(".*"))


def load_rows(folder: Path) -> list[Row]:
    return load_learning(folder).rows() if (folder / "config.json").exists() else []
