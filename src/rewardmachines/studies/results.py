"""The result of a finished run: a line of JSON of a few kilobytes, with a record of what made it."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.files.records import from_plain, to_plain

FORMAT: Final = 1
"""The format of result files."""
_BEGINNING: Final = b'{"format": '
"""The beginning of every file of results."""


@dataclass(frozen=True)
class ReturnCurve:
    """The greedy return of a task in a run, mean over instances, at evaluations."""

    task: str
    episodes: tuple[int, ...]
    steps: tuple[int, ...]
    returns: tuple[float, ...]
    window: int = 1
    """The number of evaluations of which each return is the mean: the one at its place, and those before it."""
    learned_episodes: tuple[int, ...] = ()
    """The number of episodes that had ended when a machine of the task was learned, each time."""
    learned_steps: tuple[int, ...] = ()
    """The number of steps that had been taken then."""


@dataclass(frozen=True)
class TaskResult:
    """The results of one task in a run."""

    task: str
    has_goal: bool
    """Whether its goal was ever reached."""
    has_machine: bool
    """Whether a machine was learned, or given."""
    numbers: dict[str, float]
    """Numbers by their columns."""

    def number(self, column: str) -> float | None:
        """The number of a column, if there is one."""
        return self.numbers.get(column)


@dataclass(frozen=True)
class Made:
    """The record of what made a result."""

    command: str
    """The command that carries the run out."""
    commit: str
    """The commit of the program, if it is known."""
    device: str
    jax: str
    rewardmachines: str
    date: str


@dataclass(frozen=True)
class Result:
    """A finished run."""

    key: str
    command: str
    what: str
    """The algorithm or the method."""
    domain: str
    setting: str
    preset: str
    settings: tuple[str, ...]
    """The settings that the study changes, NAME=VALUE."""
    seed: int
    is_complete: bool
    """Whether it came to its end, and was not interrupted because the learner's time was spent."""
    end: str
    """Why it ended, in words."""
    steps: int
    episodes: int
    seconds: float
    learner_seconds: float
    tasks: tuple[TaskResult, ...]
    curves: tuple[ReturnCurve, ...]
    made: Made
    is_spent: bool = False
    """Whether it took all the steps or episodes that it was given."""
    is_processor_time: bool = False
    """Whether the times of searches are processor times, which other programs on the machine do not change."""


def read_results(path: Path, keys: Container[str] | None = None) -> dict[str, Result]:
    """The results of a file of JSON lines, by key; none, if there is no such file.

    Args:
        path: The file.
        keys: The keys of the results that are wanted; all, if not given.

    Raises:
        SyntaxProblem: A line is damaged, or another version wrote it.
    """
    if not path.exists():
        return {}
    results: dict[str, Result] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        where = f"{path}, line {number}"
        content = _content(line, where)
        if keys is None or from_plain(str, content.get("key"), f"{where}, key") in keys:
            result: Result = from_plain(Result, content, where)
            results[result.key] = result
    return results


def result_files(folder: Path) -> list[Path]:
    """All files of results in a folder and in those below it, in the order of their names.

    Other programs keep lines of JSON there, too: a file of results begins as `line_of` begins.
    """
    return [path for path in sorted(folder.rglob("*.jsonl")) if _begins_with_a_result(path)]


def _begins_with_a_result(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_BEGINNING)) == _BEGINNING


def read_result(path: Path) -> Result:
    """The result of one run, which lies in its folder."""
    return read_line(read_text(path), str(path))


def read_line(line: str, where: str) -> Result:
    """The result that a line of JSON holds.

    Args:
        line: The line.
        where: The text with which error messages begin.

    Raises:
        SyntaxProblem: It is damaged, or another version wrote it.
    """
    result: Result = from_plain(Result, _content(line, where), where)
    return result


def _content(line: str, where: str) -> dict[str, Any]:
    """The keys and values of a line, without its format, which is ours."""
    content = parse_json(line, where, "; delete it to carry the run out again")
    found = content.pop("format", None) if isinstance(content, dict) else None
    if found != FORMAT:
        raise SyntaxProblem(f"{where}: a result of another version (format {found}); this version reads {FORMAT}")
    assert isinstance(content, dict)
    return content


def line_of(result: Result) -> str:
    """A result as a line of JSON."""
    return json.dumps({"format": FORMAT, **to_plain(result)}) + "\n"


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Replaces a file of results. Equal results make equal files, whatever their order."""
    ordered = sorted(results, key=_order)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_aside(path, "".join(map(line_of, ordered)))


def _order(result: Result) -> tuple[Any, ...]:
    tasks = [task.task for task in result.tasks]
    return result.command, result.domain, result.setting, result.what, result.preset, tasks, result.seed, result.key
