"""YAML and JSON as trees of text that remember where each part stood.

Scalars stay text: `when: true` or a proposition called `no` mean what they say. Anchors and aliases are refused, so
that a small file cannot unfold into a large one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem, TooLargeError
from rewardmachines.core.hierarchy import suggestion

if TYPE_CHECKING:
    import yaml

MAX_BYTES: Final = 16_000_000
MAX_DEPTH: Final = 20

Value: TypeAlias = "str | list[Node] | dict[str, Node]"


@dataclass(frozen=True, slots=True)
class Node:
    """A text, a list or a mapping, and where it stands."""

    value: Value
    where: str

    def fail(self, message: str) -> NoReturn:
        raise SyntaxProblem(f"{self.where}: {message}")

    def text(self, what: str) -> str:
        if not isinstance(self.value, str):
            self.fail(f"{what} must be a text, not {_kind(self.value)}")
        return self.value

    def items(self, what: str) -> list[Node]:
        if not isinstance(self.value, list):
            self.fail(f"{what} must be a list, such as [a, b], not {_kind(self.value)}")
        return self.value

    def texts(self, what: str) -> list[str]:
        return [item.text(f"each entry of {what}") for item in self.items(what)]

    def mapping(self, what: str, keys: Iterable[str] | None = None) -> dict[str, Node]:
        """The entries; with `keys`, no others are allowed."""
        if not isinstance(self.value, dict):
            self.fail(f"{what} must be a mapping of keys to values, not {_kind(self.value)}")
        known = None if keys is None else list(keys)
        for key, node in self.value.items():
            if known is not None and key not in known:
                hint = suggestion(key, known) or f"; possible are {', '.join(known)}"
                node.fail(f"'{key}' means nothing in {what}{hint}")
        return self.value


def _kind(value: Value) -> str:
    if isinstance(value, str):
        return f"the text '{value[:40]}'" if value else "nothing"
    return "a list" if isinstance(value, list) else "a mapping"


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


def parse_document(text: str, source: str) -> Node:
    """The tree of a YAML or JSON text; `source` names it in messages."""
    if len(text) > MAX_BYTES:
        raise TooLargeError(f"{source}: longer than {MAX_BYTES:,} characters, which no such file should be")
    if text.lstrip()[:1] in ("{", "["):
        return _parse_json(text, source)
    return _parse_yaml(text, source)


def _parse_json(text: str, source: str) -> Node:
    if _json_depth(text) > MAX_DEPTH:
        raise SyntaxProblem(f"{source}: nested more than {MAX_DEPTH} deep")
    try:
        content = json.loads(text, object_pairs_hook=_Pairs, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as problem:
        # A YAML flow mapping looks like JSON at first sight.
        try:
            return _parse_yaml(text, source)
        except RewardMachineError:
            where = f"{source}, line {problem.lineno}, column {problem.colno}"
            raise SyntaxProblem(f"{where}: this is not JSON: {problem.msg}") from None
    return _from_json(content, source, "")


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, in order and with repetitions."""


def _json_depth(text: str) -> int:
    """How deep brackets nest; those in strings are not counted."""
    depth = deepest = 0
    for bracket in re.findall(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text, flags=re.DOTALL):
        if bracket in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif bracket in "]}":
            depth -= 1
    return deepest


def _from_json(content: Any, source: str, path: str) -> Node:
    where = f"{source}, {path}" if path else source
    if isinstance(content, _Pairs):
        entries: dict[str, Node] = {}
        for key, value in content:
            if key in entries:
                raise SyntaxProblem(f"{where}: '{key}' is given twice")
            entries[key] = _from_json(value, source, f"{path}.{key}".lstrip("."))
        return Node(entries, where)
    if isinstance(content, list):
        return Node([_from_json(item, source, f"{path}[{i}]") for i, item in enumerate(content)], where)
    if isinstance(content, bool):
        return Node("true" if content else "false", where)
    return Node("" if content is None else str(content), where)


def _parse_yaml(text: str, source: str) -> Node:
    import yaml  # here, because training runs where it is not installed

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_events(yaml.parse(text, Loader=loader), source)
        root = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f"{source}, line {mark.line + 1}, column {mark.column + 1}" if mark else source
        raise SyntaxProblem(f"{where}: this is not YAML: {problem.problem or problem.context}") from None
    except yaml.YAMLError as problem:
        raise SyntaxProblem(f"{source}: this is not YAML: {str(problem).splitlines()[0]}") from None
    if root is None:
        raise SyntaxProblem(f"{source}: the file is empty")
    return _from_yaml(root, source)


def _check_events(events: Iterable[yaml.Event], source: str) -> None:
    """Refuses what could unfold or nest without end, before anything is built."""
    import yaml

    depth = 0
    for event in events:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise SyntaxProblem(
                f"{source}, line {line}: anchors (&) and aliases (*) are not allowed; a formula "
                "that begins with such a character goes in quotes"
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise SyntaxProblem(f"{source}, line {line}: nested more than {MAX_DEPTH} deep")


def _from_yaml(node: yaml.Node, source: str) -> Node:
    import yaml

    where = f"{source}, line {node.start_mark.line + 1}"
    if not node.tag.startswith("tag:yaml.org,2002:") or "python" in node.tag:
        # Quoted formulas that begin with ! are texts; a bare !rabbit is a tag to YAML.
        raise SyntaxProblem(f"{where}: '{node.tag}' is read as a YAML tag; put formulas with ! in quotes")
    if isinstance(node, yaml.MappingNode):
        return Node(_entries(node, source), where)
    if isinstance(node, yaml.SequenceNode):
        return Node([_from_yaml(item, source) for item in node.value], where)
    if node.tag == "tag:yaml.org,2002:null" and node.value in ("", "~"):
        return Node("", where)
    return Node(str(node.value), where)


def _entries(node: yaml.MappingNode, source: str) -> dict[str, Node]:
    entries: dict[str, Node] = {}
    for key_node, value in node.value:
        key = _from_yaml(key_node, source)
        name = key.text("a key")
        if name in entries:
            key.fail(f"'{name}' is given twice")
        entries[name] = _from_yaml(value, source)
    return entries
