"""The fast costs of neighbours, judged by the definition."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.studies.baselines.lrm.cost import (
    Move,
    Rules,
    Traces,
    cost,
    moved,
    predictions,
    rules_of,
    steps,
    without_unused,
)
from rewardmachines.studies.baselines.lrm.learner import Evaluation, trace_data
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


def test_predictions_of_traces_worked_out_by_hand() -> None:
    traces = [[1, 0, 2], [3, 0, 4], [3, 0, 4]]
    seen = {(0, 1, 0), (0, 0, 2), (1, 3, 0), (1, 0, 4)}
    itself = {(0, 1, 1), (0, 0, 0), (1, 3, 3), (1, 0, 0)}
    single = {(0, 3, 0), (1, 1, 0)}  # 1 and 3 are followed by 0 alone, so that they are in the other state, too
    assert predictions({(0, 3): 1}, traces, 2) == seen | itself | single


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_predictions_are_what_was_seen_the_observation_itself_and_single_successors(
    traces: Traces, states: int, seed: int
) -> None:
    transitions = rules_of(traces, states, OBSERVATIONS).random_machine(np.random.default_rng(seed))
    expected = set()
    for state, o, following in product(range(states), range(OBSERVATIONS), range(OBSERVATIONS)):
        after = {b for trace in traces for a, b in pairwise(trace) if a == o}
        seen = {b for trace in traces for u, a, b in steps(transitions, trace) if (u, a) == (state, o)}
        if following in seen or (seen and following == o) or after == {following}:
            expected.add((state, o, following))
    assert predictions(transitions, traces, states) == expected


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_the_fast_costs_are_those_of_the_definition(traces: Traces, states: int, seed: int) -> None:
    rules = rules_of(traces, states, OBSERVATIONS)
    transitions = rules.random_machine(np.random.default_rng(seed))
    evaluation = Evaluation(trace_data(traces, OBSERVATIONS), transitions, states)
    assert evaluation.cost == pytest.approx(cost(transitions, traces))
    moves = list(rules.moves(transitions))
    for move, fast in zip(moves, evaluation.costs_after(moves), strict=True):
        after = moved(transitions, move)
        changed = {cell for cell in {*transitions, *after} if transitions.get(cell) != after.get(cell)}
        if fast == inf:
            assert changed.isdisjoint(evaluation.used)
        else:
            assert not changed.isdisjoint(evaluation.used)
            assert fast == pytest.approx(cost(moved(transitions, move), traces))


@given(traces_of_observations, st.integers(1, 4), numbers)
def test_edges_that_no_trace_uses_make_no_difference(traces: Traces, states: int, seed: int) -> None:
    transitions = rules_of(traces, states, OBSERVATIONS).random_machine(np.random.default_rng(seed))
    used = Evaluation(trace_data(traces, OBSERVATIONS), transitions, states).used
    smaller = without_unused(transitions, used)
    assert all(list(steps(smaller, trace)) == list(steps(transitions, trace)) for trace in traces)
    for edge in smaller:
        fewer = {other: target for other, target in smaller.items() if other != edge}
        assert any(list(steps(fewer, trace)) != list(steps(smaller, trace)) for trace in traces)


def test_the_last_observation_of_a_trace_uses_no_edge() -> None:
    # Nothing follows it, so that no state predicts anything: 1 moves the first trace, and 2 none but at its end.
    evaluation = Evaluation(trace_data([[0, 1, 2], [0, 1, 2]], 3), {(0, 1): 1, (1, 2): 0}, 2)
    assert evaluation.used == {(0, 0), (0, 1)}


@given(traces_of_observations, st.integers(1, 6), numbers)
def test_a_random_machine_only_goes_forward(traces: Traces, states: int, seed: int) -> None:
    rules = rules_of(traces, states, OBSERVATIONS)
    transitions = rules.random_machine(np.random.default_rng(seed))
    assert obeys(rules, transitions)
    ways = [(source, target) for (source, _), target in transitions.items()]
    assert all(source < target for source, target in ways)
    assert len(ways) == len(set(ways)) <= states * (states - 1) // 2
    # Where a state has no edge to a later one, every observation would break a rule or leads elsewhere.
    for source, target in set(combinations(range(states), 2)) - set(ways):
        for observation in range(OBSERVATIONS):
            assert (source, observation) in transitions or not obeys(
                rules, {**transitions, (source, observation): target}
            )


def test_a_random_machine_has_an_edge_for_every_pair_of_states_if_there_are_enough_observations() -> None:
    machines = [rules_of([[0, 1]], 4, 30).random_machine(np.random.default_rng(seed)) for seed in range(20)]
    assert {tuple(sorted((p, q) for (p, _), q in machine.items())) for machine in machines} == {
        tuple(combinations(range(4), 2))
    }
    assert len({tuple(machine) for machine in machines}) == 20


def repaired(transitions: dict[tuple[int, int], int], source: int, observation: int, target: int) -> set[Move]:
    """The edges after one was added or redirected, as published: those that would break the rule are deleted."""
    edges = {(p, o, q) for (p, o), q in transitions.items()}
    edges -= {edge for edge in edges if edge[:2] == (source, observation)}
    edges -= {edge for edge in edges if edge[1:] == (observation, source)}  # with the observation into the source
    edges -= {edge for edge in edges if edge[:2] == (target, observation)}
    return edges | {(source, observation, target)}


@given(traces_of_observations, st.integers(1, 4), numbers, st.lists(numbers, max_size=6))
def test_moves_that_break_a_rule_are_repaired_and_only_the_initial_state_forbids_any(
    traces: Traces, states: int, seed: int, walk: list[int]
) -> None:
    rules = rules_of(traces, states, OBSERVATIONS)
    transitions = rules.random_machine(np.random.default_rng(seed))
    for number in walk:  # machines that the search comes to, beside those with which it begins
        moves = list(rules.moves(transitions))
        transitions = moved(transitions, moves[number % len(moves)]) if moves else transitions
    expected = []
    for source, observation, target in product(range(states), range(OBSERVATIONS), range(states)):
        if source == 0 and observation in rules.first:
            continue
        if target == source and (source, observation) in transitions:
            expected.append({(p, o, q) for (p, o), q in transitions.items() if (p, o) != (source, observation)})
        elif target not in (source, transitions.get((source, observation))):
            expected.append(repaired(transitions, source, observation, target))
    neighbours = [moved(transitions, move) for move in rules.moves(transitions)]
    assert [{(p, o, q) for (p, o), q in machine.items()} for machine in neighbours] == expected
    assert all(obeys(rules, neighbour) for neighbour in neighbours)
