from __future__ import annotations

import pytest

from learning.test_asp_answers import answer_sets

TWO_STATES = "state(u0,mr). state(ua,mr). inner(u0,0). "


@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("id(1). callee(mtop).", 1 + 1),  # no edge, or one under true
        ("id(1). callee(mtop). proposition(p).", 1 + 3),
        ("id(1). callee(mtop). callee(m1). proposition(p).", 1 + 2 * 3),
        ("id(1). callee(mtop). proposition(p). proposition(q).", 1 + 3 * 3),
        ("id(1). id(2). callee(mtop). proposition(p).", (1 + 3) ** 2),
    ],
)
def test_a_formula_is_any_conjunction_and_an_edge_has_one_callee(rest: str, count: int) -> None:
    assert len(set(answer_sets(TWO_STATES + rest, "machine"))) == count


def test_edges_lead_from_inner_states_to_all_others() -> None:
    states = "state(u0,mr). state(u1,mr). state(ua,mr). state(ur,mr). inner(u0,0). inner(u1,1). "
    models = answer_sets(states + "id(1). callee(mtop).", "machine")
    edges = {atom for model in models for atom in model if atom.startswith("ed(")}
    expected = {("u0", "u1"), ("u0", "ua"), ("u0", "ur"), ("u1", "u0"), ("u1", "ua"), ("u1", "ur")}
    assert edges == {f"ed({source},{target},1,mr)" for source, target in expected}
    assert len(models) == 2 ** len(expected)


def test_only_the_root_is_shown() -> None:
    known = "call(u0,ua,1,m1,mtop). pos(u0,ua,1,m1,p). neg(u0,ua,1,m1,q). "
    facts = TWO_STATES + known + "id(1). callee(m1). proposition(p)."
    shown = {frozenset(model) for model in answer_sets(facts, "machine", shown=True)}
    call = "call(u0,ua,1,mr,m1)"
    assert shown == {
        frozenset(),
        frozenset({call}),
        frozenset({call, "pos(u0,ua,1,mr,p)"}),
        frozenset({call, "neg(u0,ua,1,mr,p)"}),
    }
