"""The paper's determinism: sound, and complete but for calls that can never start (erratum E8)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

from exchange.answers import statements
from learning.test_asp_answers import holds
from learning.test_determinism_encoding import LEATHER, PAPER, is_deterministic, judged
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import LEAF, machine
from rewardmachines.exchange.asp_names import Constants
from rewardmachines.learning.asp import encoding, machine_facts
from rewardmachines.library import find, names
from strategies import hierarchies

PRINTED = """
sat_id(1;2).
root_point(X,M) : call(X,_,_,M,_), M=mr.
ed_mtx((X,Y,E,M,M2),SatID) : call(X,Y,E,M,M2) :- root_point(X,M), sat_id(SatID).
ed_mtx((u0,Y2,E2,M2,M3),SatID) : call(u0,Y2,E2,M2,M3) :- ed_mtx((_,_,_,_,M2),SatID), M2!=mtop.
pos_prop(P,ID) :- ed_mtx((X,Y,E,M,_),ID), pos(X,Y,E,M,P).
neg_prop(P,ID) :- ed_mtx((X,Y,E,M,_),ID), neg(X,Y,E,M,P).
saturate :- pos_prop(P,1), neg_prop(P,2).
saturate :- pos_prop(P,2), neg_prop(P,1).
saturate :- ed_mtx((X,Y,_,M,M2),1), ed_mtx((X,Y,_,M,M2),2), root_point(X,M).
root_point(X,M) :- call(X,_,_,M,_), saturate, M=mr.
ed_mtx((X,Y,E,M,M2),SatID) :- call(X,Y,E,M,M2), M=mr, sat_id(SatID), saturate.
ed_mtx((u0,Y,E,M,M2),SatID) :- call(u0,Y,E,M,M2), sat_id(SatID), saturate.
:- not saturate.
"""


def saturated(whole: Hierarchy) -> bool:
    constants = Constants.of(whole)
    facts = "\n".join(line for part in whole.reachable() for line in machine_facts(part, constants))
    return holds(facts, "saturation")


def chains(whole: Hierarchy, name: str, state: str) -> Iterator[tuple[Label, Label]]:
    """What the chains of calls from a state down to the leaf require and forbid, contradictory or not."""
    for edge in whole[name].outgoing(state):
        below = [(frozenset[str](), frozenset[str]())]
        if edge.callee != LEAF:
            below = list(chains(whole, edge.callee, whole[edge.callee].initial))
        for disjunct in edge.formula.disjuncts:
            yield from ((disjunct.required | required, disjunct.forbidden | forbidden) for required, forbidden in below)


def has_void_chain(whole: Hierarchy) -> bool:
    root = whole[whole.root]
    return any(required & forbidden for s in root.states for required, forbidden in chains(whole, root.name, s))


def has_stuck_machine(whole: Hierarchy) -> bool:
    return not all(part.outgoing(part.initial) for part in whole.reachable() if part.name != whole.root)


def test_the_rules_are_the_printed_ones() -> None:
    rules = {rule for rule in statements(encoding("saturation")) if not rule.startswith("#")}
    assert rules == statements(PRINTED)


@settings(deadline=None, max_examples=60)
@given(whole=hierarchies(max_height=3, deterministic=False))
def test_saturation_accepts_no_root_that_is_not_deterministic(whole: Hierarchy) -> None:
    assume(whole[whole.root].edges)
    assert is_deterministic(whole) or not saturated(whole)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])  # most have void chains
@given(whole=hierarchies(max_height=3, deterministic=False))
def test_saturation_agrees_where_every_chain_of_calls_can_start(whole: Hierarchy) -> None:
    assume(whole[whole.root].edges and not has_void_chain(whole) and not has_stuck_machine(whole))
    event(f"deterministic: {is_deterministic(whole)}")
    assert saturated(whole) is judged(whole)


@pytest.mark.parametrize("name", [name for name in names() if "/book" in name or "waterworld/" in name])
def test_the_papers_own_machines_pass(name: str) -> None:
    whole = find(name)
    assert saturated(whole)
    assert judged(whole)


def test_a_chain_that_can_never_start_is_taken_for_one_that_can() -> None:
    book = machine(
        "book",
        [("u0", "u1", "!sugarcane", "paper"), ("u0", "u2", "true", "leather"), ("u1", "uA", "a"), ("u2", "uA", "b")],
    )
    whole = hierarchy(book, PAPER, LEATHER)
    assert has_void_chain(whole)
    assert is_deterministic(whole)
    assert judged(whole)
    assert not saturated(whole)


def test_two_edges_that_a_label_starts_both_are_refused() -> None:
    book = machine("book", [("u0", "u1", "true", "paper"), ("u0", "u2", "true", "leather"), ("u1", "uA", "a")])
    assert not saturated(hierarchy(book, PAPER, LEATHER))


def test_a_root_that_calls_a_machine_without_a_way_out_is_refused_although_deterministic() -> None:
    stuck = machine("stuck", [], states=("u0", "uA"))
    whole = hierarchy(machine("root", [("u0", "uA", "true", "stuck")]), stuck)
    assert has_stuck_machine(whole)
    assert judged(whole)
    assert not saturated(whole)


def test_a_root_without_edges_is_refused() -> None:
    assert not saturated(hierarchy(machine("root", [], states=("u0", "uA"))))
