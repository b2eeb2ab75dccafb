"""Machines and policies of Gymnasium environments: learned from labels and ends alone, and what cannot be learned."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from lhrm.yards import CONFIG, ROUTES, TRUTH, Yard, is_exact, labels, maker
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import traverse, verdict
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lowered import lift
from rewardmachines.rollout.dead_ends import DeadEndWarning
from rewardmachines.rollout.gym_driver import GymSuite
from rewardmachines.runs import verbs
from rewardmachines.runs.diagnosis import NotLearnedWarning
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.run import Run


class Learned(NamedTuple):
    """A run, and LHRM in memory at its end."""

    run: Run
    lhrm: Lhrm


def learn(where: dict[str, Any], **options: Any) -> Learned:
    """Learns tasks without a folder."""
    chunks: list[Chunk] = []
    run = verbs.learn(where, settings=CONFIG, max_steps=60, callbacks=[chunks.append], **options)
    lhrm = chunks[-1].session.algorithm
    assert isinstance(lhrm, Lhrm)
    return Learned(run, lhrm)


@pytest.fixture(scope="module")
def learned() -> Learned:
    Yard.open = 0
    where = {name: (maker(route), 2 if name == "all" else 1) for name, route in ROUTES.items()}
    return learn(where, steps=150_000)


def test_three_tasks_on_two_levels_are_learned_exactly_and_solved(learned: Learned) -> None:
    run = learned.run
    assert Yard.open == 0
    assert run.missing == {}
    assert set(run.machines) == set(TRUTH)
    evaluations = {one.task: one for one in run.evaluate()}
    for name in TRUTH:
        assert is_exact(run, name)
        assert evaluations[name].mean_return == 1
        assert all(verdict(run.hierarchy(name), t.labels) is t.outcome.verdict for t in run.examples[name])
    assert run.hierarchy("all")["all"].callees
    assert Yard.open == 0
    assert sum(sum(row.ended) for row in run.rows) == run.rows[-1].episodes


def test_what_is_remembered_are_steps_that_can_be_taken(learned: Learned) -> None:
    replay = learned.lhrm.state.agent.replay
    rows = jax.tree.map(np.asarray, replay.rows)
    assert int(replay.written[0]) > CONFIG.agent.replay_size == len(rows.before)
    assert rows.reward is None
    yard = Yard("x")
    yard.reset()
    for before, action, after, label, is_event, is_dead_end in zip(*rows[:-1], strict=True):
        yard.cell = int(before)
        assert yard.step(int(action) + 1)[0] == after
        assert learned.lhrm.bits.decode(label) == labels(int(after))
        assert is_event == (labels(int(before)) != labels(int(after)))
        assert is_dead_end == (after == 8)
    yard.close()


def test_the_belief_is_where_the_labels_of_the_episode_lead(learned: Learned) -> None:
    run = learned.lhrm
    episodes = jax.tree.map(np.asarray, run.state.episodes)
    lowered = run.registry.write(run.pool, (), Exploration.ACTIONS).lowered
    for i, task in enumerate(episodes.task):
        trace = [run.bits.decode(bits) for bits in episodes.search.trace[i, : episodes.search.length[i]]]
        hierarchy = run.pool.hierarchy(run.tasks[task])
        state = jax.tree.map(lambda x, i=i: x[i], episodes.belief)
        *_, last = traverse(hierarchy, trace)
        assert lift(lowered, hierarchy, state) == last


def test_only_tasks_that_are_asked_for_are_evaluated(learned: Learned) -> None:
    run, wanted = learned.lhrm, [True, False, True]
    evaluated = run.driver.evaluate(run.tables, run.state.agent, np.array(wanted), 0)
    assert evaluated is not None
    returns, _ = evaluated
    assert isinstance(run.suite, GymSuite)
    run.suite.close()
    assert [bool(of_task.any()) for of_task in returns] == wanted


def test_policies_act_by_observations_and_labels(learned: Learned) -> None:
    policy = learned.run.policy("ab")
    policy.reset(set())
    assert policy.act(3, set()) == 1
    assert policy.act(0, {"a"}) == 4


@pytest.fixture(scope="module")
def troubled() -> Learned:
    """One task is fine; the labels of another mean nothing, and the goal of the third cannot be reached."""
    chance = random.Random(0)

    def noise(cell: int) -> set[str]:
        return {chance.choice("abc")}

    with pytest.warns(NotLearnedWarning, match="noise: given up"):
        return learn({"ab": maker("ab"), "noise": maker("a", labels=noise), "no": maker("x")}, steps=60_000)


def test_a_task_whose_labels_mean_nothing_is_given_up_and_others_are_learned(troubled: Learned) -> None:
    assert "given up: its labels do not tell its ends apart" in troubled.run.missing["noise"]
    assert "ab" not in troubled.run.missing
    assert is_exact(troubled.run, "ab")
    assert troubled.run.evaluate()[0].mean_return == 1
    assert Yard.open == 0


def test_a_task_whose_goal_is_never_seen_costs_the_budget_and_is_named(troubled: Learned) -> None:
    run = troubled.run
    assert 60_000 <= run.rows[-1].steps < 62_000
    assert "no goal trace of no was seen in " in run.missing["no"]
    assert "no goal trace of no was seen" in str(run.diagnosis)
    assert "no" not in run.examples
    with pytest.raises(RewardMachineError, match="there is no machine"):
        run.policy("no")


def test_levels_that_were_not_reached_are_named() -> None:
    run, _ = learn({"ab": maker("ab"), "no": maker("x"), "high": (maker("a"), 2)}, steps=800)
    assert "level 2 has to wait" in run.missing["high"]


def test_few_traces_must_do_if_there_are_no_others() -> None:
    """Where only the goal is labelled, all goal traces are the same."""

    def goal_alone(cell: int) -> set[str]:
        return {"a"} if cell == 0 else set()

    run, _ = learn({name: maker("a", labels=goal_alone, deadly=False) for name in ROUTES}, steps=5_000)
    assert set(run.machines) == set(ROUTES)
    assert [len(run.examples[name]) for name in ROUTES] == [1, 1, 1]


def test_dead_ends_that_are_not_shared_or_not_shown_are_reported() -> None:
    def hidden(cell: int) -> set[str]:
        return labels(cell) - {"pit"}

    where = {"ab": maker("ab"), "bc": maker("bc", deadly=False), "all": maker("abbc", labels=hidden)}
    with pytest.warns(DeadEndWarning) as told:
        verbs.learn(where, settings=CONFIG, max_steps=60, steps=4_000)
    messages = sorted(str(one.message) for one in told)
    assert {one.filename for one in told} == {__file__}
    assert len(messages) == 2
    assert messages[0].startswith("'all' ended in a dead end ")
    assert "A dead end that no label shows cannot be learned as one" in messages[0]
    assert messages[1].startswith("at the label {pit}, 'ab' ended in a dead end ")
    assert "while 'bc' went on " in messages[1]
    assert "must be one in all" in messages[1]
