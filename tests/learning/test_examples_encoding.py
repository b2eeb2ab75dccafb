from __future__ import annotations

import pytest

from learning.test_asp_answers import holds

EXPLAINED = {("goal", "accept"), ("dead_end", "reject"), ("incomplete", "neither")}


@pytest.mark.parametrize("outcome", ["goal", "dead_end", "incomplete"])
@pytest.mark.parametrize("said", ["accept", "reject", "neither"])
def test_a_trace_is_explained_by_its_own_verdict_alone(outcome: str, said: str) -> None:
    facts = f"trace(0,{outcome}). last(0,2)." + ("" if said == "neither" else f" {said}(0).")
    assert holds(facts, "examples") is ((outcome, said) in EXPLAINED)


@pytest.mark.parametrize("outcome", ["goal", "dead_end"])
def test_a_trace_that_is_both_accepted_and_rejected_is_not_explained(outcome: str) -> None:
    assert not holds(f"trace(0,{outcome}). last(0,2). accept(0). reject(0).", "examples")


def test_each_trace_counts() -> None:
    both = "trace(0,goal). last(0,1). accept(0). trace(1,goal). last(1,1)."
    assert not holds(both, "examples")
    assert holds(both + " accept(1).", "examples")


@pytest.mark.parametrize("ended", ["satisfied", "failed"])
@pytest.mark.parametrize("knowledge", [False, True])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_with_prefix_knowledge_a_verdict_before_the_end_is_wrong(ended: str, knowledge: bool, before: int) -> None:
    outcome, said = ("goal", "accept") if ended == "satisfied" else ("dead_end", "reject")
    facts = f"trace(0,{outcome}). last(0,2). {said}(0). {ended}(0,mr,0,3). {ended}(0,mr,0,{before})."
    assert holds(facts + (" prefix_knowledge." if knowledge else ""), "examples") is (before == 3 or not knowledge)


def test_a_called_machine_may_end_earlier() -> None:
    assert holds("trace(0,incomplete). last(0,2). prefix_knowledge. satisfied(0,m1,0,1). failed(0,m2,1,2).", "examples")


@pytest.mark.parametrize(("outcome", "explained"), [("goal", False), ("dead_end", False), ("incomplete", True)])
def test_an_empty_trace_can_only_be_incomplete(outcome: str, explained: bool) -> None:
    assert holds(f"trace(0,{outcome}). prefix_knowledge.", "examples") is explained
