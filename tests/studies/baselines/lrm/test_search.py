from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from typing import TypeAlias

import numpy as np
import pytest

from rewardmachines.studies.baselines.lrm.cost import cost, moved, rules_of
from rewardmachines.studies.baselines.lrm.learner import TabuSearch, TabuSettings, search

START, LEFT, RIGHT, HALL, GOLD, COAL = range(6)
OBSERVATIONS = 6
Edges: TypeAlias = dict[tuple[int, int], int]
SETTINGS = TabuSettings(state_count=2, steps=100, tabu=10_000)


def lights(count: int, rooms: int = 4) -> list[list[int]]:
    """Episodes in which what is in the next room depends on the light that was seen before the hall."""
    generator = np.random.default_rng(0)
    traces = []
    for _ in range(count):
        trace = [START]
        for _ in range(rooms):
            light, thing = [(LEFT, GOLD), (RIGHT, COAL)][generator.integers(2)]
            trace += [light, HALL, thing]
        traces.append(trace)
    return traces


TRACES = lights(30)
REMEMBERS = {(0, RIGHT): 1, (1, LEFT): 0}
"""A machine that remembers the light, so that nothing is left to predict but the light itself."""


def all_machines() -> Iterator[dict[tuple[int, int], int]]:
    """All machines of two states: each cell has a transition to the other state, or none."""
    cells = list(product(range(2), range(OBSERVATIONS)))
    for chosen in product([False, True], repeat=len(cells)):
        yield {(state, o): 1 - state for (state, o), is_there in zip(cells, chosen, strict=True) if is_there}


def test_the_search_finds_the_best_of_all_machines() -> None:
    found = TabuSearch(TRACES, OBSERVATIONS, SETTINGS, [0, 0]).run()
    best = min(cost(machine, TRACES) for machine in all_machines())
    assert found.cost == pytest.approx(cost(found.transitions, TRACES)) == pytest.approx(best)
    assert best == pytest.approx(cost(REMEMBERS, TRACES))
    assert best < cost({}, TRACES)


def cleaned(machine: Edges, traces: list[list[int]]) -> Edges:
    """A machine without the edges that no trace uses before its last observation."""
    used = set()
    for trace in traces:
        state = 0
        for observation in trace[:-1]:
            used.add((state, observation))
            state = machine.get((state, observation), state)
    return {edge: target for edge, target in machine.items() if edge in used}


@pytest.mark.parametrize("states", [2, 3])
def test_each_step_goes_to_a_best_neighbour_that_is_not_tabu_or_starts_anew(states: int) -> None:
    traces, settings = [trace[:7] for trace in lights(6)], TabuSettings(states, steps=40, tabu=10_000)
    rules, restarts = rules_of(traces, states, OBSERVATIONS), 0
    for seed in range(3):
        search = TabuSearch(traces, OBSERVATIONS, settings, [seed])
        found = search.run()
        path: list[Edges] = [dict(machine) for machine in search._tabu]
        assert len(path) == settings.steps
        assert found.cost <= min(cost(machine, traces) for machine in path)
        for number, (machine, following) in enumerate(pairwise(path), start=1):
            neighbours = [cleaned(moved(machine, move), traces) for move in rules.moves(machine)]
            free = [neighbour for neighbour in neighbours if neighbour not in path[:number]]
            if free:
                assert following in free
                assert cost(following, traces) == pytest.approx(min(cost(each, traces) for each in free))
            else:
                restarts += 1
                assert all(source < target for (source, _), target in following.items())
    assert (restarts > 0) is (states == 2)  # there are few machines of two states


def test_threads_do_not_change_what_is_found() -> None:
    settings = TabuSettings(state_count=3, steps=12, tabu=100)
    alone = TabuSearch(TRACES, OBSERVATIONS, settings, [1]).run()
    with ThreadPoolExecutor(3) as pool:
        assert TabuSearch(TRACES, OBSERVATIONS, settings, [1]).run(pool.map) == alone


def test_the_search_starts_anew_where_all_neighbours_are_tabu() -> None:
    # One state has no neighbours at all, and two observations that alternate leave little to change.
    found = TabuSearch([[0, 1, 0, 1]], 2, TabuSettings(state_count=1, steps=5, tabu=10), [0]).run()
    assert found.transitions == {}
    assert TabuSearch([[0, 1, 0, 1]], 2, TabuSettings(state_count=2, steps=50, tabu=10), [0]).run().cost == 0


def problem(present: object) -> dict[str, object]:
    plain = {"traces": TRACES, "observation_count": OBSERVATIONS, "state_count": 2, "steps": 50, "tabu": 100}
    return json.loads(json.dumps({**plain, "seed": [0, 0], "workers": 2, "present": present}))  # type: ignore[no-any-return]


def test_a_machine_must_be_better_than_the_present_one() -> None:
    found = search(problem(None))
    machine = {(source, observation): target for source, observation, target in found}
    assert cost(machine, TRACES) == pytest.approx(cost(REMEMBERS, TRACES))
    assert search(problem([])) == found
    assert search(problem(found)) is None
    assert search(problem([[0, RIGHT, 1], [1, LEFT, 0]])) is None
