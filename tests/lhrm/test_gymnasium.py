"""Machines and policies of Gymnasium environments: learned from labels and ends alone, and what cannot be learned."""

from __future__ import annotations

import random

import jax
import numpy as np
import pytest

from lhrm.yards import CONFIG, ROUTES, TRUTH, Yard, is_exact, labels, learn_in_memory, maker
from rewardmachines.agents.gymnasium.diagnosis import NotLearnedWarning
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import traverse, verdict
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEndWarning
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.lowered import lift


@pytest.fixture(scope="module")
def learned() -> LearnedTasks:
    tasks = [GymTask(name, 2 if name == "all" else 1, maker(route)) for name, route in ROUTES.items()]
    return learn_in_memory(tasks, steps=150_000)


def test_three_tasks_on_two_levels_are_learned_exactly_and_solved(learned: LearnedTasks) -> None:
    assert Yard.open == 0
    assert learned.problems == {}
    assert set(learned.hierarchies) == set(TRUTH)
    for name in TRUTH:
        assert is_exact(learned, name)
        assert learned.evaluate(name, 10) == 1
        assert all(verdict(learned.hierarchy(name), t.labels) is t.outcome.verdict for t in learned.examples(name))
    assert learned.hierarchy("all")["all"].callees
    assert Yard.open == 0
    assert sum(sum(row.ended) for row in learned.rows) == learned.rows[-1].episodes


def test_what_is_remembered_are_steps_that_can_be_taken(learned: LearnedTasks) -> None:
    replay = learned.run.state.agent.replay
    rows = jax.tree.map(np.asarray, replay.rows)
    assert int(replay.written[0]) > CONFIG.agent.replay_size == len(rows.before)
    assert rows.reward is None
    for before, action, after, label, is_event, is_dead_end in zip(*rows[:-1], strict=True):
        yard = Yard("x")
        yard.reset()
        yard.cell = int(before)
        assert yard.step(int(action) + 1)[0] == after
        assert learned.run.bits.decode(label) == labels(int(after))
        assert is_event == (labels(int(before)) != labels(int(after)))
        assert is_dead_end == (after == 8)
        yard.close()


def test_the_belief_is_where_the_labels_of_the_episode_lead(learned: LearnedTasks) -> None:
    run = learned.run
    crew = jax.tree.map(np.asarray, run.state.crew)
    lowered = run.registry.write(run.pool, (), Exploration.ACTIONS).lowered
    for i, task in enumerate(crew.task):
        trace = [run.bits.decode(bits) for bits in crew.trace[i, : crew.length[i]]]
        hierarchy = run.pool.hierarchy(run.tasks[task])
        state = jax.tree.map(lambda x, i=i: x[i], crew.belief)
        *_, last = traverse(hierarchy, trace)
        assert lift(lowered, hierarchy, state) == last


def test_only_tasks_that_are_asked_for_are_evaluated(learned: LearnedTasks) -> None:
    run, wanted = learned.run, [True, False, True]
    returns = run.driver.evaluate(run.knowledge, run.state.agent, np.array(wanted), 0)
    assert isinstance(run.worlds, GymnasiumWorlds)
    run.worlds.close()
    assert [bool(of_task.any()) for of_task in returns] == wanted


def test_policies_act_by_observations_and_labels(learned: LearnedTasks) -> None:
    policy = learned.policy("ab")
    policy.reset(set())
    assert policy.act(3, set()) == 1
    assert policy.act(0, {"a"}) == 4
    with pytest.raises(RewardMachineError, match="no task 'abc'; there are ab, bc, all"):
        learned.policy("abc")


def test_the_same_seed_gives_the_same_run() -> None:
    tasks = [GymTask(name, 1, maker(route)) for name, route in ROUTES.items()]
    one, again, other = (learn_in_memory(tasks, steps=2_400, seed=seed).rows for seed in (1, 1, 2))
    assert one == again != other


@pytest.fixture(scope="module")
def troubled() -> LearnedTasks:
    """One task is fine; the labels of another mean nothing, and the goal of the third cannot be reached."""
    chance = random.Random(0)

    def noise(cell: int) -> set[str]:
        return {chance.choice("abc")}

    tasks = [GymTask("ab", 1, maker("ab")), GymTask("noise", 1, maker("a", labels=noise)), GymTask("no", 1, maker("x"))]
    with pytest.warns(NotLearnedWarning, match="noise: given up"):
        return learn_in_memory(tasks, steps=60_000)


def test_a_task_whose_labels_mean_nothing_is_given_up_and_others_are_learned(troubled: LearnedTasks) -> None:
    assert "given up: its labels do not tell its ends apart" in troubled.problems["noise"]
    assert "ab" not in troubled.problems
    assert is_exact(troubled, "ab")
    assert troubled.evaluate("ab") == 1
    assert Yard.open == 0


def test_a_task_whose_goal_is_never_seen_costs_the_budget_and_is_named(troubled: LearnedTasks) -> None:
    assert 60_000 <= troubled.run.tally.steps < 62_000
    assert "no goal trace of no was seen in " in troubled.problems["no"]
    assert troubled.examples("no") == ()
    with pytest.raises(RewardMachineError, match="there is no machine of 'no' yet: no goal trace of no was seen in"):
        troubled.policy("no")


def test_levels_that_were_not_reached_are_named() -> None:
    tasks = [GymTask("ab", 1, maker("ab")), GymTask("no", 1, maker("x")), GymTask("high", 2, maker("a"))]
    assert "level 2 has to wait" in learn_in_memory(tasks, steps=800).problems["high"]


def test_few_traces_must_do_if_there_are_no_others() -> None:
    """Where only the goal is labelled, all goal traces are the same."""

    def goal_alone(cell: int) -> set[str]:
        return {"a"} if cell == 0 else set()

    tasks = [GymTask(name, 1, maker("a", labels=goal_alone, deadly=False)) for name in ROUTES]
    learned = learn_in_memory(tasks, steps=5_000)
    assert set(learned.hierarchies) == set(ROUTES)
    assert [len(learned.examples(name)) for name in ROUTES] == [1, 1, 1]


def test_dead_ends_that_are_not_shared_or_not_shown_are_reported() -> None:
    def hidden(cell: int) -> set[str]:
        return labels(cell) - {"pit"}

    tasks = [
        GymTask("ab", 1, maker("ab")),
        GymTask("bc", 1, maker("bc", deadly=False)),
        GymTask("all", 1, maker("abbc", labels=hidden)),
    ]
    with pytest.warns(DeadEndWarning) as told:
        learn_in_memory(tasks, steps=4_000)
    messages = sorted(str(one.message) for one in told)
    assert len(messages) == 2
    assert messages[0].startswith("'all' ended in a dead end ")
    assert "A dead end that no label shows cannot be learned as one" in messages[0]
    assert messages[1].startswith("at the label {pit}, 'ab' ended in a dead end ")
    assert "while 'bc' went on " in messages[1]
    assert "must be one in all" in messages[1]
