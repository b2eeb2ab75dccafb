"""What every driver promises, whatever the environments, the agent and whether machines are learned.

The world is the same for all: two rooms, compiled or in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from agents.two_rooms import DOOR
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.tensors import pack, unpack
from rewardmachines.rollout.algorithm import UNLIMITED
from rewardmachines.rollout.gym_driver import GymSuite
from rewardmachines.rollout.tables import NOTHING
from rollout.rooms import CASES, CONFIG, MAX_STEPS, TRAINED, Case, label_of

Begun = Callable[..., Any]
N = CONFIG.environments
STEPS = N * CONFIG.chunk
"""Steps of a whole chunk."""


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """An algorithm and a driver."""
    chosen: Case = request.param
    return chosen


@pytest.fixture
def begun(case: Case, stack: ExitStack) -> Begun:
    """Makes runs of the case, whose environments are closed at the end."""
    return partial(case.run, stack)


def bits(tree: Any) -> list[bytes]:
    """The arrays of a tree, bit for bit."""
    return [value.tobytes() for value in pack(tree, "state").values()]


def chunk(run: Any, *, learns: bool = False, most: int = UNLIMITED) -> Any:
    """A chunk of the driver alone: the algorithm takes nothing in."""
    run.state, counts = run.driver.chunk(run.tables, run.state, learns=learns, most=most)
    return jax.tree.map(np.asarray, counts)


def is_anything_to_learn(run: Any) -> bool:
    """Whether there is a Q-function: LHRM has none before it has seen a proposition."""
    task = run.tables.task
    return not isinstance(task, OptionTask) or bool(np.asarray(task.options.is_active).any())


def test_at_the_beginning_all_environments_begin_an_episode(case: Case, begun: Begun) -> None:
    run = begun()
    state, tables = run.state, run.tables
    assert np.asarray(state.episodes.now).tolist() == [DOOR] * N
    assert set(np.asarray(state.episodes.task)) <= set(range(len(run.tasks)))
    assert np.asarray(state.episodes.instance).tolist() == [0] * N
    assert not np.asarray(state.episodes.label).any(), "there is nothing to see at the start"
    roots = np.asarray(tables.root)[np.asarray(state.episodes.task)]
    assert np.asarray(state.episodes.belief.machine).tolist() == roots.tolist()
    assert not np.asarray(state.episodes.belief.depth).any()
    assert (state.episodes.search is not None) is case.learns_machines
    assert int(state.agent.replay.written[0]) == int(state.unlearned) == 0
    assert jax.tree.map(lambda x: (x.shape, x.dtype), run.driver.shapes(tables)) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )


def test_a_chunk_takes_steps_in_all_environments_and_counts_what_ends(case: Case, begun: Begun) -> None:
    run = begun()
    total = np.zeros(3, int)
    for _ in range(4):
        counts = chunk(run)
        waiting = 0 if run.state.episodes.search is None else (run.state.episodes.search.waiting != NOTHING).sum()
        assert counts.steps <= STEPS
        assert counts.steps == STEPS or waiting, "only environments that wait make no steps"
        assert (counts.goals <= counts.episodes).all()
        total += [counts.steps, counts.episodes.sum(), counts.goals.sum()]
    assert int(run.state.agent.replay.written[0]) == total[0]
    assert total[0] // MAX_STEPS - N <= total[1], "no episode is longer than the limit"
    assert total[1] >= 4


def test_equal_seeds_give_equal_runs_and_others_other_runs(case: Case, begun: Begun) -> None:
    one, again, other = runs = [begun(seed=seed) for seed in (1, 1, 2)]
    rows = [[run.advance() for _ in range(5)] for run in runs]
    assert rows[0] == rows[1] != rows[2]
    assert bits(one.state) == bits(again.state) != bits(other.state)
    assert any(row.returns is not None for row in rows[0])


def test_without_learning_networks_stay_as_they_are(case: Case, begun: Begun) -> None:
    run = begun()
    while not int(run.state.agent.replay.written[0]) or not is_anything_to_learn(run):
        run.advance()

    def networks() -> list[bytes]:
        agent = run.state.agent
        return bits(agent.online if hasattr(agent, "online") else agent.formulas.online)

    before = networks()
    counts = chunk(run)
    assert networks() == before
    assert counts.losses.formulas == 0
    counts = chunk(run, learns=True)
    assert networks() != before
    assert counts.losses.formulas > 0
    assert 0 < counts.exploration < 1


def test_a_chunk_ends_with_the_last_episode_that_it_may_have(case: Case, begun: Begun) -> None:
    run = begun()
    while not (counts := chunk(run, most=1)).episodes.sum():
        assert counts.steps == STEPS or case.learns_machines
    assert counts.episodes.sum() <= N
    assert 0 < counts.steps < STEPS


def test_only_the_selected_environments_begin_anew(case: Case, begun: Begun) -> None:
    run = begun()
    counts = chunk(run)
    assert counts.steps
    before = jax.tree.map(np.asarray, run.state.episodes)
    cells = np.asarray(before.now)
    assert (cells != DOOR).any()
    which = np.array([True, False, True, False])
    run.state = run.driver.restart(run.tables, run.state, which)
    after = jax.tree.map(np.asarray, run.state.episodes)
    assert np.asarray(after.now)[which].tolist() == [DOOR, DOOR]
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert np.array_equal(old[~which], new[~which])
    assert chunk(run).steps, "the environments go on from there"


def test_greedy_episodes_are_repeatable_and_leave_the_run_as_it_is(case: Case, begun: Begun) -> None:
    run, undisturbed = begun(seed=3), begun(seed=3)
    for one in (run, undisturbed):
        chunk(one)
    wanted = np.ones(len(run.tasks), bool)
    first, again, none = (
        run.driver.evaluate(run.tables, run.state.agent, mask, 7) for mask in (wanted, wanted, ~wanted)
    )
    for returns, lengths in (first, again):
        assert returns.shape == lengths.shape == (len(run.tasks), 1)
        assert set(returns.flat) <= {0.0, 1.0}
        assert (lengths <= MAX_STEPS).all()
    assert np.array_equal(first, again)
    assert not np.any(none)
    is_played = np.zeros(len(run.tasks), bool) if case.learns_machines else wanted
    assert ((first[1] > 0).all(axis=1) == is_played).all(), "only tasks with a machine are played"
    chunk(run), chunk(undisturbed)
    assert bits(run.state) == bits(undisturbed.state)


def test_a_run_that_is_resumed_goes_on_as_if_there_had_been_no_break(case: Case, begun: Begun) -> None:
    whole, broken, resumed = (begun(seed=5) for _ in range(3))
    for run in (whole, broken):
        for _ in range(3):
            run.advance()
    resumed.restore(broken.host_state(), "here")
    driver, tables = resumed.driver, resumed.tables
    if isinstance(broken.suite, GymSuite):
        assert not resumed.suite.restore(broken.suite.record(), "here").any(), "every episode was replayed"
    resumed.state = unpack(driver.shapes(tables), pack(broken.state, "state"), "state", "here")
    for _ in range(3):
        assert resumed.advance() == whole.advance()
    assert bits(resumed.state) == bits(whole.state)


@pytest.mark.parametrize("case", TRAINED, ids=str)
def test_training_ends_with_its_last_episode_and_evaluates_by_episodes(case: Case, begun: Begun) -> None:
    """Chunks end with the vector step in which an evaluation is due, or the run is over."""
    run, rows = begun(episodes=12), []
    run.config = replace(run.config, evaluate_every="5 episodes")  # the agent is the same, and so are its programs
    while run.counters.episodes < 12:
        rows.append(run.advance())
        assert len(rows) < 50
    evaluated = [row.episodes for row in rows if row.returns is not None]
    assert [episodes // 5 for episodes in evaluated][:2] == [1, 2]
    assert all(5 * number <= episodes < 5 * number + N for number, episodes in enumerate(evaluated[:2], start=1))
    assert 12 <= rows[-1].episodes < 12 + N
    assert all(row.episodes < 12 for row in rows[:-1])


def test_what_is_seen_is_what_is_there(case: Case, begun: Begun) -> None:
    """Labels, moments and beliefs agree with the plain world after some chunks."""
    run = begun()
    for _ in range(3):
        chunk(run)
    encode = run.written.lowered.bits.encode if case.learns_machines else run.plan.lowered.bits.encode
    for cell, label in zip(np.asarray(run.state.episodes.now), np.asarray(run.state.episodes.label), strict=True):
        assert label.tolist() == encode(label_of(int(cell))).tolist()
