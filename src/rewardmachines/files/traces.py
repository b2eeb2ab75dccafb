"""Trace files, one JSON object a line, and words typed by hand.

{"outcome": "goal", "labels": [["sugarcane"], [], ["rabbit", "workbench"]]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import SyntaxProblem, TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.files.document import read_text
from rewardmachines.files.writing import write_aside
from rewardmachines.traces import Outcome, Trace

MAX_LINE: Final = 1_000_000


def load_traces(path: str | Path) -> list[Trace]:
    return loads_traces(read_text(path), source=str(path))


def loads_traces(text: str, source: str = "trace file") -> list[Trace]:
    """The traces of a text; blank lines are passed over."""
    return [
        _parse_line(line, f"{source}, line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]


def save_traces(traces: Iterable[Trace], path: str | Path) -> None:
    write_aside(path, dump_traces(traces))


def dump_traces(traces: Iterable[Trace]) -> str:
    """The traces as JSON lines; `loads_traces` gives them back exactly."""
    return "".join(
        json.dumps({"outcome": t.outcome.value, "labels": [sorted(label) for label in t.labels]}) + "\n" for t in traces
    )


def _parse_line(line: str, where: str) -> Trace:
    if len(line) > MAX_LINE:
        raise TooLargeError(f"{where}: a trace of more than {MAX_LINE:,} characters")
    try:
        content = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as problem:
        reason = problem.msg if isinstance(problem, json.JSONDecodeError) else "nested too deep"
        raise SyntaxProblem(f"{where}: not JSON ({reason}); write {_EXAMPLE}") from None
    if not isinstance(content, dict) or not {"labels"} <= content.keys() <= {"labels", "outcome"}:
        raise SyntaxProblem(f"{where}: a trace has 'labels' and 'outcome' and nothing else; write {_EXAMPLE}")
    return Trace(_labels(content["labels"], where), _outcome(content.get("outcome", "incomplete"), where))


def _labels(content: Any, where: str) -> tuple[Label, ...]:
    if not isinstance(content, list) or not all(isinstance(label, list) for label in content):
        raise SyntaxProblem(f"{where}: 'labels' must be a list of lists of propositions; write {_EXAMPLE}")
    for label in content:
        for proposition in label:
            if not isinstance(proposition, str) or not proposition:
                raise SyntaxProblem(f"{where}: a proposition must be a text, not {json.dumps(proposition)[:40]}")
    return tuple(map(frozenset, content))


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
