"""DeepSynth reads what it was given, and makes no pair of symbols possible that was never observed."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.studies.baselines.deepsynth import learner
from rewardmachines.studies.baselines.deepsynth.automaton import (
    INITIAL,
    START,
    AutomatonArc,
    DeterministicAutomaton,
    LabelAutomaton,
    Pair,
    Trace,
    determinize,
)
from rewardmachines.studies.baselines.deepsynth.learner import (
    Automata,
    choice,
    extended_by,
    forbidden_pairs,
    later_sequence,
    learn,
    prefixes,
    unread_sequences,
    with_prefixes,
)

symbols = st.sampled_from("abcd")


@st.composite
def traces(draw: st.DrawFn, most: int = 12) -> Trace:
    """A trace as DeepSynth takes it: `START` first, and no symbol twice in a row."""
    drawn = draw(st.lists(symbols, min_size=1, max_size=most))
    return "".join([START, drawn[0], *(b for a, b in pairwise(drawn) if a != b)])


several = st.lists(traces(), min_size=1, max_size=4)


def grown(known: list[Trace]) -> LabelAutomaton:
    automaton = LabelAutomaton(2)
    for trace in known:
        automaton = extended_by(automaton, trace, random.Random(0))
    return automaton


def pairs_in(known: list[Trace]) -> set[Pair]:
    return {(trace[n], trace[n + 1]) for trace in known for n in range(len(trace) - 1)}


def possible_pairs(transitions: frozenset[AutomatonArc]) -> set[Pair]:
    """The pairs e f for which some state is entered by e and left by f: the definition, transition by transition."""
    return {(a.symbol, b.symbol) for a in transitions for b in transitions if a.target == b.source}


def can_read(automaton: LabelAutomaton, trace: Trace, state: int = INITIAL) -> bool:
    return not trace or any(
        can_read(automaton, trace[1:], target)
        for source, symbol, target in automaton.transitions
        if (source, symbol) == (state, trace[0])
    )


def test_an_automaton_is_followed_as_far_as_some_run_goes() -> None:
    automaton = LabelAutomaton(
        4,
        frozenset(
            {AutomatonArc(1, START, 2), AutomatonArc(2, "a", 3), AutomatonArc(2, "a", 4), AutomatonArc(4, "b", 2)}
        ),
    )
    assert automaton.failure(START + "aba") is None
    assert automaton.failure(START + "abb") == 3
    assert automaton.failure("a") == 0
    assert list(automaton.reached(START + "abb")) == [{1}, {2}, {3, 4}, {2}]


@pytest.mark.parametrize("transition", [(1, "a", 2), (2, START, 2), (2, "a", 1), (2, "a", 3), (0, "a", 2)])
def test_the_initial_state_is_left_by_start_alone_and_never_entered(transition: tuple[int, str, int]) -> None:
    with pytest.raises(ValueError, match="state"):
        LabelAutomaton(2, frozenset({AutomatonArc(*transition)}))


@given(several, traces())
def test_the_failure_is_where_no_run_goes_on(known: list[Trace], trace: Trace) -> None:
    automaton = grown(known)
    readable = [n for n in range(len(trace) + 1) if can_read(automaton, trace[:n])]
    failure = automaton.failure(trace)
    assert (len(trace) if failure is None else failure) == max(readable)
    assert automaton.follows(trace) == can_read(automaton, trace)
    anywhere = any(can_read(automaton, trace[1:], state) for state in range(1, automaton.states + 1))
    assert automaton.reads_anywhere(trace[1:]) == anywhere


@given(st.integers(1, 60), st.integers(0, 3))
def test_prefixes_are_drawn_for_long_traces_alone(length: int, seed: int) -> None:
    trace = "".join(map(chr, range(100, 100 + length)))
    drawn = prefixes(trace, random.Random(seed))
    counted = length + 1  # with the start of the next trace
    if round(0.75 * counted) > 10:
        assert len(drawn) == round(counted / 2)
        assert all(10 <= len(prefix) <= max(counted - 10, round(0.75 * counted)) for prefix in drawn)
        assert all(trace.startswith(prefix) for prefix in drawn)
    else:
        assert drawn == []


@pytest.mark.parametrize(("length", "longest"), [(19, 15), (29, 22), (59, 50), (99, 90)])
def test_prefixes_have_all_lengths_between_ten_and_the_longest_and_some_twice(length: int, longest: int) -> None:
    drawn = [len(prefix) for seed in range(60) for prefix in prefixes("a" * length, random.Random(seed))]
    assert set(drawn) == set(range(10, longest + 1))
    assert any(len(set(each)) < len(each) for each in [prefixes("a" * length, random.Random(s)) for s in range(60)])


def test_at_most_a_thousand_prefixes_are_drawn() -> None:
    assert len(prefixes("ab" * 5_000, random.Random(0))) == 1_000


@given(traces(most=60), st.integers(0, 3))
def test_prefixes_come_once_and_by_length_and_the_trace_last(trace: Trace, seed: int) -> None:
    added = with_prefixes(trace, random.Random(seed))
    assert set(added) == {trace, *prefixes(trace, random.Random(seed))}
    assert added[-1] == trace
    assert all(len(shorter) < len(longer) for shorter, longer in pairwise(added))


def test_the_unread_part_begins_two_symbols_before_the_failing_one() -> None:
    assert unread_sequences(START + "abcdefg", 4) == ["bcdefg"]
    assert unread_sequences(START + "abcdefg", 7) == ["efg"]
    assert unread_sequences(START + "ab", 0) == [START + "ab"]
    assert unread_sequences(START + "ab", 1) == [START + "ab"]


@given(traces(most=40), st.data())
def test_windows_of_three_are_taken_where_they_are_few(trace: Trace, data: st.DataObject) -> None:
    failure = data.draw(st.integers(0, len(trace) - 1))
    part = list(trace)[failure - 2 if failure > 2 else 0 :]
    windows = {"".join(part[n : n + 3]) for n in range(len(part)) if n + 3 <= len(part)}
    sequences = unread_sequences(trace, failure)
    if windows and 3 * len(windows) <= len(part):
        assert set(sequences) == windows
        assert len(sequences) == len(windows)
    else:
        assert sequences == ["".join(part)]


def test_a_trace_that_still_fails_adds_the_ten_symbols_up_to_the_failure() -> None:
    trace = START + "abcdefghijklmnop"
    assert later_sequence(LabelAutomaton(2), trace, 14) == "efghijklmn"
    assert later_sequence(LabelAutomaton(2), trace, 4) == START + "abcd"
    # Where they can be read from some state, nothing would be demanded: more symbols are.
    reads = LabelAutomaton(20, frozenset(AutomatonArc(n, s, n + 1) for n, s in enumerate("cdefghijklmn", start=2)))
    assert later_sequence(reads, trace, 14) == "bcdefghijklmn"


@given(several, st.integers(0, 3))
def test_all_traces_can_be_read_and_the_possible_pairs_are_those_observed_so_far(known: list[Trace], seed: int) -> None:
    automaton, generator = LabelAutomaton(2), random.Random(seed)
    for number, trace in enumerate(known, start=1):
        before, automaton = automaton, extended_by(automaton, trace, generator)
        assert before.transitions <= automaton.transitions
        assert can_read(automaton, trace)
        assert possible_pairs(automaton.transitions) == automaton.pairs == pairs_in(known[:number])


def test_a_trace_is_read_again_only_after_its_prefixes_and_itself_were_added(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Trace]] = []

    def unread(part: Trace, failure: int) -> list[Trace]:
        """The failing symbol alone, so that much is left to be added later."""
        asked.append(("unread", part))
        return [part[failure]]

    def later(automaton: LabelAutomaton, trace: Trace, failure: int) -> Trace:
        asked.append(("later", trace))
        return later_sequence(automaton, trace, failure)

    monkeypatch.setattr(learner, "unread_sequences", unread)
    monkeypatch.setattr(learner, "later_sequence", later)
    trace = START + "".join(random.Random(0).choices(["ab", "cb", "cd", "ad"], k=30))
    assert can_read(extended_by(LabelAutomaton(2), trace, random.Random(1)), trace)
    parts = [part for kind, part in asked if kind == "unread"]
    repairs = len(asked) - len(parts)
    assert asked == [*(("unread", part) for part in parts), *[("later", trace)] * repairs]
    assert repairs > 0
    assert len(parts) > 1
    assert parts == [part for part in with_prefixes(trace, random.Random(1)) if part in parts]


def test_a_prefix_knows_the_pairs_of_the_whole_trace_and_not_those_of_later_traces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbidden: list[Set[Pair]] = []

    def recorded(automaton: LabelAutomaton, sequences: Sequence[Trace], observed: Set[Pair]) -> set[Pair]:
        forbidden.append(forbidden_pairs(automaton, sequences, observed))
        return set(forbidden[-1])

    monkeypatch.setattr(learner, "forbidden_pairs", recorded)
    automaton = extended_by(LabelAutomaton(2), START + "abcabcabcabcabcacb", random.Random(0))
    extended_by(automaton, START + "ba", random.Random(0))
    assert len(forbidden) > 2  # prefixes of the first trace, and the second one
    assert all(("a", "c") not in each for each in forbidden[:-1])  # which only the end of the first trace has
    assert all(("b", "a") in each for each in forbidden[:-1])
    assert ("b", "a") not in forbidden[-1]


def brute_force(automaton: LabelAutomaton, sequences: list[Trace], forbidden: set[Pair], states: int) -> bool:
    """Whether some choice of states is sound, tried one by one."""
    lengths = [len(sequence) for sequence in sequences]
    for chosen in product(range(2, states + 1), repeat=sum(lengths) + len(lengths)):
        at, new = list(chosen), set()
        for sequence in sequences:
            places, at = at[: len(sequence) + 1], at[len(sequence) + 1 :]
            if sequence[0] == START:
                places[0] = INITIAL
            new |= {AutomatonArc(p, symbol, q) for p, symbol, q in zip(places, sequence, places[1:], strict=False)}
        if not possible_pairs(automaton.transitions.union(new)) & forbidden:
            return True
    return False


@given(
    st.lists(traces(most=4), max_size=2),
    st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=2),
    st.booleans(),
    st.integers(2, 4),
)
def test_there_is_a_choice_exactly_if_trying_all_of_them_finds_one(
    known: list[Trace], sequences: list[Trace], begins: bool, states: int
) -> None:
    automaton = grown(known)
    sequences = [START + sequences[0], *sequences[1:]] if begins else sequences
    states = max(states, automaton.states)
    if states > 4:
        return
    forbidden = forbidden_pairs(automaton, sequences, automaton.pairs | pairs_in(sequences))
    transitions = choice(automaton, sequences, forbidden, states)
    assert (transitions is not None) == brute_force(automaton, sequences, forbidden, states)
    if transitions is not None:
        extended = automaton.extended(states, transitions)
        assert not possible_pairs(extended.transitions) & forbidden
        assert all(extended.reads_anywhere(sequence) for sequence in sequences)


def test_pairs_count_as_far_as_they_touch_the_sequences_and_were_not_observed() -> None:
    automaton = grown([START + "ab"])
    forbidden = forbidden_pairs(automaton, [START + "c"], {(START, "a"), ("a", "b"), (START, "c")})
    assert ("a", "c") in forbidden
    assert ("c", "a") in forbidden
    assert ("b", "a") not in forbidden
    assert (START, "c") not in forbidden
    assert ("a", "b") not in forbidden_pairs(automaton, ["b"], automaton.pairs)


def test_the_distinct_traces_of_a_call_are_added_one_after_the_other_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added: list[Trace] = []

    def recorded(automaton: LabelAutomaton, trace: Trace, generator: random.Random) -> LabelAutomaton:
        added.append(trace)
        return extended_by(automaton, trace, generator)

    monkeypatch.setattr(learner, "extended_by", recorded)
    given, orders = [START + word for word in ("ab", "abab", "ab", "bab", "abc")], set[tuple[Trace, ...]]()
    for seed in range(10):
        added.clear()
        learned = learn(Automata(), given, [], str(seed))
        assert sorted(added) == sorted(set(given))
        assert all(can_read(learned.automaton, trace) for trace in given)
        orders.add(tuple(added))
    assert len(orders) > 1


def test_a_call_begins_with_the_states_of_the_last_deterministic_automaton() -> None:
    small = grown([START + "a"])
    chain = [AutomatonArc(n, s, n + 1) for n, s in enumerate(START + "abcdef", start=1)]
    assert Automata(small, DeterministicAutomaton(tuple(chain))).next_automaton() == LabelAutomaton(
        8, small.transitions
    )
    wide = LabelAutomaton(5, frozenset({*small.transitions, AutomatonArc(2, "b", 4)}))
    assert Automata(wide, DeterministicAutomaton(tuple(chain[:2]))).next_automaton().states == 4  # those in use
    assert Automata().next_automaton().states == 2


def test_merging_must_keep_the_traces_of_earlier_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[set[Trace]] = []

    def recorded(automaton: LabelAutomaton, given: Sequence[Trace], before: DeterministicAutomaton | None) -> Any:
        asked.append(set(given))
        return determinize(automaton, given, before)

    monkeypatch.setattr(learner, "determinize", recorded)
    known = [START + walk for walk in ("abcabdab", "acbdbcab", "dcbabcd")]
    learned = Automata()
    for number, trace in enumerate(known):
        learned = learn(learned, [trace], known[:number], str(number))
    assert asked == [set(known[: number + 1]) for number in range(len(known))]
