from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import (
    dump_traces,
    load_tasks,
    load_traces,
    loads_tasks,
    loads_traces,
    parse_word,
    save_traces,
)
from rewardmachines.language import Tie
from rewardmachines.traces import Outcome, Trace

traces = st.builds(
    Trace,
    st.lists(st.frozensets(st.text(min_size=1, max_size=4), max_size=3), max_size=6).map(tuple),
    st.sampled_from(Outcome),
)


@given(st.lists(traces, max_size=5))
def test_traces_read_back_are_the_same(some: list[Trace]) -> None:
    assert loads_traces(dump_traces(some)) == some


def test_trace_files_are_read_and_written(tmp_path: Path) -> None:
    some = [Trace((frozenset({"iron"}), frozenset()), Outcome.GOAL)]
    save_traces(some, tmp_path / "traces.jsonl")
    assert load_traces(tmp_path / "traces.jsonl") == some
    expected = '{"outcome": "goal", "labels": [["iron"], []]}\n'
    assert (tmp_path / "traces.jsonl").read_text() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "t.jsonl, line 1: not JSON"),
        ('\n{"labels": []}\n[]', "t.jsonl, line 3: a trace has 'labels' and 'outcome' and nothing else"),
        ('{"labels": ["a"]}', "'labels' must be a list of lists"),
        ('{"labels": [[1]]}', "a proposition must be a text, not 1"),
        ('{"labels": [], "outcome": "won"}', 'the outcome must be one of "goal", "dead_end", "incomplete", not "won"'),
        ('{"labels": [], "result": "goal"}', "nothing else"),
        ("[" * 100_000, "line 1: not JSON"),
        ('{"labels": [[' + "1" * 5000 + "]]}", "line 1: not JSON (a number of too many digits)"),
        ('{"labels": [["a", "\\ud800"]]}', "line 1: \\ud800 is half a character"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_malformed_traces_say_in_which_line(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=re.escape(message)):
        loads_traces(text, source="t.jsonl")


def test_halves_of_characters_are_not_written() -> None:
    with pytest.raises(SyntaxProblem, match="half a character"):
        dump_traces([Trace((frozenset({"\ud800"}),))])


@given(st.text(max_size=60) | st.text(alphabet='{}[]",: outcmelabsg', max_size=60))
def test_any_text_is_traces_or_refused_with_one_kind_of_error(text: str) -> None:
    try:
        loads_traces(text)
    except RewardMachineError as problem:
        assert str(problem)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", []),
        ("iron {} table,cow", [{"iron"}, set(), {"table", "cow"}]),
        ("{iron} {} {table, cow}", [{"iron"}, set(), {"table", "cow"}]),
        ("iron; {}; table", [{"iron"}, set(), {"table"}]),
        ("  iron{}  ", [{"iron"}, set()]),
    ],
)
def test_words_can_be_typed(text: str, word: list[set[str]]) -> None:
    assert list(parse_word(text)) == word


def test_a_word_with_an_open_brace_says_how_to_write_it() -> None:
    with pytest.raises(SyntaxProblem, match=re.escape("trace, character 5: labels are separated by spaces")):
        parse_word("iron {table")


TASKS = """
propositions: [sugarcane, rabbit, workbench, table, lava]
avoid: [lava]
tie: left
tasks:
  paper: sugarcane ; workbench
  leather: rabbit ; workbench
  book: (paper & leather) ; table
"""


def test_task_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    file = load_tasks(tmp_path / "tasks.yaml")
    assert (file.tie, file.avoid) == (Tie.LEFT, ("lava",))
    assert file.compile("book").height == 2
    assert file.compile("book ; rabbit").height == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tie: left", "there are no 'tasks'"),
        ("tasks: {a: b}\ntie: both", "f, line 2: 'tie' is one of neither, left, right, not 'both'"),
        ("tasks: {a: [b]}", "task 'a' must be a text, not a list"),
        ("task: {}", "did you mean 'tasks'?"),
    ],
)
def test_malformed_task_files_say_where(text: str, message: str) -> None:
    with pytest.raises(SyntaxProblem, match=re.escape(message)):
        loads_tasks(text, source="f")
