"""Determinizing keeps what can be read; merging keeps the traces; renaming keeps the automaton."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.experiments.baselines.deepsynth.automaton import INITIAL, START, Automaton, Trace, Transition
from rewardmachines.experiments.baselines.deepsynth.determinize import (
    DeterministicAutomaton,
    determinize,
    merged,
    minimized,
    renamed,
    subsets,
)

SYMBOLS = "abc"
WORDS = [(START, *word) for length in range(5) for word in product(SYMBOLS, repeat=length)]


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    states = st.integers(2, 5)
    inner = draw(st.sets(st.builds(Transition, states, st.sampled_from(SYMBOLS), states), max_size=12))
    begin = draw(st.sets(st.builds(Transition, st.just(INITIAL), st.just(START), states), min_size=1, max_size=3))
    return Automaton(5, frozenset(inner | begin))


def readable(automaton: Automaton) -> list[Trace]:
    return [word for word in WORDS if automaton.follows(word)]


def runs(automaton: DeterministicAutomaton) -> list[Trace]:
    return [word for word in WORDS if automaton.run(word) is not None]


@given(automata())
def test_subsets_and_the_smallest_automaton_read_the_same_traces(automaton: Automaton) -> None:
    by_subsets = subsets(automaton)
    smallest = minimized(by_subsets)
    assert runs(by_subsets) == readable(automaton)
    assert runs(smallest) == readable(automaton)
    assert len(smallest.states) <= len(by_subsets.states)
    assert minimized(smallest) == smallest


@given(automata())
def test_no_two_states_of_the_smallest_automaton_read_the_same(automaton: Automaton) -> None:
    smallest = minimized(subsets(automaton))
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


@given(automata(), st.data())
def test_merging_keeps_the_traces_and_adds_nothing(automaton: Automaton, data: st.DataObject) -> None:
    smallest = minimized(subsets(automaton))
    known = data.draw(st.lists(st.sampled_from(readable(automaton)), max_size=5))
    small = merged(smallest, known)
    assert all(small.run(trace) is not None for trace in known)
    assert set(small.states) <= set(smallest.states)
    assert len(small.transitions) <= len(smallest.transitions)


@given(automata(), st.data())
def test_merging_within_observed_pairs_makes_no_other_possible(automaton: Automaton, data: st.DataObject) -> None:
    smallest = minimized(subsets(automaton))
    known = data.draw(st.lists(st.sampled_from(readable(automaton)), max_size=5))
    observed = smallest.pairs
    small = merged(smallest, known, observed)
    follows = {(a.symbol, b.symbol) for a in small.transitions for b in small.transitions if a.target == b.source}
    assert follows == small.pairs <= observed
    assert all(small.run(trace) is not None for trace in known)


def test_merging_may_be_kept_from_making_a_pair_possible() -> None:
    # After a, only a can follow; in state 2, b can, too: merged, b could follow a.
    automaton = DeterministicAutomaton(
        (Transition(1, START, 2), Transition(2, "a", 3), Transition(2, "b", 2), Transition(3, "a", 3))
    )
    assert len(merged(automaton, []).states) == 2
    assert merged(automaton, [], automaton.pairs) == automaton


def test_a_state_is_merged_into_one_that_is_left_by_more_symbols_unless_a_trace_forbids_it() -> None:
    automaton = DeterministicAutomaton(
        (
            Transition(1, START, 2),
            Transition(2, "a", 3),
            Transition(2, "b", 4),
            Transition(3, "a", 5),
            Transition(5, "c", 5),
        )
    )
    # State 3 is left by a alone, as state 2 is, too: merged, "aac" would lead to 2, which c does not leave.
    free, bound = merged(automaton, []), merged(automaton, [(START, "a", "a", "c")])
    assert free.run((START, "a", "a", "a")) is not None
    assert bound.run((START, "a", "a", "c")) is not None
    assert bound.run((START, "a", "a", "a")) is None
    assert len(free.states) < len(bound.states)


@given(automata(), automata())
def test_renaming_changes_names_alone(automaton: Automaton, before: Automaton) -> None:
    smallest, previous = minimized(subsets(automaton)), minimized(subsets(before))
    for other in (previous, None):
        result = renamed(smallest, other)
        assert runs(result) == runs(smallest)
        assert len(result.states) == len(smallest.states)
        assert len(result.transitions) == len(smallest.transitions)


@given(automata(), st.permutations([2, 3, 4, 5, 6, 7, 8, 9]))
def test_an_automaton_that_did_not_change_keeps_its_names(automaton: Automaton, numbers: list[int]) -> None:
    known = minimized(subsets(automaton))
    if len(known.states) > len(numbers):
        return
    names = dict(zip(known.states, [INITIAL, *numbers], strict=False))
    shuffled = DeterministicAutomaton(tuple(sorted(Transition(names[p], s, names[q]) for p, s, q in known.transitions)))
    assert renamed(known, shuffled) == shuffled


def test_a_state_that_is_new_gets_a_number_of_its_own() -> None:
    previous = DeterministicAutomaton((Transition(1, START, 7), Transition(7, "a", 3)))
    now = DeterministicAutomaton((Transition(1, START, 2), Transition(2, "a", 3), Transition(2, "b", 4)))
    result = renamed(now, previous)
    assert result.run((START, "a")) == 3
    assert result.run((START,)) == 7
    assert result.run((START, "b")) == 2


@given(automata(), st.data())
def test_the_traces_run_after_all_steps_together(automaton: Automaton, data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from(readable(automaton)), max_size=5))
    assert all(determinize(automaton, known, None).run(trace) is not None for trace in known)
