"""DeepSynth reads what it was given, and makes no pair of symbols possible that was never observed."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.experiments.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    Automaton,
    Pair,
    Trace,
    Transition,
    pairs_of,
)
from rewardmachines.experiments.baselines.deepsynth.synthesis import choice, extended_by, forbidden_pairs, steps_of
from rewardmachines.experiments.baselines.deepsynth.windows import Part, prefixes, traces_to_add, unread_part

symbols = st.sampled_from("abcd")


@st.composite
def traces(draw: st.DrawFn, most: int = 12) -> Trace:
    """A trace as DeepSynth takes it: `START` first, and no symbol twice in a row."""
    drawn = draw(st.lists(symbols, min_size=1, max_size=most))
    return (START, drawn[0], *(b for a, b in pairwise(drawn) if a != b))


several = st.lists(traces(), min_size=1, max_size=4)


def grown(known: list[Trace], observed: set[Pair]) -> Automaton:
    automaton = Automaton(2)
    for trace in known:
        automaton = extended_by(automaton, trace, observed)
    return automaton


def possible_pairs(transitions: frozenset[Transition]) -> set[Pair]:
    """The pairs e f for which some state is entered by e and left by f: the definition, transition by transition."""
    return {(a.symbol, b.symbol) for a in transitions for b in transitions if a.target == b.source}


def can_read(automaton: Automaton, trace: Trace, state: int = INITIAL) -> bool:
    return not trace or any(
        can_read(automaton, trace[1:], target)
        for source, symbol, target in automaton.transitions
        if (source, symbol) == (state, trace[0])
    )


def test_an_automaton_is_followed_as_far_as_some_run_goes() -> None:
    automaton = Automaton(
        4, frozenset({Transition(1, START, 2), Transition(2, "a", 3), Transition(2, "a", 4), Transition(4, "b", 2)})
    )
    assert automaton.failure((START, "a", "b", "a")) is None
    assert automaton.failure((START, "a", "b", "b")) == 3
    assert automaton.failure(("a",)) == 0
    assert list(automaton.reached((START, "a", "b", "b"))) == [{1}, {2}, {3, 4}, {2}]


@pytest.mark.parametrize("transition", [(1, "a", 2), (2, START, 2), (2, "a", 1), (2, "a", 3), (0, "a", 2)])
def test_the_initial_state_is_left_by_start_alone_and_never_entered(transition: tuple[int, str, int]) -> None:
    with pytest.raises(ValueError, match="state"):
        Automaton(2, frozenset({Transition(*transition)}))


@given(several, traces())
def test_the_failure_is_where_no_run_goes_on(known: list[Trace], trace: Trace) -> None:
    automaton = grown(known, pairs_of(known))
    readable = [n for n in range(len(trace) + 1) if can_read(automaton, trace[:n])]
    failure = automaton.failure(trace)
    assert (len(trace) if failure is None else failure) == max(readable)
    assert automaton.follows(trace) == can_read(automaton, trace)


@given(st.integers(1, 60), st.integers(0, 3))
def test_long_traces_are_cut_at_distinct_points_of_their_first_three_quarters(length: int, seed: int) -> None:
    trace = tuple(map(str, range(length)))
    cut = prefixes(trace, random.Random(seed))
    assert len(set(cut)) == len(cut) <= length // 2
    assert bool(cut) == (round(0.75 * length) > 10)
    assert all(prefix == trace[: len(prefix)] and 10 <= len(prefix) < 0.75 * length + 1 for prefix in cut)


def test_at_most_a_thousand_prefixes_are_added() -> None:
    assert len(prefixes(("a", "b") * 5_000, random.Random(0))) == 1_000


@given(several, several)
def test_only_traces_that_cannot_be_read_are_added_once_and_by_length(known: list[Trace], new: list[Trace]) -> None:
    automaton = grown(known, pairs_of(known))
    added = traces_to_add(automaton, [*known, *new, *new], random.Random(0))
    unread = {trace for trace in new if not can_read(automaton, trace)}
    assert unread <= set(added)
    assert all(any(trace == whole[: len(trace)] for whole in unread) for trace in added)
    assert len(added) == len(set(added))
    assert [len(trace) for trace in added] == sorted(len(trace) for trace in added)


def test_windows_are_those_from_three_symbols_before_the_failure() -> None:
    automaton = grown([(START, *"abab")], pairs_of([(START, *"ababcababd")]))
    observed = pairs_of([(START, *"ababcababd")])
    part = unread_part(automaton, (START, *"ababcababd"), observed)
    assert part is not None
    assert part.windows[0] == tuple("bab")
    assert sorted(map("".join, part.windows[1:])) == ["aba", "abc", "abd", "bab", "bca", "cab"]
    assert len(part.joints) == 6  # one for every two neighbours


def test_a_short_rest_is_one_window() -> None:
    trace = (START, "a", "b")
    part = unread_part(Automaton(2), trace, pairs_of([trace]))
    assert part == Part(frozenset({INITIAL}), (trace,), frozenset(), 0)
    assert unread_part(grown([trace], pairs_of([trace])), trace, pairs_of([trace])) is None


@given(several, traces())
def test_the_windows_are_those_of_the_part_and_lead_through_it(known: list[Trace], trace: Trace) -> None:
    observed = pairs_of([*known, trace])
    automaton = grown(known, observed)
    part = unread_part(automaton, trace, observed)
    if part is None:
        assert can_read(automaton, trace)
        return
    failure = automaton.failure(trace)
    assert failure is not None
    first = max(
        place
        for place in range(max(0, failure - 3) + 1)
        if any(may_leave(automaton, state, trace[place], observed) for state in states_after(automaton, trace[:place]))
    )
    rest = trace[first:]
    assert set(part.windows) == {rest[n : n + 3] for n in range(max(1, len(rest) - 2))}
    assert len(part.windows) - len(set(part.windows)) <= 1  # the first one may be there twice
    steps, at = steps_of(part), {0}
    for symbol in rest:
        at = {target for source, read, target in steps if source in at and read == symbol}
        assert at


def states_after(automaton: Automaton, trace: Trace) -> set[int]:
    if not trace:
        return {INITIAL}
    before = states_after(automaton, trace[:-1])
    return {target for source, symbol, target in automaton.transitions if source in before and symbol == trace[-1]}


def may_leave(automaton: Automaton, state: int, symbol: str, observed: set[Pair]) -> bool:
    return all((edge.symbol, symbol) in observed for edge in automaton.transitions if edge.target == state)


@given(several)
def test_all_traces_can_be_read_and_no_unobserved_pair_is_possible(known: list[Trace]) -> None:
    observed = pairs_of(known)
    automaton = Automaton(2)
    for trace in known:
        before, automaton = automaton, extended_by(automaton, trace, observed)
        assert before.transitions <= automaton.transitions
        assert can_read(automaton, trace)
        assert possible_pairs(automaton.transitions) <= observed
    assert all(can_read(automaton, trace) for trace in known)


def brute_force(automaton: Automaton, part: Part, forbidden: set[Pair], states: int) -> bool:
    """Whether some choice of states is sound, tried one by one."""
    steps = steps_of(part)
    places = sorted({place for source, _, target in steps for place in (source, target)})
    allowed = [range(2, states + 1) if place else part.beginnings for place in places]
    for states_chosen in product(*allowed):
        at = dict(zip(places, states_chosen, strict=True))
        new = {Transition(at[source], symbol, at[target]) for source, symbol, target in steps}
        if not possible_pairs(automaton.transitions.union(new)) & forbidden:
            return True
    return False


@given(st.lists(traces(most=5), max_size=2), traces(most=5), st.integers(2, 4))
def test_there_is_a_choice_exactly_if_trying_all_of_them_finds_one(
    known: list[Trace], trace: Trace, states: int
) -> None:
    observed = pairs_of([*known, trace])
    automaton = grown(known, observed)
    part = unread_part(automaton, trace, observed)
    states = max(states, automaton.states)
    if part is None or states > 4:
        return
    forbidden = forbidden_pairs(automaton, trace, observed)
    transitions = choice(automaton, part, forbidden, states)
    assert (transitions is not None) == brute_force(automaton, part, forbidden, states)
    if transitions is not None:
        assert possible_pairs(automaton.extended(states, transitions).transitions) <= observed


def test_pairs_count_as_far_as_they_touch_the_trace() -> None:
    automaton = grown([(START, "a", "b")], {(START, "a"), ("a", "b")})
    trace = (START, "c")
    forbidden = forbidden_pairs(automaton, trace, pairs_of([trace]))
    assert ("a", "c") in forbidden
    assert ("c", "a") in forbidden
    assert ("b", "a") not in forbidden
    assert (START, "c") not in forbidden
