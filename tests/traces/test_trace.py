from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.traces import Outcome, Trace, compress, singletons
from strategies import hierarchies, words


def test_equal_neighbours_are_merged_as_in_the_paper() -> None:
    labels = [[], ["iron"], ["iron"], [], [], ["table"], ["cow"]]
    assert compress(labels) == (frozenset(), {"iron"}, frozenset(), {"table"}, {"cow"})


def test_labels_of_at_most_one_proposition_include_the_empty_one() -> None:
    assert singletons(["a", "b"]) == (frozenset(), {"a"}, {"b"})


@given(words)
def test_compressing_leaves_no_equal_neighbours_and_loses_no_event(word: list[Label]) -> None:
    events = compress(word)
    assert all(a != b for a, b in pairwise(events))
    assert compress(events) == events
    assert [x for i, x in enumerate(word) if i == 0 or x != word[i - 1]] == list(events)


@given(hierarchies(), words)
def test_a_hierarchy_explains_the_traces_whose_outcome_it_foretells(tree: Hierarchy, word: list[Label]) -> None:
    said = {Outcome.GOAL: Verdict.ACCEPT, Outcome.DEAD_END: Verdict.REJECT, Outcome.INCOMPLETE: Verdict.NEITHER}
    fitting = [o for o in Outcome if o.verdict is verdict(tree, word)]
    assert [said[o] for o in fitting] == [verdict(tree, word)]
    assert len(Trace(tuple(word), fitting[0])) == len(word)
