from __future__ import annotations

from itertools import permutations

import pytest

from learning.test_asp_answers import answer_sets, holds

ONE_INNER = "inner(u0,0). id(1). id(2). "
TWO_INNER = "inner(u0,0). inner(u1,1). id(1). "

PAPER_ACYCLIC = """
path(X,Y,M) :- ed(X,Y,_,M).
path(X,Y,M) :- ed(X,Z,_,M), path(Z,Y,M).
:- path(X,Y,M), path(Y,X,M).
"""


def edges(*ends: str) -> str:
    """Calls of m1, which need no literals."""
    return " ".join(f"ed({end},1,mr). call({end},1,mr,m1)." for end in ends)


@pytest.mark.parametrize(
    ("ends", "well_formed"),
    [
        (("u0,u1", "u1,ua"), True),
        (("u0,u1",), False),  # u1 is not left
        (("u0,ua", "u1,ua"), False),  # u1 is not entered
        (("u1,ua", "u1,u0"), False),  # u0 is not left
        (("u0,u1", "u1,u0"), True),
        (("u0,ua", "u1,u1", "u1,ua"), False),  # entered from itself alone
    ],
)
def test_inner_states_are_left_and_all_but_the_initial_one_entered(ends: tuple[str, ...], well_formed: bool) -> None:
    assert holds(TWO_INNER + edges(*ends), "structure") is well_formed


@pytest.mark.parametrize("negative_formulas", [False, True])
@pytest.mark.parametrize("callee", ["mtop", "m1"])
@pytest.mark.parametrize("literals", ["", "pos", "neg", "pos neg"])
def test_an_edge_without_a_call_needs_a_positive_literal_or_where_allowed_any(
    negative_formulas: bool, callee: str, literals: str
) -> None:
    facts = f"ed(u0,ua,1,mr). call(u0,ua,1,mr,{callee}). "
    facts += " ".join(f"{sign}(u0,ua,1,mr,{sign}_p)." for sign in literals.split())
    option = " negative_formulas." if negative_formulas else ""
    expected = callee == "m1" or "pos" in literals or (negative_formulas and bool(literals))
    assert holds(ONE_INNER + facts + option, "structure") is expected


def test_the_first_numbers_are_used() -> None:
    first, second = (f"ed(u0,ua,{i},mr). call(u0,ua,{i},mr,m1). " for i in (1, 2))
    assert holds(ONE_INNER + first, "structure")
    assert holds(ONE_INNER + first + second, "structure")
    assert not holds(ONE_INNER + second, "structure")


def roots(more: str) -> set[frozenset[tuple[str, str]]]:
    """The edges of all roots with three inner states, the inner ones but u0 renamed in the first of all ways."""
    space = "state((u0;u1;u2;ua),mr). inner(u0,0). inner(u1,1). inner(u2,2). id(1). callee(mtop). proposition(p). "
    found = set()
    for model in answer_sets(space + more, "machine", "structure"):
        ends = [atom.removeprefix("ed(").split(",")[:2] for atom in model if atom.startswith("ed(")]
        found.add(min((renamed(ends, names) for names in permutations(("u1", "u2"))), key=sorted))
    return found


def renamed(ends: list[list[str]], names: tuple[str, ...]) -> frozenset[tuple[str, str]]:
    new = dict(zip(("u1", "u2"), names, strict=True))
    return frozenset((new.get(source, source), new.get(target, target)) for source, target in ends)


def test_numbering_states_upwards_loses_no_acyclic_root_and_admits_no_other() -> None:
    assert roots("acyclic.") == roots(PAPER_ACYCLIC)
    assert roots("acyclic.") < roots("")
