"""A hierarchy moves only when the label changes."""

from __future__ import annotations

from hypothesis import given

from rewardmachines.core.events import compress, is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, move_on_event, traverse, verdict, verdict_of
from rewardmachines.language import compile_task
from strategies import hierarchies, words

A, NOTHING = frozenset("a"), frozenset[str]()


def test_a_label_is_an_event_if_it_is_the_first_or_differs_from_the_one_before() -> None:
    assert is_event(None, NOTHING)
    assert is_event(NOTHING, A)
    assert is_event(A, NOTHING)
    assert not is_event(A, frozenset("a"))
    assert not is_event(NOTHING, NOTHING)


@given(hierarchies(), words)
def test_moving_on_events_is_traversing_the_compressed_trace(tree: Hierarchy, word: list[Label]) -> None:
    state, before = initial_state(tree), None
    for label in word:
        state, before = move_on_event(tree, state, before, label), label
    assert state == list(traverse(tree, compress(word)))[-1]


@given(hierarchies(), words)
def test_traversing_by_events_stands_still_where_the_label_repeats(tree: Hierarchy, word: list[Label]) -> None:
    state, before = initial_state(tree), None
    expected = [state]
    for label in word:
        state, before = move_on_event(tree, state, before, label), label
        expected.append(state)
    assert list(traverse(tree, word, events=True)) == expected
    assert verdict(tree, word, events=True) is verdict_of(tree, state) is verdict(tree, compress(word))


def test_by_events_a_label_that_lasts_does_one_step_of_a_task() -> None:
    twice = compile_task("a ; a")
    assert verdict(twice, [NOTHING, A, A]) is Verdict.ACCEPT
    assert verdict(twice, [NOTHING, A, A], events=True) is Verdict.NEITHER
    assert verdict(twice, [A, NOTHING, A], events=True) is Verdict.ACCEPT
