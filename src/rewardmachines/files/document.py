"""YAML and JSON texts, read into trees whose parts know where they stood."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.files.nodes import MAX_DEPTH, Counter, Member, Node, check_text, shown
from rewardmachines.files.yaml_tree import parse_yaml

MAX_BYTES: Final = 16_000_000


def read_text(path: str | Path) -> str:
    """The content of a text file of a sensible size."""
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise TooLargeError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB, which no such file should be")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise SyntaxProblem(f"{path}: not a text file (byte {problem.start} is not UTF-8)") from None


def parse_json(text: str, where: str, advice: str = "") -> Any:
    """The plain values of a JSON text that a program wrote.

    Args:
        text: The text.
        where: The beginning of the error message.
        advice: The end of the error message.

    Raises:
        SyntaxProblem: It is damaged.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as problem:  # ValueError: also for numbers with thousands of digits
        reason = "nested too deep" if isinstance(problem, RecursionError) else getattr(problem, "msg", "a huge number")
        raise SyntaxProblem(f"{where}: damaged, this is not JSON ({reason}){advice}") from None


def parse_document(text: str, source: str) -> Node:
    """The tree of a YAML or JSON text; `source` names it in messages."""
    if len(text) > MAX_BYTES:
        raise TooLargeError(f"{source}: longer than {MAX_BYTES:,} characters, which no such file should be")
    check_text(text, source)
    if text.lstrip()[:1] in ("{", "["):
        return _parse_json(text, source)
    return parse_yaml(text, source)


def _parse_json(text: str, source: str) -> Node:
    if _json_depth(text) > MAX_DEPTH:
        raise SyntaxProblem(f"{source}: nested more than {MAX_DEPTH} deep")
    try:
        content = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as problem:
        # A YAML flow mapping looks like JSON at first sight.
        try:
            return parse_yaml(text, source)
        except RewardMachineError:
            where = f"{source}, line {problem.lineno}, column {problem.colno}"
            raise SyntaxProblem(f"{where}: this is not JSON: {problem.msg}") from None
    return _JsonReader(source).node(content, source)


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, in order and with repetitions."""

    __slots__ = ()


def _json_depth(text: str) -> int:
    """The depth of nested brackets; those in strings are not counted."""
    depth = deepest = 0
    # A string that is not closed reaches to the end of the text: no part of it is looked at again.
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', text, flags=re.DOTALL):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


class _JsonReader:
    """Makes nodes of what the JSON parser gives."""

    def __init__(self, source: str) -> None:
        self._counter = Counter(source)

    def node(self, content: Any, location: Member | str) -> Node:
        self._counter.add()
        if isinstance(content, _Pairs):
            return Node(self._entries(content, location), location)
        if isinstance(content, list):
            return Node([self.node(item, Member(location, i)) for i, item in enumerate(content)], location)
        if isinstance(content, bool):
            return Node("true" if content else "false", location)
        text = "" if content is None else str(content)
        check_text(text, location)
        return Node(text, location)

    def _entries(self, pairs: _Pairs, location: Member | str) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        for key, value in pairs:
            check_text(key, location)
            if key in entries:
                raise SyntaxProblem(f"{location}: '{shown(key)}' is given twice")
            entries[key] = self.node(value, Member(location, key))
        return entries
