"""Automata of finite traces, as other tools write them, become machines with the verdicts of their own runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.drawing import to_dot
from rewardmachines.exchange import from_dot, from_hoa
from strategies import hierarchies

LABELS: Final = tuple(
    frozenset(p for p, on in zip("ab", bits, strict=True) if on) for bits in product((0, 1), repeat=2)
)


@dataclass(frozen=True)
class Automaton:
    """A target and a mark for each state and label; no target rejects."""

    moves: tuple[dict[Label, tuple[int, bool]], ...]

    def after(self, trace: tuple[Label, ...]) -> tuple[int, bool] | None:
        node: tuple[int, bool] | None = (0, False)
        for label in trace:
            node = None if node is None else self.moves[node[0]].get(label)
        return node

    def continuations(self, node: tuple[int, bool]) -> list[bool]:
        """Whether traces from a node on are accepted: the empty one and all that matter."""
        seen, waiting, found = {node}, [node], [node[1]]
        while waiting:
            state, _ = waiting.pop()
            for label in LABELS:
                to = self.moves[state].get(label)
                found.append(to is not None and to[1])
                if to is not None and to not in seen:
                    seen.add(to)
                    waiting.append(to)
        return found

    def expected(self, trace: tuple[Label, ...], accept: str) -> Verdict:
        """The verdict by the definition: the first prefix that is accepted or hopeless counts."""
        for length in range(len(trace) + 1):
            node = self.after(trace[:length])
            if node is not None and node[1] and (accept == "first" or all(self.continuations(node))):
                return Verdict.ACCEPT
            if node is None or not self._can_be_accepted(node, accept):
                return Verdict.REJECT
        return Verdict.NEITHER

    def _can_be_accepted(self, node: tuple[int, bool], accept: str) -> bool:
        if accept == "first":
            return any(self.continuations(node))
        return any(all(self.continuations(to)) and to[1] for to in self._nodes(node))

    def _nodes(self, node: tuple[int, bool]) -> set[tuple[int, bool]]:
        found, waiting = {node}, [node]
        while waiting:
            for to in self.moves[waiting.pop()[0]].values():
                if to not in found:
                    found.add(to)
                    waiting.append(to)
        return found

    def hoa(self) -> str:
        """As Spot writes it, with marks on edges."""
        lines = ['HOA: v1 name: "m"', f"States: {len(self.moves)} Start: 0", 'AP: 2 "a" "b"']
        lines += ["acc-name: Buchi Acceptance: 1 Inf(0)", "--BODY--"]
        for state, moves in enumerate(self.moves):
            lines.append(f"State: {state}")
            for label, (target, accepts) in moves.items():
                guard = "&".join(sign + str(i) for i, sign in enumerate("" if p in label else "!" for p in "ab"))
                lines.append(f"[{guard}] {target} {'{0}' if accepts else ''}")
        return "\n".join([*lines, "--END--", ""])

    def dot(self) -> str:
        """As LTLf2DFA writes it, a state for each node of state and mark."""
        nodes = sorted(self._nodes((0, False)))
        number = {node: i + 1 for i, node in enumerate(nodes)}
        lines = ["digraph MONA_DFA {", " rankdir = LR;", ' size = "7.5,10.5";', " edge [fontname = Courier];"]
        lines.append(" node [shape = doublecircle]; " + " ".join(f"{number[n]};" for n in nodes if n[1]))
        lines.append(' node [shape = circle]; 1;\n init [shape = plaintext, label = ""];')
        lines.append(f" init -> {number[0, False]};")
        for node in nodes:
            for label, to in self.moves[node[0]].items():
                guard = " & ".join(p if p in label else f"~{p}" for p in "ab")
                lines.append(f' {number[node]} -> {number[to]} [label="{guard}"];')
        return "\n".join([*lines, "}"])


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    size = draw(st.integers(1, 4))
    node = st.none() | st.tuples(st.integers(0, size - 1), st.booleans())
    rows = draw(st.lists(st.lists(node, min_size=4, max_size=4), min_size=size, max_size=size))
    return Automaton(tuple({label: to for label, to in zip(LABELS, row, strict=True) if to} for row in rows))


traces = st.lists(st.sampled_from(LABELS), max_size=8).map(tuple)


@settings(deadline=None, max_examples=40)
@given(automaton=automata(), trace=traces, accept=st.sampled_from(("first", "decided")))
def test_a_machine_gives_the_verdict_of_the_definition(
    automaton: Automaton, trace: tuple[Label, ...], accept: str
) -> None:
    try:
        read = from_hoa(automaton.hoa(), accept=accept)
    except RewardMachineError as problem:
        if "asks for nothing" in str(problem):
            assert accept == "first"
            assert automaton.expected((frozenset(),), "first") is Verdict.ACCEPT
        else:
            assert "accepts no trace" in str(problem)
            assert automaton.expected((), accept) is Verdict.REJECT
        return
    assert verdict(read, trace) is automaton.expected(trace, accept)


@settings(deadline=None, max_examples=25)
@given(automaton=automata(), trace=traces)
def test_with_an_end_the_trace_before_it_is_judged(automaton: Automaton, trace: tuple[Label, ...]) -> None:
    try:
        read = from_hoa(automaton.hoa(), end="done")
    except RewardMachineError:
        assert not any(automaton.continuations((0, False)))
        return
    node = automaton.after(trace)
    accepted = node is not None and node[1]
    assert (verdict(read, [*trace, {"done"}]) is Verdict.ACCEPT) == accepted
    assert (verdict(read, [*trace, {"a", "done"}]) is Verdict.REJECT) == (not accepted)
    assert verdict(read, trace) is not Verdict.ACCEPT


@settings(deadline=None, max_examples=15)
@given(automaton=automata(), accept=st.sampled_from(("first", "decided")))
def test_hoa_and_dot_are_read_as_the_same_machine(automaton: Automaton, accept: str) -> None:
    try:
        read = from_hoa(automaton.hoa(), accept=accept)
    except RewardMachineError:
        with pytest.raises(RewardMachineError):
            from_dot(automaton.dot(), accept=accept)
        return
    assert equivalent(read, from_dot(automaton.dot(), accept=accept))


def only_root(tree: Hierarchy) -> Hierarchy:
    """The flat hierarchy with no other machines, and the propositions that it mentions: what a picture shows."""
    return Hierarchy(tree.root, (tree[tree.root],))


@settings(deadline=None, max_examples=20)
@given(tree=hierarchies(max_height=2))
def test_a_drawing_of_ours_is_read_back(tree: Hierarchy) -> None:
    flat = only_root(flatten(tree))
    back = from_dot(to_dot(flat))
    assert back == flat or equivalent(back, flat)  # the order of states may differ
    assert set(back[back.root].states) == set(flat[flat.root].states)


NAMES: Final = ('a"b', "a\\", "x & y", "&lt;", "⊤", "n\\n", "true", "a b")


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_characters_come_back(name: str) -> None:
    edges = [("u0", name, Conjunction(frozenset({name}))), (name, "uA", Conjunction(frozenset(), frozenset({name})))]
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    odd = hierarchy(machine("m", [(a, b, str(c).replace(str(name), quoted) and str(c)) for a, b, c in edges]))
    assert from_dot(to_dot(odd)) == odd


AALPY: Final = """
digraph learnedModel {
s0 [label="s0"];
s1 [label="s1", shape=doublecircle];
s0 -> s1 [label="key"];
s0 -> s0 [label="door"];
s1 -> s1 [label="key"];
s1 -> s1 [label="door"];
__start0 [shape=none, label=""];
__start0 -> s0 [label=""];
}
"""


def test_single_names_are_letters_and_other_labels_change_nothing() -> None:
    read = from_dot(AALPY)
    assert read.propositions == ("door", "key")
    assert verdict(read, [{"door"}, set(), {"door", "key"}, {"key"}]) is Verdict.ACCEPT
    assert verdict(read, [{"door"}, set(), {"door", "key"}]) is Verdict.NEITHER


SPOT: Final = """HOA: v1
name: "a M b"
States: 2
Start: 0
AP: 2 "a" "b"
acc-name: Buchi
Acceptance: 1 Inf(0)
properties: trans-labels explicit-labels trans-acc deterministic
--BODY--
State: 0 "a M b"
[!0&1] 0
[0&1] 1 {0}
State: 1 "1"
[t] 1 {0}
--END--
"""


def test_spots_output_is_read_as_an_automaton_of_finite_traces_only_if_asked_to() -> None:
    with pytest.raises(RewardMachineError, match=r"line 12.*accept='first'"):
        from_hoa(SPOT)
    read = from_hoa(SPOT, accept="first")
    assert verdict(read, [{"b"}, {"b"}, {"a", "b"}]) is Verdict.ACCEPT
    assert verdict(read, [{"b"}, set()]) is Verdict.REJECT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected 'digraph'"),
        ("graph { a -- b }", "line 1: .*'digraph'"),
        ("digraph {\n a -> b [label=<b>]; }", "line 2: labels in HTML"),
        ('digraph {\n\n a -> "b', "line 3: this string is not closed"),
        ("digraph { a -> b [label=a];\n /* ", "line 2: a comment is not closed"),
        ("digraph { a [shape=doublecircle]; a -> a [label=x] }", "no initial state"),
        ("digraph { i [shape=point]; i -> a; a -> b [label=x] }", "no state is accepting"),
        ("digraph { i [shape=point]; i -> a;\n i -> b; b [shape=doublecircle] }", "line 2: .*one initial"),
        ('digraph { i [shape=point]; b [peripheries=2] i -> a;\na -> b [label="x &"] }', "line 2: formula, char"),
        ("digraph { i [shape=point]; b [peripheries=2] i -> a;\na -> b }", "line 2: this edge has no label"),
        ('digraph { i [shape=point]; b [peripheries=2] i -> a;\na -> b [label="X,1"] }', "line 2: .*MONA"),
        ('digraph { i [shape=point]; b [peripheries=2] i -> a;\na -> b [label="a\n⓿"] }', "line 2: .*HOA"),
        (
            'digraph { i [shape=point]; b [peripheries=2] i -> a;\na -> b [label="x & y"];\na -> a [label="x"] }',
            "line 3: two edges leave state 'a'",
        ),
        ("digraph { a -> { b } }", "one state"),
        ("digraph { " + "subgraph { " * 50, "nested"),
    ],
)
def test_problems_are_told_with_their_line(text: str, message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        from_dot(text)
