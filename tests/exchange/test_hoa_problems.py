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
    ("old", "new", "line", "word"),
    [
        ("HOA: v1", "States: 3", 1, "begin"),
        ("HOA: v1", "HOA: v2", 1, "'v2'"),
        ("Start: 0", "", 6, "initial state"),
        ("Start: 0", "Start: 0\nStart: 1", 4, "one initial state"),
        ("Start: 0", "Start: 0&1", 3, "one state at a time"),
        ("Start: 0", "Start: 7", 3, "state 7"),
        ("States: 3", "States: 3 States: 3", 2, "twice"),
        ("States: 3", "States: three", 2, "'three'"),
        ("States: 3", "States: 99999999999", 2, "too large"),
        ("AP: 2", "AP: 3", 4, "3 propositions"),
        ('"a" "b"', '"a" "a"', 4, "twice"),
        ('"trap"', '"trap', 11, "not closed"),
        ("Acceptance:", "acceptance:", 6, "missing"),
        ("2 Inf(0) & Fin(1)", "1 Fin(0)", 5, "no such acceptance"),
        ("2 Inf(0) & Fin(1)", "", 5, "no such acceptance"),
        ("--BODY--", "Weights: 1 2\n--BODY--", 6, "'Weights:'"),
        ("--BODY--", "0 --BODY--", 5, "no such acceptance"),
        ("--BODY--", "Alias: x 0 --BODY--", 6, "name of an alias"),
        ("--BODY--", "Alias: @x 0\nAlias: @x 1 --BODY--", 7, "defined twice"),
        ("--BODY--", "Alias: @x @y --BODY--", 6, "not defined"),
        ("--BODY--", "Alias: @x 0 0 --BODY--", 6, "'&', '|' or the next header"),
        ("--BODY--", "Alias: @x 5 --BODY--", 6, "no proposition 5"),
        ("--BODY--", "--ABORT--", 6, "'--ABORT--'"),
        ("[0] 1", "[2] 1", 8, "no proposition 2"),
        ("[0] 1", "[0 1] 1", 8, "'&', '|' or ']'"),
        ("[0] 1", "[(0] 1", 8, "')'"),
        ("[0] 1", "[] 1", 8, "number of a proposition"),
        ("[0] 1", "[0 # 1] 1", 8, "'#'"),
        ("[0] 1", "[0] x", 8, "'x'"),
        ("[0] 1", "[0] 3", 8, "state 3"),
        ("[0] 1", "[0] 1&2", 8, "one state at a time"),
        ("[0] 1", "0 1 0 1", 8, "implicit"),
        (
            "[0] 1",
            "[0] 1 {0}",
            8,
            "not from edges",
        ),
        ("State: 0", "State: [0] 0", 8, "has a label"),
        ("State: 2", "State: 1", 11, "declared twice"),
        ("State: 2", "State: 3", 11, "state 3"),
        ("State: 2", "Start: 2", 11, "'Start:'"),
        ("[t] 1", "[t] 0", 10, "accepting"),
        ("--END--", "[0] 0 --END--", 12, "rejecting"),
        ("{1}", "{0 1}", 11, "both"),
        ("{1}", "{2}", 11, "no acceptance set 2"),
        ("{1}", "{", 12, "number of an acceptance set"),
        ("State: 0", 'State: 0 "trap"', 11, "called"),
        ("--END--", "", 13, "the text ends"),
        ("--END--", f"--END-- {VALID}", 12, "only one"),
        ("--END--", "/* --END--", 12, "comment"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(old: str, new: str, line: int, word: str) -> None:
    assert VALID.count(old) >= 1
    with pytest.raises(SyntaxProblem) as error:
        from_hoa(VALID.replace(old, new, 1))
    assert str(error.value).startswith(f"HOA, line {line}: ")
    assert word in str(error.value)


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
