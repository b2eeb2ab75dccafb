"""The paper's encoding of the Book hierarchy, and names that a program could trip over."""

from __future__ import annotations

import clingo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.answers import answer_set, golden, statements, verdict_by_clingo
from rewardmachines.core.formula import TRUE, conjunction
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.exchange import to_asp
from rewardmachines.exchange.asp import general_rules, trace_facts
from rewardmachines.exchange.asp_names import proposition

BOOK = hierarchy(
    machine(
        "m0",
        [
            ("u0", "u1", "!rabbit", "m1"),
            ("u0", "u2", "true", "m2"),
            ("u1", "u3", "true", "m2"),
            ("u2", "u3", "true", "m1"),
            ("u3", "uA", "table"),
        ],
    ),
    machine("m1", [("u0", "u1", "sugarcane"), ("u1", "uA", "workbench")]),
    machine("m2", [("u0", "u1", "rabbit"), ("u1", "uA", "workbench")]),
)
BOOK_TRACE = [{"sugarcane"}, {"workbench"}, set[str](), {"rabbit"}, {"workbench"}, {"table"}]

odd_names = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["not", "Iron ore", "iron", "Iron", "_x", "1", "a'b", 'say "hi"', "\\", "\\n", "\n", "\\u{a}", "a\n:- not x.", "%*",
     "\x00", "\ud800", "u0", "ua", "ur", "mr", "mtop", "é", "#show", "T", "x_2", "X 2", "x 2"]
)  # fmt: skip


def with_paper_constants(lines: set[str]) -> set[str]:
    """The paper calls the root of Book m0 in its example and mr in its rules."""
    return {line.replace(",mr", ",m0").replace("(mr", "(m0") for line in lines}


def test_the_facts_of_a_trace_are_the_papers() -> None:
    assert statements(trace_facts([{"iron"}, set(), {"table"}])) == golden("paper_trace.lp")


def test_the_general_rules_are_the_papers() -> None:
    rules = {line for line in statements(general_rules()) if not line.startswith("#")}
    assert rules == golden("paper_rules.lp")


def test_book_is_the_papers_26_facts_and_rules_and_their_literals() -> None:
    of_book = with_paper_constants(statements(to_asp(BOOK)) - statements(general_rules()))
    literals = {line for line in of_book if line.startswith(("pos", "neg"))}
    assert of_book - literals == golden("paper_book.lp")
    assert len(of_book - literals) == 26
    assert literals == golden("paper_book_literals.lp")


def test_the_answer_set_of_book_is_the_papers() -> None:
    derived = ("pre_sat", "delta", "reachable", "satisfied", "failed", "accept", "reject")
    model = with_paper_constants(answer_set(to_asp(BOOK, BOOK_TRACE)))
    assert {atom for atom in model if atom.startswith(derived)} == golden("paper_book_answer_set.lp")


def test_clingo_shows_the_verdict_and_nothing_else() -> None:
    control = clingo.Control()
    control.add("base", [], to_asp(BOOK, BOOK_TRACE))
    control.ground([("base", [])])
    shown: list[str] = []
    control.solve(on_model=lambda model: shown.extend(map(str, model.symbols(shown=True))))
    assert shown == ["accept"]


def test_a_trace_can_be_appended_to_a_program_without_one() -> None:
    assert answer_set(to_asp(BOOK) + trace_facts(BOOK_TRACE)) == answer_set(to_asp(BOOK, BOOK_TRACE))


def test_a_program_without_a_trace_and_with_an_empty_one_say_nothing() -> None:
    assert answer_set(to_asp(BOOK)).isdisjoint({"accept.", "reject."})
    assert verdict_by_clingo(BOOK, []) is Verdict.NEITHER
    assert statements(trace_facts([])) == set()


def test_machines_that_the_root_does_not_call_are_left_out() -> None:
    stray = machine("stray", [("u0", "uA", "lava")])
    assert statements(to_asp(Hierarchy("m0", (*BOOK.machines, stray)))) == statements(to_asp(BOOK))


def test_an_edge_under_true_has_no_rule_that_could_break_it() -> None:
    at_once = hierarchy(machine("m", [("u0", "uA", "true")]))
    assert "nphi(" not in to_asp(at_once).partition("% rules.lp")[0]
    assert verdict_by_clingo(at_once, [set()]) is Verdict.ACCEPT


def test_edges_into_several_accepting_states_are_numbered_apart() -> None:
    several = hierarchy(machine("m", [("u0", "A", "a & !b"), ("u0", "B", "b | c & !a")], accepting=("A", "B")))
    calls = {line for line in statements(to_asp(several)) if line.startswith("call(")}
    assert calls == {f"call(u0,ua,{number},mr,mtop)." for number in (1, 2, 3)}
    assert verdict_by_clingo(several, [{"c"}]) is Verdict.ACCEPT


@pytest.mark.parametrize(("kind", "expected"), [("accepting", Verdict.ACCEPT), ("rejecting", Verdict.REJECT)])
def test_a_root_that_starts_in_a_terminal_state_says_so_of_every_trace_but_the_empty_one(
    kind: str, expected: Verdict
) -> None:
    accepting = {"u0"} if kind == "accepting" else {"uA"}
    rejecting = {"u0"} - accepting
    finished = Hierarchy("m", (RewardMachine("m", ("u0", "uA"), (), "u0", frozenset(accepting), frozenset(rejecting)),))
    assert verdict_by_clingo(finished, [set()]) is verdict(finished, [set()]) is expected
    assert verdict_by_clingo(finished, [set(), {"a"}]) is expected
    assert verdict_by_clingo(finished, []) is Verdict.NEITHER


@given(names=st.lists(odd_names, unique=True, max_size=8))
def test_no_two_propositions_are_spelled_alike(names: list[str]) -> None:
    assert len({proposition(name) for name in names}) == len(names)


@settings(deadline=None, max_examples=60)
@given(
    propositions=st.lists(odd_names, min_size=2, max_size=2, unique=True),
    states=st.lists(odd_names, min_size=4, max_size=4, unique=True),
    machines=st.lists(odd_names, min_size=3, max_size=3, unique=True).filter(lambda names: "⊤" not in names),
)
def test_no_name_can_break_the_program_or_be_taken_for_another(
    propositions: list[str], states: list[str], machines: list[str]
) -> None:
    first, second = propositions
    start, middle, other, end = states
    root, left, right = machines

    def leaf_machine(name: str, p: str, q: str) -> RewardMachine:
        edges = (
            Edge(start, middle, conjunction({p}, {q})),
            Edge(middle, other, TRUE),
            Edge(other, end, conjunction({q})),
        )
        return RewardMachine(name, tuple(states), edges, start, frozenset({end}))

    calls = (Edge(start, middle, TRUE, left), Edge(middle, end, TRUE, right))
    odd = Hierarchy(
        root,
        (
            RewardMachine(root, tuple(states), calls, start, frozenset({end})),
            leaf_machine(left, first, second),
            leaf_machine(right, second, first),
        ),
    )
    word: list[set[str]] = [{first}, set(), {second}, {second}, {first, second}, {first}]
    for length in range(1, len(word) + 1):
        assert verdict_by_clingo(odd, word[:length]) is verdict(odd, word[:length])
    assert verdict_by_clingo(odd, word) is Verdict.ACCEPT
