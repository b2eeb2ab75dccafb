"""Machine files with mistakes: what is wrong is said with its place, soon, and in little memory."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from files.book_file import BOOK
from rewardmachines.core import errors
from rewardmachines.core.errors import RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.files import dumps, load, loads, plain

EDGE = "{from: u0, to: uA, when: a}"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", SyntaxProblem, "f.yaml: the file is empty"),
        ("machines: [", SyntaxProblem, "f.yaml, line 2, column 1: this is not YAML"),
        ('{\n  "machines": ', SyntaxProblem, "f.yaml, line 2, column 15: this is not JSON"),
        ("root: x", SyntaxProblem, "f.yaml, line 1: there are no 'machines'"),
        (
            "just a text",
            SyntaxProblem,
            "a machine file must be a mapping of keys to values, not the text 'just a text'",
        ),
        ("machines: {}", SyntaxProblem, "there are no 'machines'"),
        ("machins: {}", SyntaxProblem, "'machins' means nothing in a machine file; did you mean 'machines'?"),
        ("machines:\n  m: {}", SyntaxProblem, "f.yaml, line 2: machine 'm' has no 'edges'"),
        ("machines: {m: {edges: {}}}", SyntaxProblem, "'edges' must be a list"),
        (
            "machines:\n  m:\n    edges:\n    - {to: uA}",
            SyntaxProblem,
            "f.yaml, line 4: an edge of machine 'm' has no 'from'",
        ),
        ("machines: {m: {edges: [{from: u0, to: uA}]}}", SyntaxProblem, "needs 'when', 'call' or both"),
        ("machines: {m: {edges: [{from: u0, to: uA, wen: a}]}}", SyntaxProblem, "did you mean 'when'?"),
        (
            "machines: {m: {edges: [{from: u0, to: '', when: a}]}}",
            SyntaxProblem,
            "'to' of an edge of machine 'm' is empty",
        ),
        ("machines: {m: {edges: [{from: u0, to: uA, when: !a b}]}}", SyntaxProblem, "put formulas with ! in quotes"),
        ("machines: {m: {edges: [{from: u0, to: uA, when: *a}]}}", SyntaxProblem, "anchors (&) and aliases (*)"),
        (
            "machines:\n  m:\n    edges:\n    - {from: u0, to: uA, when: a &}",
            SyntaxProblem,
            "f.yaml, line 4: formula, character 4",
        ),
        (
            f"machines:\n  m: {{edges: [{EDGE}]}}\n  m: {{edges: []}}",
            SyntaxProblem,
            "f.yaml, line 3: 'm' is given twice",
        ),
        (
            '{"machines": {"m": {"edges": []}, "m": {"edges": []}}}',
            SyntaxProblem,
            "f.yaml, machines: 'm' is given twice",
        ),
        (
            f"machines:\n  m:\n    edges:\n    - {EDGE}\n    - {{from: uA, to: u0, when: a}}",
            errors.TerminalEdgeError,
            "f.yaml, line 5: machine 'm', edge uA --[a]--> u0: no edge may leave",
        ),
        (
            f"machines:\n  m:\n    edges:\n    - {EDGE}\n    - {{from: u0, to: u1, call: n}}",
            errors.UnknownMachineError,
            "f.yaml, line 5: machine 'm', edge u0 --[n | true]--> u1: there is no machine 'n'",
        ),
        (
            f"propositions: [b]\nmachines:\n  m:\n    edges:\n    - {EDGE}",
            errors.UnknownPropositionError,
            "f.yaml, line 5: machine 'm'",
        ),
        (
            '{"propositions": ["b"], "machines": {"m": {"edges": [{"from": "u0", "to": "uA", "when": "a"}]}}}',
            errors.UnknownPropositionError,
            "f.yaml, machines.m.edges[0]: machine 'm'",
        ),
        (f"root: n\nmachines: {{m: {{edges: [{EDGE}]}}}}", errors.UnknownMachineError, "f.yaml, line 1: the root 'n'"),
        ("a: " * 3 + "\n" + "[" * 10_000, SyntaxProblem, "f.yaml"),
        ("x: " + "[" * 10_000, SyntaxProblem, "nested more than 20 deep"),
        ("[" * 10_000, SyntaxProblem, "nested more than 20 deep"),
        ('{"a":' * 10_000, SyntaxProblem, "nested more than 20 deep"),
        ("machines: !!python/object/apply:os.system ['true']", SyntaxProblem, "is read as a YAML tag"),
        ("a: &x [1]\nb: *x", SyntaxProblem, "f.yaml, line 1: anchors"),
        (
            'machines: {m: {edges: [{from: u0, to: uA, when: "' + "a" * 10_000_000 + '"}]}}',
            SyntaxProblem,
            "formula too long: 10,000,000 characters",
        ),
        ("x" * 17_000_000, TooLargeError, "longer than 16,000,000 characters"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_files_say_where_and_what_to_write(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        loads(text, source="f.yaml")


def test_a_yaml_bomb_is_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(SyntaxProblem, match="anchors"):
        loads("\n".join(lines))


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "picture.yaml"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(SyntaxProblem, match="not a text file"):
        load(path)


@given(st.text(max_size=60) | st.text(alphabet="machines: {}[]-\n\"'&*!edges", max_size=80))
def test_any_text_is_a_machine_file_or_refused_with_one_kind_of_error(text: str) -> None:
    try:
        loads(text)
    except RewardMachineError as problem:
        assert str(problem)


@given(st.data())
def test_machine_files_with_a_few_characters_changed_are_read_or_refused(data: st.DataObject) -> None:
    text = BOOK
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "\n", "{", "}", "[", ":", "!", "&x ", "*x", '"', " ", "\t", "-"]))
            + text[at + data.draw(st.integers(0, 3)) :]
        )
    try:
        loads(text)
    except RewardMachineError as problem:
        assert str(problem)


def test_a_machine_that_calls_itself_is_not_asked_for_the_root() -> None:
    with pytest.raises(errors.CircularCallError, match="in a circle: m -> m"):
        loads("machines: {m: {edges: [{from: u0, to: uA, call: m}]}}")
    with pytest.raises(errors.CircularCallError, match="in a circle: a -> b -> a"):
        loads("machines: {a: {edges: [{from: u0, to: uA, call: b}]}, b: {edges: [{from: u0, to: uA, call: a}]}}")


@pytest.mark.parametrize(
    "text",
    [
        '{"machines": {"\\ud800": {"edges": []}}}',
        '{"root": "\\udfff", "machines": {"m": {"edges": []}}}',
        'root: "\\ud800"\nmachines: {m: {edges: []}}',
        "machines: {\ud800: {edges: []}}",
        '{"machines": {"\ud800": {"edges": []}}}',
    ],
)
def test_halves_of_characters_are_refused(text: str) -> None:
    with pytest.raises(SyntaxProblem, match=r"f.*: .*(half a character|not YAML)"):
        loads(text, source="f")


@pytest.mark.parametrize("write", [dumps, plain])
def test_halves_of_characters_are_not_written(write: Callable[[Hierarchy], object]) -> None:
    machine = RewardMachine("m", ("u0", "\ud800"), (), "u0", frozenset({"\ud800"}))
    with pytest.raises(SyntaxProblem, match="half a character"):
        write(Hierarchy("m", (machine,)))


def test_a_long_key_costs_no_more_than_itself() -> None:
    text = '{"' + "k" * 200_000 + '": [' + "1, " * 20_000 + '{"a": 1, "a": 2}]}'
    tracemalloc.start()
    with pytest.raises(SyntaxProblem, match="'a' is given twice") as caught:
        loads(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50_000_000
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["a: [" + "b, " * 100 + "c]", '{"a": [' + "1, " * 100 + "1]}"])
def test_texts_of_too_many_entries_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardmachines.files.nodes.MAX_NODES", 50)
    with pytest.raises(TooLargeError, match="f: more than 50 entries"):
        loads(text, source="f")


def test_a_second_document_is_refused() -> None:
    with pytest.raises(SyntaxProblem, match="f, line 2: a second document begins"):
        loads("machines: {m: {edges: []}}\n---\na: b\n", source="f")
