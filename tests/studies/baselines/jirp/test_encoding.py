"""The clauses, judged by trying all machines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.studies.baselines.jirp import SOLVER, MealyMachine, RewardTrace, machine_of_size, search

LABELS = 2


def rows(width: int, values: range) -> Iterator[tuple[tuple[int, ...], ...]]:
    """All tables of so many rows."""
    flat = product(values, repeat=width * LABELS)
    return (tuple(table[i * LABELS : (i + 1) * LABELS] for i in range(width)) for table in flat)


def all_machines(size: int) -> Iterator[MealyMachine]:
    for targets in rows(size, range(size + 1)):
        for rewards in rows(size, range(2)):
            yield MealyMachine(targets, rewards)


MACHINES = {size: list(all_machines(size)) for size in (1, 2)}


@st.composite
def reward_traces(draw: st.DrawFn) -> RewardTrace:
    labels = draw(st.lists(st.integers(0, LABELS - 1), min_size=1, max_size=5))
    rewards = draw(st.lists(st.integers(0, 1), min_size=len(labels), max_size=len(labels)))
    return RewardTrace(tuple(labels), tuple(rewards), draw(st.booleans()))


@st.composite
def traces_of_a_machine(draw: st.DrawFn) -> list[RewardTrace]:
    """Traces that one machine explains, so that there often is a solution."""
    machine = draw(st.sampled_from(MACHINES[2]))
    traces = []
    for labels in draw(st.lists(st.lists(st.integers(0, LABELS - 1), min_size=1, max_size=6), max_size=6)):
        state, word, rewards = 0, [], []
        for label in labels:
            if state < 2:
                word.append(label)
                rewards.append(machine.rewards[state][label])
                state = machine.targets[state][label]
        traces.append(RewardTrace(tuple(word), tuple(rewards), state == 2))
    return traces


@given(st.lists(reward_traces(), max_size=4) | traces_of_a_machine(), st.integers(1, 2))
def test_there_is_a_solution_exactly_if_a_machine_of_that_size_explains_all_traces(
    traces: list[RewardTrace], size: int
) -> None:
    found = machine_of_size(size, LABELS, traces, SOLVER)
    if found is None:
        assert not any(all(map(machine.explains, traces)) for machine in MACHINES[size])
    else:
        assert found.size == size
        assert all(map(found.explains, traces))


def test_a_machine_explains_rewards_and_ends() -> None:
    machine = MealyMachine(targets=((0, 1), (2, 1)), rewards=((0, 0), (1, 0)))
    assert machine.explains(RewardTrace((0, 1, 0), (0, 0, 1), is_finished=True))
    assert not machine.explains(RewardTrace((0, 1, 0), (0, 0, 1), is_finished=False))
    assert not machine.explains(RewardTrace((0, 1, 0), (0, 0, 0), is_finished=True))
    assert not machine.explains(RewardTrace((1, 0, 0), (0, 1, 0), is_finished=True))
    assert machine.explains(RewardTrace((0, 1), (0, 0), is_finished=False))


def test_a_search_takes_and_returns_plain_values() -> None:
    problem = {"size": 1, "label_count": 2, "traces": [[[0, 1], [0, 1], True]], "solver": SOLVER}
    assert search(problem) == [((0, 1),), ((0, 1),)]
    assert search({**problem, "traces": [[[0, 0, 1], [0, 1, 0], False]]}) is None
