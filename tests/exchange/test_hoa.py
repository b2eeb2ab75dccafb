"""Flat hierarchies written as automata, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import NondeterminismError, NotFlatError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label, conjunction
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.exchange import from_hoa, to_hoa
from rewardmachines.exchange.hoa_document import Document, read_document
from strategies import ALL_LABELS, hierarchies, words

BOOK = hierarchy(
    machine(
        "book",
        [
            ("u0", "u1", "!rabbit", "paper"),
            ("u0", "u2", "true", "leather"),
            ("u1", "u3", "true", "leather"),
            ("u2", "u3", "true", "paper"),
            ("u3", "uA", "table"),
        ],
    ),
    machine("paper", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")]),
    machine("leather", [("u0", "u1", "rabbit"), ("u1", "uA", "workbench")]),
)


def without_self_loops(whole: Hierarchy) -> Hierarchy:
    root = whole[whole.root]
    edges = tuple(edge for edge in root.edges if edge.source != edge.target)
    kept = RewardMachine(root.name, root.states, edges, root.initial, root.accepting, root.rejecting)
    return Hierarchy(root.name, (kept,), whole.propositions)


def verdict_of_document(document: Document, word: list[Label]) -> Verdict:
    """Runs the automaton as it is written: exactly one edge must fire on each label."""
    state = document.start
    for label in word:
        (state,) = (edge.target for edge in document.states[state].edges if edge.formula.holds(label))
    sets = document.states[state].sets
    return Verdict.ACCEPT if 0 in sets else Verdict.REJECT if 1 in sets else Verdict.NEITHER


def test_flat_book_is_written_as_in_the_golden_file() -> None:
    assert to_hoa(flatten(BOOK)) == (Path(__file__).parent / "book.hoa").read_text(encoding="utf-8")


def test_a_hierarchy_with_calls_must_be_flattened_first() -> None:
    with pytest.raises(NotFlatError, match="calls 'leather'; flatten the hierarchy first"):
        to_hoa(BOOK)


def test_a_state_that_two_edges_can_leave_on_one_label_is_not_written() -> None:
    with pytest.raises(NondeterminismError, match=r"state 'u0': the label \{a, b\} satisfies both"):
        to_hoa(hierarchy(machine("m", [("u0", "u1", "a"), ("u0", "uA", "b")])))
    with pytest.raises(NondeterminismError):
        to_hoa(hierarchy(machine("m", [("u0", "u0", "a"), ("u0", "uA", "b")])))


@settings(deadline=None, max_examples=60)
@given(tree=hierarchies(max_height=3), word=words)
def test_the_automaton_is_deterministic_and_complete_and_gives_the_same_verdict(
    tree: Hierarchy, word: list[Label]
) -> None:
    document = read_document(to_hoa(flatten(tree)))
    assert list(document.states) == list(range(document.size))
    for state in document.states.values():
        for label in ALL_LABELS:
            assert sum(edge.formula.holds(label) for edge in state.edges) == 1
    assert verdict_of_document(document, word) is verdict(tree, word)


@settings(deadline=None, max_examples=60)
@given(tree=hierarchies(max_height=3))
def test_reading_back_gives_an_equal_machine_without_self_loops(tree: Hierarchy) -> None:
    flat = without_self_loops(flatten(tree))
    assert from_hoa(to_hoa(flat)) == flat


@settings(deadline=None, max_examples=60)
@given(tree=hierarchies(max_height=3))
def test_reading_back_gives_an_equivalent_machine(tree: Hierarchy) -> None:
    back = from_hoa(to_hoa(flatten(tree)))
    assert equivalent(back, tree)
    assert back == without_self_loops(flatten(tree))


odd_names = st.text(max_size=6) | st.sampled_from(['"', "\\", '\\"', "*/", "/*", "\n", "u1"])


@given(
    names=st.lists(odd_names, unique=True, min_size=3),
    propositions=st.lists(st.text(max_size=6), unique=True, min_size=1, max_size=4),
    name=st.text(min_size=1, max_size=6).filter(lambda name: name != "⊤"),
)
def test_names_come_back_exactly(names: list[str], propositions: list[str], name: str) -> None:
    edge = Edge(names[0], names[1], conjunction({propositions[-1]}))
    accepting, rejecting = frozenset(names[1:2]), frozenset(names[2:3])
    odd = Hierarchy(
        name, (RewardMachine(name, tuple(names), (edge,), names[0], accepting, rejecting),), tuple(propositions)
    )
    assert from_hoa(to_hoa(odd)) == odd


def test_a_given_name_takes_the_place_of_the_one_in_the_text() -> None:
    text = to_hoa(flatten(BOOK))
    assert from_hoa(text).root == "book"
    assert from_hoa(text, name="mine").root == "mine"
    assert from_hoa(text.replace('name: "book"\n', "")).root == "machine"


def test_disjuncts_are_kept_as_they_are_written() -> None:
    redundant = hierarchy(machine("m", [("u0", "uA", "a | (a & b) | true")]))
    assert "[t | 0 | 0&1] 1" in to_hoa(redundant)
    assert from_hoa(to_hoa(redundant)) == redundant


def test_without_propositions_an_automaton_is_still_one() -> None:
    empty = hierarchy(machine("m", [("u0", "uA", "true")]))
    assert from_hoa(to_hoa(empty)) == empty


def test_aliases_state_labels_comments_and_unnamed_states_are_read() -> None:
    text = r"""
    /* Written by hand. /* Comments nest. */ Headers come in any order. */
    HOA: v1  tool: "by hand" "1.0"  properties: deterministic  properties: state-acc
    Alias: @coffee 0
    Alias: @wet 1 | 2
    Alias: @safe !@wet & (t | f)
    AP: 3 "coffee" "\"rain\"" "snow \\ ice"
    acc-name: whatever 2  Acceptance: 2 (Fin(1) & Inf(0))
    Start: 1
    name: "get \"coffee\""
    --BODY--
    State: 1 "start"  [@coffee & @safe] 0  [@wet] 3  [!(@coffee | @wet)] 1
    State: [t] 0 "u2" {0}  0
    State: [!!0] 2  /* only on coffee */ 0
    State: 3 {1}
    --END--
    """
    root = from_hoa(text)['get "coffee"']
    assert root.states == ("u2", "start", "u2'", "u3")
    assert root.initial == "start"
    assert (root.accepting, root.rejecting) == (frozenset({"u2"}), frozenset({"u3"}))
    assert {str(edge) for edge in root.edges} == {
        'start --[coffee & !"\\"rain\\"" & !"snow \\\\ ice"]--> u2',
        'start --["\\"rain\\"" | "snow \\\\ ice"]--> u3',
        "u2' --[coffee]--> u2",
    }


def test_a_buchi_automaton_without_rejecting_states_is_read() -> None:
    text = 'HOA: v1 Start: 0 AP: 1 "a" Acceptance: 1 Inf(0) --BODY-- State: 0 [0] 1 State: 1 {0} [t] 1 --END--'
    assert equivalent(from_hoa(text), hierarchy(machine("m", [("u0", "uA", "a")])))


def test_edges_that_never_fire_and_several_to_one_state_are_joined() -> None:
    text = """HOA: v1 States: 2 Start: 0 AP: 2 "a" "b" Acceptance: 2 Inf(0) & Fin(1)
    --BODY-- State: 0 [f] 0 [0 & !0] 1 [0] 1 [!0 & 1] 1 State: 1 {0} [f] 0 --END--"""
    assert [str(edge) for edge in from_hoa(text)["machine"].edges] == ["u0 --[a | (b & !a)]--> u1"]


def test_an_edge_order_that_no_longer_fits_is_ignored() -> None:
    text = to_hoa(flatten(BOOK)).replace("edge-order: 0 2 4", "edge-order: 7 7 4")
    assert equivalent(from_hoa(text), BOOK)
