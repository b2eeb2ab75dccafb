"""Hierarchies from what is typed into the page, in whatever language, and the positions of what is wrong in it."""

from __future__ import annotations

import re
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.exchange import from_dot, from_hoa
from rewardmachines.files import loads, loads_tasks
from rewardmachines.language import FormalTask, compile_task, read_task

LANGUAGES: Final = ("auto", "task", "ltlf", "regex", "yaml", "hoa", "dot")
"""The languages of a text; "auto" is the one that the text looks like."""

_TASK_FILE: Final = re.compile(r"^\s*(?:\{\s*)?\"?tasks\"?\s*:", re.MULTILINE)
_YAML: Final = re.compile(r"^(?:\s*\{|\s*\"?(?:propositions|root|machines|avoid|tie|tasks)\"?\s*:)", re.MULTILINE)
_DOT: Final = re.compile(r"\s*(?:strict\s+)?digraph\b")


def language_of(text: str) -> str:
    """The language that a text looks like.

    >>> language_of("a ; b"), language_of("root: m"), language_of("HOA: v1"), language_of("ltlf: F a")
    ('task', 'yaml', 'hoa', 'task')
    """
    if text.lstrip().startswith("HOA:"):
        return "hoa"
    if _DOT.match(text):
        return "dot"
    return "yaml" if _YAML.search(text) else "task"


def read(text: str, language: str = "auto", name: str = "task") -> Hierarchy:
    """The hierarchy of a text; of a task file, that of its last task.

    Raises:
        RewardMachineError: The text makes no sense in its language.
    """
    language = language_of(text) if language == "auto" else language
    if language == "hoa":
        return from_hoa(text)
    if language == "dot":
        return from_dot(text)
    if language == "yaml":
        return _read_yaml(text)
    return compile_task(FormalTask(language, text) if language in ("ltlf", "regex") else read_task(text), name=name)


def _read_yaml(text: str) -> Hierarchy:
    if not _TASK_FILE.search(text):
        return loads(text, "text")
    file = loads_tasks(text, "text")
    if not file.tasks:
        raise RewardMachineError("text: there are no tasks in 'tasks'")
    last = list(file.tasks)[-1]
    return file.compile(last, name=last)


_CHARACTER: Final = re.compile(r"^(?P<what>[^,]*), character (?P<number>\d+): ")
_LINE: Final = re.compile(r", line (?P<line>\d+)(?:, column (?P<column>\d+))?: ")
_TASK: Final = re.compile(r"(?:task|LTLf formula|regular expression)(?: '(?P<name>.*)')?")


def position_in(text: str, message: str) -> dict[str, Any] | None:
    """The position that an error message names, as a line, a column and an offset in UTF-16 units, as pages count.

    >>> position_in("a ; $", "task, character 5: '$' means nothing here")
    {'line': 1, 'column': 5, 'offset': 4, 'exact': True}
    >>> position_in("a ; b", "it makes no sense") is None
    True
    """
    if found := _LINE.search(message):
        lines = text.split("\n")
        line = min(int(found["line"]), len(lines))
        column = min(int(found["column"] or 1), len(lines[line - 1]) + 1)
        start = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
        return _located(text, start, exact=found["column"] is not None)
    found = _CHARACTER.match(message)
    if found is None or (task := _TASK.fullmatch(found["what"])) is None:
        return None
    beginning = _start_of(text, task["name"])
    if beginning is None:
        return None
    return _located(text, min(beginning + int(found["number"]) - 1, len(text)), exact=True)


def _start_of(text: str, name: str | None) -> int | None:
    """The offset at which the task that a message names begins; None for a task that is written in several lines."""
    if language_of(text) == "yaml":
        entry = name and re.search(rf"^\s*[\"']?{re.escape(name)}[\"']?\s*:[ \t]*(?=[^\s>|{{])", text, re.MULTILINE)
        if not entry:
            return None
        quoted = text[entry.end()] in "\"'"
        beginning = re.compile(r"(?:ltlf|regex)(?:\([^)]*\))?\s*:\s*", re.IGNORECASE)
        inner = entry.end() + quoted
        formal = beginning.match(text, inner)
        return formal.end() if formal else inner
    task = read_task(text)
    return text.index(task.text) if isinstance(task, FormalTask) else 0


def _located(text: str, start: int, *, exact: bool) -> dict[str, Any]:
    before = text[:start]
    line = before.count("\n") + 1
    inside = before.rpartition("\n")[2]
    return {"line": line, "column": len(inside) + 1, "offset": _units(before), "exact": exact}


def _units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
