"""Texts that are no automaton of ours: each is refused by a message that says where and what to write."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewardmachines.core.errors import (
    NoAcceptingStateError,
    NondeterminismError,
    RewardMachineError,
    SyntaxProblem,
    TooLargeError,
)
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.exchange import from_hoa, to_hoa
from strategies import hierarchies

HEADER = """HOA: v1
States: 3
Start: 0
AP: 2 "a" "b"
Acceptance: 2 Inf(0) & Fin(1)
"""
BODY = """--BODY--
State: 0
[0] 1
State: 1 {0}
[t] 1
State: 2 "trap" {1}
--END--
"""
VALID = HEADER + BODY

TOKENS = [
    "HOA: v1", "States: 2", "Start: 0", 'AP: 1 "a"', "Alias: @x", "Acceptance: 2 Inf(0) & Fin(1)", "--BODY--", "State:",
    "--END--", "--ABORT--", "0", "1", "2", "@x", "t", "f", "!", "&", "|", "(", ")", "[", "]", "{", "}", "{0}", "{1}",
    '"a"', '"', "/*", "*/", "name:", "Foo:", "bar", "\n", "99999999999",
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("HOA: v1", "States: 3", "line 1: the text must begin with 'HOA: v1'"),
        ("HOA: v1", "HOA: v2", "line 1: version 'v2' is not read: write 'HOA: v1'"),
        ("Start: 0", "", "line 6: no initial state is named: write 'Start: 0'"),
        ("Start: 0", "Start: 0\nStart: 1", "line 4: a machine has one initial state: keep one 'Start:' header"),
        ("Start: 0", "Start: 0&1", "line 3: a machine is in one state at a time: write one state"),
        ("Start: 0", "Start: 7", "line 3: the initial state is state 7, but 'States: 3' ends at 2"),
        ("States: 3", "States: 3 States: 3", "line 2: the header 'States:' is written twice: keep one"),
        ("States: 3", "States: three", "line 2: expected the number of states, but found 'three'"),
        ("States: 3", "States: 99999999999", "line 2: the number 999999999... is too large"),
        ("AP: 2", "AP: 3", "line 4: 3 propositions are announced, but 2 are listed"),
        ('"a" "b"', '"a" "a"', "line 4: a proposition is listed twice"),
        ('"trap"', '"trap', "line 11: this quoted string is not closed"),
        ("Acceptance:", "acceptance:", "line 6: acceptance is missing: write 'Acceptance: 2 Inf(0) & Fin(1)'"),
        ("2 Inf(0) & Fin(1)", "1 Fin(0)", "line 5: a machine has no such acceptance: put accepting states in set 0"),
        ("2 Inf(0) & Fin(1)", "", "line 5: a machine has no such acceptance"),
        ("--BODY--", "Weights: 1 2\n--BODY--", "line 6: the header 'Weights:' would change the meaning"),
        ("--BODY--", "0 --BODY--", "line 5: a machine has no such acceptance"),
        ("--BODY--", "Alias: x 0 --BODY--", "line 6: expected the name of an alias, such as '@a', but found 'x'"),
        ("--BODY--", "Alias: @x 0\nAlias: @x 1 --BODY--", "line 7: the alias @x is defined twice"),
        ("--BODY--", "Alias: @x @y --BODY--", "line 6: this alias is not defined before: write 'Alias: @y ...'"),
        ("--BODY--", "Alias: @x 0 0 --BODY--", "line 6: expected '&', '|' or the next header, but found '0'"),
        ("--BODY--", "Alias: @x 5 --BODY--", "line 6: there is no proposition 5: AP: declares 2"),
        ("--BODY--", "--ABORT--", "line 6: expected a header such as 'Start:', or '--BODY--', but found '--ABORT--'"),
        ("[0] 1", "[2] 1", "line 8: there is no proposition 2: AP: declares 2, counted from 0"),
        ("[0] 1", "[0 1] 1", "line 8: expected '&', '|' or ']', but found '1'"),
        ("[0] 1", "[(0] 1", "line 8: expected ')', but found ']'"),
        ("[0] 1", "[] 1", "line 8: expected the number of a proposition, an alias"),
        ("[0] 1", "[0 # 1] 1", "line 8: '#' means nothing here"),
        ("[0] 1", "[0] x", "line 8: expected the number of a state, but found 'x'"),
        ("[0] 1", "[0] 3", "line 8: the edge leads to state 3, but 'States: 3' ends at 2"),
        ("[0] 1", "[0] 1&2", "line 8: a machine is in one state at a time"),
        ("[0] 1", "0 1 0 1", "line 8: implicit labels are not read: write the label, as in '[0 & !1] 0'"),
        (
            "[0] 1",
            "[0] 1 {0}",
            "line 8: acceptance is read from states, not from edges: write the set behind the state",
        ),
        ("State: 0", "State: [0] 0", "line 8: the state has a label, so its edges cannot have any"),
        ("State: 2", "State: 1", "line 11: state 1 is declared twice"),
        ("State: 2", "State: 3", "line 11: this is state 3, but 'States: 3' ends at 2"),
        ("State: 2", "Start: 2", "line 11: expected 'State:' or '--END--', but found 'Start:'"),
        ("[t] 1", "[t] 0", "line 10: state 1 is accepting, so nothing may leave it: write '[t] 1'"),
        ("--END--", "[0] 0 --END--", "line 12: state 2 is rejecting, so nothing may leave it"),
        ("{1}", "{0 1}", "line 11: state 2 is both accepting"),
        ("{1}", "{2}", "line 11: there is no acceptance set 2"),
        ("{1}", "{", "line 12: expected the number of an acceptance set, or '}', but found '--END--'"),
        ("State: 0", 'State: 0 "trap"', 'line 11: a state before it is called "trap" too'),
        ("--END--", "", "line 13: expected 'State:' or '--END--', but the text ends"),
        ("--END--", f"--END-- {VALID}", "line 12: only one automaton is read"),
        ("--END--", "/* --END--", "line 12: a comment is not closed: write '*/'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    assert VALID.count(old) >= 1
    with pytest.raises(SyntaxProblem) as error:
        from_hoa(VALID.replace(old, new, 1))
    assert str(error.value).startswith("HOA, " + message)


def test_the_text_from_which_the_wrong_ones_are_made_is_right() -> None:
    assert from_hoa(VALID)["machine"].states == ("u0", "u1", "trap")


def test_two_edges_on_one_label_are_refused_even_if_one_is_a_self_loop() -> None:
    with pytest.raises(NondeterminismError, match=r"HOA, line 7: state 'u0': the label \{a, b\} satisfies both"):
        from_hoa(VALID.replace("[0] 1", "[0] 1 [1] 2"))
    with pytest.raises(NondeterminismError, match=r"HOA, line 7: state 'u0': the label \{a\}"):
        from_hoa(VALID.replace("[0] 1", "[0] 1 [t] 0"))


def test_an_automaton_that_accepts_nothing_is_refused() -> None:
    with pytest.raises(NoAcceptingStateError):
        from_hoa(VALID.replace("{0}", ""))


PROPOSITIONS = " ".join(f'"p{i}"' for i in range(40))
WIDE = HEADER.replace('AP: 2 "a" "b"', f"AP: 40 {PROPOSITIONS}")
PRODUCT = " & ".join(f"({2 * i} | {2 * i + 1})" for i in range(20))
SMALL_PRODUCT = " & ".join(PRODUCT.split(" & ")[:10])


@pytest.mark.parametrize(
    "text",
    [
        VALID.replace("[0]", "[" + "(" * 100_000 + "0" + ")" * 100_000 + "]"),
        VALID.replace("[0]", "[" + "!(" * 100_000 + "0" + ")" * 100_000 + "]"),
        "/*" * 900_000,
        VALID.replace("States: 3", "States: 999999999"),
        VALID.replace("States: 3", "").replace("[0] 1", "[0] 999999999"),
        VALID.replace("AP: 2", "AP: 999999999"),
        VALID.replace("AP: 2", "AP: " + "9" * 5_000),
        VALID + " " * 2_000_000,
        WIDE + BODY.replace("[0]", f"[{PRODUCT}]"),
        WIDE + BODY.replace("[0]", f"[!({PRODUCT.replace('&', '^').replace('|', '&').replace('^', '|')})]"),
        WIDE + f"Alias: @a {PRODUCT}\n" + BODY.replace("[0]", "[@a]"),
        WIDE + f"Alias: @a {SMALL_PRODUCT}\n" + BODY.replace("[0]", "[" + "@a & !@a | " * 100_000 + "f]"),
    ],
    ids=["deep", "deep-negations", "comments", "states", "largest-state", "announced", "digits", "long", "product",
         "negated-product", "alias", "alias-again-and-again"],
)  # fmt: skip
def test_hostile_texts_are_refused_soon(text: str) -> None:
    begin = time.perf_counter()
    with pytest.raises((SyntaxProblem, TooLargeError)):
        from_hoa(text)
    assert time.perf_counter() - begin < 10


def test_long_negations_and_chains_of_aliases_are_read() -> None:
    aliases = "Alias: @0 0\n" + "".join(f"Alias: @{i + 1} !@{i} & (@{i} | t)\n" for i in range(2_000))
    assert from_hoa(HEADER + aliases + BODY.replace("[0]", "[@2000 & " + "!" * 10_000 + "0]")) == from_hoa(VALID)


def test_an_alias_whose_negation_would_be_too_large_serves_where_it_is_not_negated() -> None:
    pairs = " | ".join(f"({2 * i} & {2 * i + 1})" for i in range(20))
    text = f"{WIDE}Alias: @pairs {pairs}\n{BODY}"
    assert len(from_hoa(text.replace("[0]", "[@pairs]"))["machine"].edges[0].formula.disjuncts) == 20
    with pytest.raises(TooLargeError, match="line 9: the alias @pairs stands for too large a formula"):
        from_hoa(text.replace("[0]", "[!@pairs]"))


def reads_or_refuses(text: str) -> None:
    with contextlib.suppress(RewardMachineError):
        from_hoa(text)


@given(text=st.text() | st.lists(st.sampled_from(TOKENS)).map(" ".join))
@example(text="")
def test_any_text_is_read_or_refused(text: str) -> None:
    reads_or_refuses(text)
    reads_or_refuses("HOA: v1 " + text)


@given(body=st.lists(st.sampled_from(TOKENS), max_size=30).map(" ".join))
def test_any_body_is_read_or_refused(body: str) -> None:
    reads_or_refuses(f"{HEADER}--BODY-- State: 0 {body} --END--")


@settings(deadline=None)
@given(tree=hierarchies(max_height=2), data=st.data())
def test_damaged_automata_are_read_or_refused(tree: Hierarchy, data: st.DataObject) -> None:
    text = to_hoa(flatten(tree))
    for _ in range(data.draw(st.integers(1, 4))):
        start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        patch = data.draw(st.sampled_from([*TOKENS, text[start:end] * 2, ""]) | st.text(max_size=5))
        text = text[:start] + patch + text[data.draw(st.sampled_from([start, end])) :]
    reads_or_refuses(text)
