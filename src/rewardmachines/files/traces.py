"""Trace files, one JSON object a line, and words typed by hand.

{"outcome": "goal", "labels": [["sugarcane"], [], ["rabbit", "workbench"]]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import SyntaxProblem, TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.files.document import read_text
from rewardmachines.files.nodes import check_text
from rewardmachines.files.writing import write_aside
from rewardmachines.traces import Outcome, Trace

MAX_LINE: Final = 1_000_000


def load_traces(path: str | Path) -> list[Trace]:
    """The traces of a file of JSON lines.

    Args:
        path: The file; each line holds an outcome and labels.

    Raises:
        RewardMachineError: The file cannot be read, or a line makes no sense; the message names it.
    """
    return list(read_traces(path))


def loads_traces(text: str, source: str = "trace file") -> list[Trace]:
    """The traces of a text; blank lines are passed over."""
    return [trace for _, trace in _parse_lines(text, source)]


def read_traces(path: str | Path) -> Iterator[Trace]:
    """The traces of a file, one by one, for readers that may want to stop."""
    return (trace for _, trace in read_places(path))


def read_places(path: str | Path) -> Iterator[tuple[str, Trace]]:
    """The traces of a file, one by one, each with its place, such as `book.jsonl, line 3`."""
    return _parse_lines(read_text(path), str(path))


def _parse_lines(text: str, source: str) -> Iterator[tuple[str, Trace]]:
    known: dict[Label, Label] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            place = f"{source}, line {number}"
            yield place, _parse_line(line, place, known)


def save_traces(traces: Iterable[Trace], path: str | Path) -> None:
    """Writes a file of JSON lines, a trace each.

    Args:
        traces: The traces.
        path: The file. It appears whole or not at all.
    """
    write_aside(path, dump_traces(traces))


def dump_traces(traces: Iterable[Trace]) -> str:
    """The traces as JSON lines; `loads_traces` gives them back exactly."""
    return "".join(map(_line, traces))


def _line(trace: Trace) -> str:
    for name in frozenset().union(*trace.labels):
        check_text(name, f"the proposition {name!a}")
    return json.dumps({"outcome": trace.outcome.value, "labels": [sorted(label) for label in trace.labels]}) + "\n"


def _parse_line(line: str, where: str, known: dict[Label, Label]) -> Trace:
    """A trace; equal labels become one object, since a file of many steps has few that differ."""
    if len(line) > MAX_LINE:
        raise TooLargeError(f"{where}: a trace of more than {MAX_LINE:,} characters")
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise SyntaxProblem(f"{where}: not JSON ({_reason(problem)}); write {_EXAMPLE}") from None
    if not isinstance(content, dict) or not {"labels"} <= content.keys() <= {"labels", "outcome"}:
        raise SyntaxProblem(f"{where}: a trace has 'labels' and 'outcome' and nothing else; write {_EXAMPLE}")
    labels = tuple(known.setdefault(label, label) for label in _labels(content["labels"], where))
    return Trace(labels, _outcome(content.get("outcome", "incomplete"), where))


def _reason(problem: ValueError | RecursionError) -> str:
    if isinstance(problem, RecursionError):
        return "nested too deep"
    return problem.msg if isinstance(problem, json.JSONDecodeError) else "a number of too many digits"


def _labels(content: Any, where: str) -> Iterator[Label]:
    if not isinstance(content, list) or not all(isinstance(label, list) for label in content):
        raise SyntaxProblem(f"{where}: 'labels' must be a list of lists of propositions; write {_EXAMPLE}")
    for label in content:
        for proposition in label:
            if not isinstance(proposition, str) or not proposition:
                raise SyntaxProblem(f"{where}: a proposition must be a text, not {json.dumps(proposition)[:40]}")
            check_text(proposition, where)
    return map(frozenset, content)


def _outcome(content: Any, where: str) -> Outcome:
    try:
        return Outcome(content)
    except ValueError:
        choices = ", ".join(f'"{o.value}"' for o in Outcome)
        raise SyntaxProblem(f"{where}: the outcome must be one of {choices}, not {json.dumps(content)[:40]}") from None


_EXAMPLE: Final = '{"outcome": "goal", "labels": [["iron"], [], ["table"]]}'

_WORD_PART: Final = re.compile(r"[\s;]*(?:\{(?P<braces>[^{}]*)\}|(?P<bare>[^\s{};]+))")


def parse_word(text: str) -> tuple[Label, ...]:
    """Labels typed by hand, separated by spaces: `iron {} table,cow` or `{iron} {} {table, cow}`.

    >>> [sorted(label) for label in parse_word("iron {} table,cow")]
    [['iron'], [], ['cow', 'table']]
    """
    labels: list[Label] = []
    position = 0
    end = len(text.rstrip(" \t\n;"))
    while position < end:
        match = _WORD_PART.match(text, position)
        if match is None:
            raise SyntaxProblem(
                f"trace, character {position + 1}: labels are separated by spaces, with {{}} for the empty one and "
                "commas within a label: iron {} table,cow"
            )
        braces, bare = match.group("braces"), match.group("bare")
        names = [name.strip() for name in (bare if braces is None else braces).split(",")]
        labels.append(frozenset(name for name in names if name))
        position = match.end()
    return tuple(labels)
