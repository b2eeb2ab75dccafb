"""DOT, Mermaid and the symbols in them: structure and escapes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.drawing import to_dot, to_mermaid
from rewardmachines.drawing.layout.measures import text_width
from rewardmachines.drawing.symbols import cut, edge_label, fold, pretty, printable, wrap
from strategies import hierarchies

STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
names = st.text(min_size=1, max_size=12).filter(lambda name: name != "⊤")


def named(name: str, state: str) -> Hierarchy:
    """`name` also as a callee, `state` among the states of both machines."""
    inner = RewardMachine(name, (f"0{state}", state), (), f"0{state}", frozenset({state}))
    edge = Edge(f"0{state}", state, parse_formula("a & !b"), name)
    root = RewardMachine("0" + name, (f"0{state}", state), (edge,), f"0{state}", frozenset({state}))
    return hierarchy(root, inner)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("true", "⊤"),
        ("a & !b", "a ∧ ¬b"),
        ("(a & !b) | c", "c ∨ (a ∧ ¬b)"),
        ('"red ball" & !lava', '"red ball" ∧ ¬lava'),
    ],
)
def test_formulas_are_shown_as_in_the_paper(written: str, shown: str) -> None:
    assert pretty(parse_formula(written)) == shown
    assert edge_label(Edge("u", "v", parse_formula(written))) == shown
    assert edge_label(Edge("u", "v", parse_formula(written), "paper")) == f"paper | {shown}"


@given(text=st.text())
def test_printable_text_is_one_line_that_xml_can_hold(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


@given(text=st.text(alphabet="ab ∨"), length=st.integers(1, 30))
def test_wrapping_and_cutting_lose_nothing(text: str, length: int) -> None:
    assert " ".join(wrap(text, length)) == text
    assert "".join(cut(text, length)) == text
    assert max(map(len, fold(text, length))) <= length
    assert "".join(fold(text, length)).replace(" ", "") == text.replace(" ", "")


def test_lines_break_before_disjuncts() -> None:
    assert wrap("(a ∧ b) ∨ (c ∧ d) ∨ e", 12) == ("(a ∧ b)", "∨ (c ∧ d)", "∨ e")
    assert wrap("a ∨ (b ∧ c ∧ d ∧ e) ∨ f", 12) == ("a", "∨ (b ∧ c ∧ d", "∧ e) ∨ f")
    assert cut("u0>u1/paper/u0>u2", 12) == ("u0>u1/paper/", "u0>u2")


def test_bold_text_is_wider_and_wide_characters_are_wide() -> None:
    assert text_width("paper", 12) < text_width("paper", 12, bold=True)
    assert text_width("漢", 10) > text_width("a", 10)
    assert text_width("e\u0301", 10) == text_width("e", 10)


@given(subject=hierarchies(deterministic=False))
@settings(max_examples=40, deadline=None)
def test_dot_has_a_cluster_for_each_machine_and_an_arrow_for_each_edge(subject: Hierarchy) -> None:
    machines = subject.reachable()
    dot = to_dot(subject)
    outside = STRING.sub("", dot)
    assert outside.count("{") == outside.count("}") == 1 + len(machines)
    assert outside.count("->") == sum(1 + len(one.edges) for one in machines)
    assert outside.count("doublecircle") == sum(len(one.accepting) for one in machines)
    assert outside.count("octagon") == sum(len(one.rejecting) for one in machines)
    titles = re.findall(r'^    label="(\w+)"', dot, flags=re.MULTILINE)
    assert titles == [one.name for one in machines]


@given(name=names, state=names)
@settings(max_examples=60, deadline=None)
def test_no_name_escapes_from_its_quotes(name: str, state: str) -> None:
    subject, plain = named(name, state), named("m" * len(name), "s" * len(state))
    assert STRING.sub("", to_dot(subject)) == STRING.sub("", to_dot(plain))
    quoted = re.compile(r'"[^"]*"')  # Mermaid's strings have no escapes
    assert quoted.sub("", to_mermaid(subject)) == quoted.sub("", to_mermaid(plain))


def test_dot_escapes_what_dot_would_interpret() -> None:
    dot = to_dot(hierarchy(machine('a"b\\n&lt;', [("u0", "uA", "x")])))
    assert r'label="a\"b\\n&amp;lt;"' in dot


def test_dot_labels_calls_as_in_the_paper_and_breaks_long_ones() -> None:
    long = " | ".join(f"proposition{i}" for i in range(5))
    callee = machine("paper", [("u0", "uA", long)])
    dot = to_dot(hierarchy(machine("book", [("u0", "uA", "!rabbit", "paper")]), callee))
    assert 'label="paper | ¬rabbit"' in dot
    assert r"proposition1\n∨ proposition2" in dot


def test_mermaid_has_a_subgraph_for_each_machine_and_thick_arrows_for_calls() -> None:
    callee = machine("paper", [("u0", "uA", "sugarcane"), ("u0", "uR", "lava")])
    mermaid = to_mermaid(hierarchy(machine("book", [("u0", "uA", "!rabbit", "paper")]), callee))
    lines = [line.strip() for line in mermaid.splitlines()]
    assert lines[:2] == ["flowchart LR", 'subgraph m0["book"]']
    assert 'm0_s0 ==>|"paper | ¬rabbit"| m0_s1' in lines
    assert 'm1_s0 -->|"sugarcane"| m1_s1' in lines
    assert 'm1_s1((("uA"))):::accepting' in lines
    assert 'm1_s2{{"uR"}}:::rejecting' in lines


def test_mermaid_codes_what_mermaid_or_markdown_would_interpret() -> None:
    mermaid = to_mermaid(hierarchy(machine('"#<`1. _x_ u_acc', [("u0", "uA", "x")])))
    assert '"#34;#35;#60;#96;1#46; #95;x#95; u_acc"' in mermaid
