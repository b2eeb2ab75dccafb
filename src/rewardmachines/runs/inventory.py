"""What lies in the folder of a run: in a few words for people, and what of it is only left over."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.config_file import read_settings

_PART: Final = re.compile(r"\.(.+)\.[a-z0-9_]{1,8}\.part")
"""What `write_aside` calls a file that it has not finished: the beginning of its name, and a few characters."""
_SHOWN: Final = 16
"""So many characters of the name."""
_TAIL: Final = 1_000_000
"""Bytes at the end of the metrics, among which there is a whole line."""
_MANY: Final = 4
"""More tasks than these are counted instead of named."""


def leftovers(folder: Path, names: tuple[str, ...], subfolders: tuple[str, ...]) -> Iterator[Path]:
    """Files that a process was writing aside when it was killed.

    Args:
        folder: That of the run.
        names: Files that runs write there; nothing else in it is looked at.
        subfolders: Those in which runs write files with all kinds of names.
    """
    for path in folder.glob(".*.part"):
        found = _PART.fullmatch(path.name)
        if found and any(name[:_SHOWN] == found[1][:_SHOWN] for name in names) and _is_plain(path):
            yield path
    for subfolder in subfolders:
        yield from (p for p in (folder / subfolder).glob(".*.part") if _PART.fullmatch(p.name) and _is_plain(p))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def describe_run(config: Path, metrics: Path) -> str:
    """Says what is in the way of a new run, and what to type to go on with it.

    Args:
        config: The settings of the run.
        metrics: What happened in it so far.
    """
    folder = config.parent
    try:
        settings = read_settings(config)
    except RewardMachineError as problem:
        return f"what it is cannot be told ({problem}); delete the folder, or choose another with -o"
    command, spec = settings.command, settings.content.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    what = f"{spec.get('domain', '?')} {spec.get('setting', '?')}, {_tasks(spec)}, seed {spec.get('seed', '?')}"
    resume = f"hrm {command} --resume -o {shlex.quote(str(folder))}"
    return f"it is of 'hrm {command}', {what}, {_steps(metrics):,} steps so far; to go on with it, type: {resume}"


def _tasks(spec: Mapping[str, Any]) -> str:
    tasks = spec.get("tasks", [spec.get("task", "?")])
    if not isinstance(tasks, list) or len(tasks) > _MANY:
        return f"{len(tasks)} tasks" if isinstance(tasks, list) else "?"
    return f"task{'' if len(tasks) == 1 else 's'} {', '.join(map(str, tasks))}"


def _steps(metrics: Path) -> int:
    """How far the run has come, as its last readable line says."""
    if not metrics.is_file():
        return 0
    with metrics.open("rb") as file:
        file.seek(max(0, metrics.stat().st_size - _TAIL))
        *lines, _ = file.read().decode("utf-8", "replace").split("\n")
    for line in reversed(lines):
        try:
            steps = json.loads(line)["steps"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if type(steps) is int:
            return steps
    return 0
