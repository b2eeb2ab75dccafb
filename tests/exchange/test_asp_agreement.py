"""R0-R5 against the traversal: the paper's rules are right wherever no label starts two calls.

No class of machines had to be left out: self-loops, also on initial states, cycles, several accepting and rejecting
states and calls under `true` are among those drawn. Only the empty trace is, by R5, without a verdict.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.answers import verdict_by_clingo
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from strategies import hierarchies, labels, words


@settings(deadline=None, max_examples=80)
@given(hierarchy=hierarchies(max_height=3), word=st.lists(labels, min_size=1, max_size=6))
def test_clingo_agrees_with_the_traversal_after_every_step(hierarchy: Hierarchy, word: list[Label]) -> None:
    for length in range(1, len(word) + 1):
        assert verdict_by_clingo(hierarchy, word[:length]) is verdict(hierarchy, word[:length])


@settings(deadline=None, max_examples=150)
@given(hierarchy=hierarchies(max_height=3), word=words)
def test_clingo_agrees_with_the_traversal_on_long_traces(hierarchy: Hierarchy, word: list[Label]) -> None:
    expected = verdict(hierarchy, word) if word else Verdict.NEITHER
    assert verdict_by_clingo(hierarchy, word) is expected
