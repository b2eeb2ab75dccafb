"""The fast costs of neighbours, judged by the definition."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.experiments.baselines.lrm.cost import Traces, cost, predictions, steps
from rewardmachines.experiments.baselines.lrm.moves import Rules, moved, rules_of, without_unused
from rewardmachines.experiments.baselines.lrm.neighbours import Evaluation, trace_data
from rewardmachines.traces import compress

OBSERVATIONS = 4
traces_of_observations = st.lists(
    st.lists(st.integers(0, OBSERVATIONS - 1), min_size=1, max_size=12), min_size=1, max_size=6
).map(lambda traces: [[int(min(label)) for label in compress([[str(o)] for o in trace])] for trace in traces])
numbers = st.integers(0, 2**32 - 1)


def obeys(rules: Rules, transitions: dict[tuple[int, int], int]) -> bool:
    """The rules, in other words."""
    leaving = set(transitions)
    entering = {(target, observation) for (_, observation), target in transitions.items()}
    return not leaving & entering and not any((0, observation) in leaving for observation in rules.first)


def test_the_cost_of_traces_worked_out_by_hand() -> None:
    # 0 1 2 and 0 3 2: in one state, 0 is followed by two observations; 1 and 3 always by the same.
    assert cost({}, [[0, 1, 2], [0, 3, 2]]) == pytest.approx(2 * log(2))
    # 1 0 2 and 3 0 4: 0 is followed by 2 or 4, which a state that remembers 3 tells apart.
    traces = [[1, 0, 2], [3, 0, 4], [3, 0, 4]]
    assert cost({}, traces) == pytest.approx(3 * log(2))
    assert cost({(0, 3): 1}, traces) == 0
    assert predictions({(0, 3): 1}, traces) == {(0, 1, 0), (0, 0, 2), (1, 3, 0), (1, 0, 4)}


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_the_fast_costs_are_those_of_the_definition(traces: Traces, states: int, seed: int) -> None:
    rules = rules_of(traces, states, OBSERVATIONS)
    transitions = rules.random_machine(np.random.default_rng(seed))
    evaluation = Evaluation(trace_data(traces, OBSERVATIONS), transitions, states)
    assert evaluation.cost == pytest.approx(cost(transitions, traces))
    moves = list(rules.moves(transitions))
    for move, fast in zip(moves, evaluation.costs_after(moves), strict=True):
        if fast == inf:
            assert move[:2] not in evaluation.used
        else:
            assert move[:2] in evaluation.used
            assert fast == pytest.approx(cost(moved(transitions, move), traces))


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_edges_that_no_trace_uses_make_no_difference(traces: Traces, states: int, seed: int) -> None:
    transitions = rules_of(traces, states, OBSERVATIONS).random_machine(np.random.default_rng(seed))
    used = Evaluation(trace_data(traces, OBSERVATIONS), transitions, states).used
    smaller = without_unused(transitions, used)
    assert all(list(steps(smaller, trace)) == list(steps(transitions, trace)) for trace in traces)
    for edge in smaller:
        fewer = {other: target for other, target in smaller.items() if other != edge}
        assert _states(fewer, traces) != _states(smaller, traces)


def _states(transitions: dict[tuple[int, int], int], traces: Traces) -> list[list[int]]:
    """The states that each trace goes through, that after its last observation included."""
    return [[state for state, _, _ in steps(transitions, [*trace, -1])] for trace in traces]


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_random_machines_and_all_their_neighbours_obey_the_rules(traces: Traces, states: int, seed: int) -> None:
    rules = rules_of(traces, states, OBSERVATIONS)
    transitions = rules.random_machine(np.random.default_rng(seed))
    assert obeys(rules, transitions)
    neighbours = [moved(transitions, move) for move in rules.moves(transitions)]
    assert all(obeys(rules, neighbour) for neighbour in neighbours)
    assert all(neighbour != transitions for neighbour in neighbours)
    # Nothing is left out: every other machine that differs in one transition breaks a rule.
    for source in range(states):
        for observation in range(OBSERVATIONS):
            for target in set(range(states)) - {source}:
                other = {**transitions, (source, observation): target}
                assert other == transitions or (other in neighbours) == obeys(rules, other)
