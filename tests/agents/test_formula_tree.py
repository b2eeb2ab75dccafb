from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.agents.options.formula_tree import ROOT, FormulaTree, inherited
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.text import parse_formula
from strategies import ALL_LABELS, conjunctions, labels


def formula(text: str) -> Conjunction:
    (disjunct,) = parse_formula(text).disjuncts
    return disjunct


TRUE = formula("true")
FIGURE = tuple(map(formula, ("a", "a & !b", "a & !c", "a & !b & !c", "a & !b & !c & !d")))
SINGLETONS = tuple(map(frozenset, "abcd"))
A_AND_C: Label = frozenset("ac")
EMPTY: Label = frozenset()

events = st.lists(conjunctions() | labels, max_size=16)


def grown(*events: Conjunction | Label, tree: FormulaTree | None = None) -> FormulaTree:
    """A tree after formulas were added and labels observed in this order."""
    tree = tree or FormulaTree()
    for event in events:
        if isinstance(event, Conjunction):
            tree.add(event)
        else:
            tree.observe(event)
    return tree


def ancestors(tree: FormulaTree) -> set[tuple[str, str]]:
    """The pairs of a formula and one above it."""

    def above(formula: Conjunction) -> Iterator[Conjunction]:
        parent = tree._parents[formula]
        if parent is not ROOT:
            yield parent
            yield from above(parent)

    return {(name(formula), name(other)) for formula in tree for other in above(formula)}


def name(formula: Conjunction) -> str:
    return "&".join([*sorted(formula.required), *(f"!{p}" for p in sorted(formula.forbidden))])


# The figure of the paper ------------------------------------------------------------------------------------------


def test_in_the_figures_order_the_tree_is_the_papers() -> None:
    tree = grown(*SINGLETONS, *FIGURE)
    assert str(tree) == "true( a( a&!b( a&!b&!c( a&!b&!c&!d ) ), a&!c ) )"
    tree.observe(A_AND_C)
    assert str(tree) == "true( a( a&!b ), a&!c( a&!b&!c( a&!b&!c&!d ) ) )"


CHAIN = {("a&!b", "a"), ("a&!c", "a"), ("a&!b&!c", "a"), ("a&!b&!c&!d", "a"), ("a&!b&!c&!d", "a&!b&!c")}
UNDER_NOT_B = CHAIN | {("a&!b&!c", "a&!b"), ("a&!b&!c&!d", "a&!b")}
UNDER_NOT_C = CHAIN | {("a&!b&!c", "a&!c"), ("a&!b&!c&!d", "a&!c")}


def test_over_all_orders_exactly_the_two_trees_of_the_caption_occur() -> None:
    trees = [grown(*SINGLETONS, *order) for order in permutations(FIGURE)]
    assert {frozenset(ancestors(tree)) for tree in trees} == {frozenset(UNDER_NOT_B), frozenset(UNDER_NOT_C)}
    assert {tree.roots for tree in trees} == {(formula("a"),)}


def test_after_a_and_c_were_seen_together_all_orders_give_one_tree() -> None:
    expected = {("a&!b", "a"), ("a&!b&!c", "a&!c"), ("a&!b&!c&!d", "a&!c"), ("a&!b&!c&!d", "a&!b&!c")}
    for order in permutations(FIGURE):
        late = grown(*SINGLETONS, *order, A_AND_C)
        early = grown(A_AND_C, *SINGLETONS, *order)
        assert ancestors(late) == ancestors(early) == expected
        assert set(late.roots) == {formula("a"), formula("a & !c")}


@pytest.mark.parametrize(
    ("general", "special", "at_first", "later"),
    [
        ("a", "a & !b", True, True),
        ("a & !b", "a", False, False),
        ("a", "a & !c", True, False),
        ("a & !c", "a & !b & !c", True, True),
        ("a & !b", "a & !b & !c", True, False),
        ("a & !b", "a & !c", False, False),
    ],
)
def test_subsumption_depends_on_the_labels_seen(general: str, special: str, at_first: bool, later: bool) -> None:
    tree = grown(*SINGLETONS)
    assert tree.subsumes(formula(general), formula(special)) == at_first
    tree.observe(A_AND_C)
    assert tree.subsumes(formula(general), formula(special)) == later


def test_propositions_never_seen_together_share_as_the_text_says() -> None:
    tree = grown(frozenset("a"), frozenset("b"), *map(formula, ("a & !b", "b & !a", "a", "b")))
    assert str(tree) == "true( a( a&!b ), b( b&!a ) )"
    assert tree.root_of(formula("b & !a")) == formula("b")


# Corners ----------------------------------------------------------------------------------------------------------


def test_an_empty_tree_is_its_root() -> None:
    assert str(FormulaTree()) == "true"
    assert FormulaTree().roots == ()


def test_a_formula_that_is_there_or_a_label_that_was_seen_changes_nothing() -> None:
    tree = grown(*SINGLETONS, *FIGURE)
    before = str(tree), tree.labels
    grown(*FIGURE, *SINGLETONS, tree=tree)
    assert (str(tree), tree.labels) == before


def test_true_has_a_q_function_of_its_own_once_a_label_tells_it_apart() -> None:
    tree = grown(frozenset("a"), EMPTY, formula("a"), TRUE, formula("b"))
    assert str(tree) == "true( a, true, b )"


def test_true_shares_with_what_holds_of_every_label_seen() -> None:
    tree = grown(frozenset("a"), formula("a"), TRUE)
    assert str(tree) == "true( true( a ) )"
    tree.observe(EMPTY)
    assert str(tree) == "true( true, a )"


def test_a_formula_that_is_not_there_has_no_root() -> None:
    with pytest.raises(KeyError):
        FormulaTree().root_of(formula("a"))


def test_odd_names_are_quoted() -> None:
    assert str(grown(Conjunction(frozenset({"a b"}), frozenset({"true"})))) == 'true( "a b"&!"true" )'


# Laws -------------------------------------------------------------------------------------------------------------


@given(events=events)
def test_roots_never_subsume_each_other(events: list[Conjunction | Label]) -> None:
    tree = grown(*events)
    assert not any(tree.subsumes(a, b) for a in tree.roots for b in tree.roots if a != b)


@given(events=events)
def test_every_formula_agrees_with_its_root_on_every_label_seen(events: list[Conjunction | Label]) -> None:
    tree = grown(*events)
    assert set(tree) == {event for event in events if isinstance(event, Conjunction)}
    assert tree.labels == {event for event in events if not isinstance(event, Conjunction)}
    for f in tree:
        assert tree.root_of(f) in tree.roots
        assert tree.subsumes(tree.root_of(f), f)


@given(events=events)
def test_the_roots_are_the_formulas_that_no_other_subsumes(events: list[Conjunction | Label]) -> None:
    tree = grown(*events)
    assert set(tree.roots) == {f for f in tree if not any(tree.subsumes(g, f) for g in tree if g != f)}


@given(events=events, data=st.data())
def test_the_set_of_roots_does_not_depend_on_the_order(events: list[Conjunction | Label], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(events))
    assert set(grown(*events).roots) == set(grown(*shuffled).roots)


@given(events=events)
def test_with_every_label_seen_only_equal_formulas_share(events: list[Conjunction | Label]) -> None:
    tree = grown(*events, *ALL_LABELS)
    assert set(tree.roots) == set(tree)


# Networks ---------------------------------------------------------------------------------------------------------


def test_a_root_that_gives_way_passes_its_network_to_the_new_root() -> None:
    tree = grown(*SINGLETONS, formula("a & !b"))
    before = tree.roots
    tree.add(formula("a"))
    assert inherited(before, tree) == {formula("a"): formula("a & !b")}


def test_of_several_that_give_way_the_first_passes_its_network() -> None:
    tree = grown(*SINGLETONS, formula("a & !c"), formula("a & !b"))
    before = tree.roots
    tree.add(formula("a"))
    assert inherited(before, tree) == {formula("a"): formula("a & !c")}


def test_a_formula_split_off_by_a_label_starts_afresh() -> None:
    tree = grown(*SINGLETONS, *FIGURE)
    before = tree.roots
    tree.observe(A_AND_C)
    assert tree.roots == (formula("a"), formula("a & !c"))
    assert inherited(before, tree) == {}


def test_a_new_formula_that_a_root_subsumes_shares_it() -> None:
    tree = grown(*SINGLETONS, formula("a"))
    before = tree.roots
    tree.add(formula("a & !b"))
    assert tree.roots == before
    assert inherited(before, tree) == {}


@given(events=events, later=events)
def test_only_new_roots_inherit_and_only_from_former_ones_that_share_them(
    events: list[Conjunction | Label], later: list[Conjunction | Label]
) -> None:
    tree = grown(*events)
    before = tree.roots
    grown(*later, tree=tree)
    for heir, former in inherited(before, tree).items():
        assert heir in tree.roots
        assert heir not in before
        assert former in before
        assert tree.root_of(former) == heir
