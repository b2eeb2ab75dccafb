"""Determinizing keeps what can be read; merging follows the published rules; renaming keeps the automaton."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.studies.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    AutomatonArc,
    DeterministicAutomaton,
    LabelAutomaton,
    Trace,
    determinize,
    merged,
    merged_once,
    minimized,
    renamed,
    subsets,
)

SYMBOLS = "abc"
WORDS = [START + "".join(word) for length in range(5) for word in product(SYMBOLS, repeat=length)]


@st.composite
def automata(draw: st.DrawFn) -> LabelAutomaton:
    states = st.integers(2, 5)
    inner = draw(st.sets(st.builds(AutomatonArc, states, st.sampled_from(SYMBOLS), states), max_size=12))
    begin = draw(st.sets(st.builds(AutomatonArc, st.just(INITIAL), st.just(START), states), min_size=1, max_size=3))
    return LabelAutomaton(5, frozenset(inner | begin))


smallest_automata = automata().map(lambda automaton: minimized(subsets(automaton)))


def deterministic(*edges: str) -> DeterministicAutomaton:
    """An automaton that begins in state 2, with edges such as "2a3"."""
    inner = [AutomatonArc(int(edge[0]), edge[1], int(edge[2])) for edge in edges]
    return DeterministicAutomaton(tuple(sorted([AutomatonArc(INITIAL, START, 2), *inner])))


def readable(automaton: LabelAutomaton) -> list[Trace]:
    return [word for word in WORDS if automaton.follows(word)]


def runs(automaton: DeterministicAutomaton) -> list[Trace]:
    return [word for word in WORDS if automaton.run(word) is not None]


@given(automata())
def test_subsets_and_the_smallest_automaton_read_the_same_traces(automaton: LabelAutomaton) -> None:
    by_subsets = subsets(automaton)
    smallest = minimized(by_subsets)
    assert runs(by_subsets) == readable(automaton)
    assert runs(smallest) == readable(automaton)
    assert len(smallest.states) <= len(by_subsets.states)
    assert minimized(smallest) == smallest


@given(smallest_automata)
def test_states_differ_by_missing_transitions_alone_and_none_is_there_twice(smallest: DeterministicAutomaton) -> None:
    undecided = {(p, q) for p in smallest.states for q in smallest.states if p < q}
    different: set[tuple[int, int]] = set()
    while True:  # the table of pairs that differ, filled in as in the textbook
        new = {(p, q) for p, q in undecided if _differ(smallest, p, q, different)}
        if not new:
            break
        undecided -= new
        different |= new
    assert not undecided


def _differ(automaton: DeterministicAutomaton, p: int, q: int, different: set[tuple[int, int]]) -> bool:
    one, other = automaton.successors[p], automaton.successors[q]
    if one.keys() != other.keys():
        return True
    return any((min(one[s], other[s]), max(one[s], other[s])) in different for s in one)


def leaving(edges: set[AutomatonArc], state: int) -> set[str]:
    return {edge.symbol for edge in edges if edge.source == state}


def entering(edges: set[AutomatonArc], state: int) -> set[str]:
    return {edge.symbol for edge in edges if edge.target == state}


def plain_groups(states: Sequence[int], edges: set[AutomatonArc]) -> list[list[int]]:
    """The groups of a round, before anything is merged: states are looked up transition by transition."""
    groups: list[list[int]] = []
    for one in states:
        group = [one]
        for two in states:
            out_one, out_two = leaving(edges, one), leaving(edges, two)
            resembles = out_two == out_one or (out_two <= out_one and entering(edges, two) <= entering(edges, one))
            if two != one and resembles and not any(two in other for other in groups):
                group.append(two)
        if len(group) > 1 and not any(one in other for other in groups):
            groups.append(group)
    return groups


def plain_round(automaton: DeterministicAutomaton) -> set[AutomatonArc]:
    """A round of merges as published: groups first, then member after member, each by the edges that are left."""
    before = edges = set(automaton.transitions)
    for one, *members in plain_groups(automaton.states[1:], before):
        for two in members:
            ways = [
                (a.target, b.target)
                for a in edges
                for b in edges
                if (a.source, b.source) == (one, two) and a[1] == b[1]
            ]
            if all(p == q or leaving(before, q) <= leaving(before, p) or (p, q) == (two, one) for p, q in ways):
                edges = {
                    edge._replace(target=one) if edge.target == two else edge for edge in edges if edge.source != two
                }
    reached = {INITIAL}
    for _ in automaton.states:
        reached |= {edge.target for edge in edges if edge.source in reached}
    return {edge for edge in edges if edge.source in reached}


@given(smallest_automata)
def test_a_round_merges_as_published(automaton: DeterministicAutomaton) -> None:
    assert set(merged_once(automaton).transitions) == plain_round(automaton)


def test_a_state_whose_merge_is_skipped_goes_into_no_other_one() -> None:
    # a leaves 3, 4 and 5. Both 4 and 5 would go into 3, but 4 leads to 6, which more leaves than 7, and 3 leads to 7.
    # Alone, 4 could go into 5, which leads to 6, too; but 4 was grouped with 3.
    automaton = deterministic("2b3", "2c4", "2d5", "3a7", "4a6", "5a6", "6b6", "6c2", "7b7")
    assert {3, 4, 5} <= set(merged_once(automaton).states)
    without_3 = deterministic("2c4", "2d5", "4a6", "5a6", "6b6", "6c2")
    assert 5 not in merged_once(without_3).states


def test_states_that_lead_to_each_other_are_merged_even_if_more_leaves_one() -> None:
    # a leads from 3 to 4 and back. b leaves 3 alone, so that more leaves the target of 4 than that of 3.
    assert 4 not in merged_once(deterministic("2c3", "3a4", "3b3", "4a3")).states
    assert 4 in merged_once(deterministic("2c3", "3a4", "3b3", "4a5", "5d5")).states


def test_a_merge_is_judged_by_the_targets_after_the_merges_before() -> None:
    # More leaves 3, the target of 6, than 4, that of 5. But 4 goes into 3 first, and then the targets are the same.
    automaton = deterministic("2a3", "2c5", "2d6", "3e7", "3g7", "4e7", "5f4", "6f3", "7h7")
    assert {4, 6}.isdisjoint(merged_once(automaton).states)


@given(smallest_automata, st.data())
def test_rounds_are_repeated_until_one_changes_nothing_or_breaks_a_trace(
    automaton: DeterministicAutomaton, data: st.DataObject
) -> None:
    known = data.draw(st.lists(st.sampled_from(runs(automaton)), max_size=5))
    present = automaton
    while True:
        after = minimized(merged_once(present))
        if after == present or not all(after.run(trace) for trace in known):
            break
        present = after
    assert merged(automaton, known) == present
    assert all(present.run(trace) is not None for trace in known)


def test_what_enters_counts_where_not_all_symbols_leave() -> None:
    # State 4 is left by a, state 3 by a and b. State 3 is entered by a and b; state 4 by c, or by b.
    assert 4 in merged_once(deterministic("2a3", "2c4", "3a3", "3b3", "4a3")).states
    assert 4 not in merged_once(deterministic("2a3", "2b4", "2d2", "3a3", "3b3", "4a3")).states


def test_states_left_by_the_same_symbols_are_merged_whatever_enters_them() -> None:
    automaton = deterministic("2a3", "2b4", "3c3", "4c3")
    assert merged_once(automaton) == deterministic("2a3", "2b3", "3c3")


@pytest.mark.parametrize(("more", "is_merged"), [(["5a5"], False), (["5a5", "5b5"], True)])
def test_a_merge_is_skipped_if_more_leaves_the_target_of_the_state_that_goes(more: list[str], is_merged: bool) -> None:
    # c leaves 3 and 4. It leads to 5 from 3, and from 4 to 6, which b leaves.
    automaton = deterministic("2a3", "2b4", "3c5", "4c6", "6b6", *more)
    assert (4 in merged_once(automaton).states) == (not is_merged)


def test_a_whole_round_is_undone_if_a_trace_no_longer_runs() -> None:
    # 4 goes into 3 (c leaves both), and 6 into 5 (d leaves both). The first merge loses "bcf", the second nothing.
    automaton = deterministic("2a3", "2b4", "3c7", "4c8", "2c5", "2d6", "5d5", "6d5", "7e7", "7f7", "8e9", "9f9", "9g9")
    smaller = merged(automaton, [])
    lost = next(word for word in long_runs(automaton) if smaller.run(word) is None)
    assert {4, 6}.isdisjoint(smaller.states)
    assert merged(automaton, [lost]) == automaton
    assert merged(automaton, [START + "ace"]) == smaller


def long_runs(automaton: DeterministicAutomaton) -> list[Trace]:
    words = [START]
    for _ in range(6):
        words += [word + s for word in words for s in "abcdefg" if automaton.run(word + s) is not None]
        words = list(dict.fromkeys(words))
    return words


@given(automata(), automata())
def test_renaming_changes_names_alone(automaton: LabelAutomaton, before: LabelAutomaton) -> None:
    smallest, previous = minimized(subsets(automaton)), minimized(subsets(before))
    for other in (previous, None):
        result = renamed(smallest, other)
        assert runs(result) == runs(smallest)
        assert len(result.states) == len(smallest.states)
        assert len(result.transitions) == len(smallest.transitions)


@given(automata(), st.permutations([2, 3, 4, 5, 6, 7, 8, 9]))
def test_an_automaton_that_did_not_change_keeps_its_names(automaton: LabelAutomaton, numbers: list[int]) -> None:
    known = minimized(subsets(automaton))
    if len(known.states) > len(numbers):
        return
    names = dict(zip(known.states, [INITIAL, *numbers], strict=False))
    shuffled = DeterministicAutomaton(
        tuple(sorted(AutomatonArc(names[p], s, names[q]) for p, s, q in known.transitions))
    )
    assert renamed(known, shuffled) == shuffled


def test_a_state_that_is_new_gets_a_number_of_its_own() -> None:
    previous = DeterministicAutomaton((AutomatonArc(1, START, 7), AutomatonArc(7, "a", 3)))
    now = DeterministicAutomaton((AutomatonArc(1, START, 2), AutomatonArc(2, "a", 3), AutomatonArc(2, "b", 4)))
    result = renamed(now, previous)
    assert result.run(START + "a") == 3
    assert result.run(START) == 7
    assert result.run(START + "b") == 2


@given(automata(), st.data())
def test_the_traces_run_after_all_steps_together(automaton: LabelAutomaton, data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from(readable(automaton)), max_size=5))
    assert all(determinize(automaton, known, None).run(trace) is not None for trace in known)
