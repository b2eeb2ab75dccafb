"""A hierarchy moves only when the label changes."""

from __future__ import annotations

from hypothesis import given

from rewardmachines.core.events import is_event, move_on_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import initial_state, traverse
from rewardmachines.traces import compress
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
