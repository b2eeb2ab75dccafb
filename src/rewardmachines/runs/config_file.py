"""`config.json`: what was asked for when a run was begun, in which format, and of which command."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.files.document import read_text
from rewardmachines.files.version import PACKAGE, package_version
from rewardmachines.runs.maker import MADE_BY, makers_so_far, this_maker
from rewardmachines.runs.records import from_plain, to_plain

FORMAT: Final = 2
"""The format of the settings that this version writes. It grows with every change that older versions do not know."""
TRAIN: Final = "train"
LEARN: Final = "learn"
"""The commands that make runs."""

Content: TypeAlias = dict[str, Any]
"""What was asked for, as plain JSON values."""
Upgrade: TypeAlias = Callable[[Content], Content]
"""Rewrites what was asked for in one format to the next. Settings that did not exist get the value that the versions
of that format went by, and settings that no longer exist are left out."""


def save_settings(path: Path, command: str, order: object) -> None:
    """Writes what was asked for, and what made the run: whoever resumes it is recorded beside whoever began it.

    Args:
        path: The file, `config.json`.
        command: The command that the run is of.
        order: A dataclass.
    """
    made_by = [*makers_so_far(path), this_maker()]
    content = {"format": FORMAT, "command": command, MADE_BY: made_by, **to_plain(order)}
    write_aside(path, json.dumps(content, indent=2) + "\n")


def load_settings(path: Path, command: str, kind: Any, upgrades: Mapping[int, Upgrade]) -> Any:
    """What was asked for when a run was begun, by this version or an earlier one.

    Args:
        path: The file, `config.json`.
        command: The command that the run must be of.
        kind: The dataclass of what was asked for.
        upgrades: By format, how it becomes the next one.

    Raises:
        RewardMachineError: The run is of another command.
        SyntaxProblem: The file is damaged, or a later version wrote it.
    """
    settings = read_settings(path)
    if settings.command != command:
        raise RewardMachineError(
            f"{path.parent}: this is a run of 'hrm {settings.command}', not of 'hrm {command}'"
        )  # fmt: skip
    content = settings.content
    for number in range(settings.format, FORMAT):
        content = _upgraded(content, upgrades[number], str(path), number)
    return from_plain(kind, content, str(path))


def _upgraded(content: Content, upgrade: Upgrade, where: str, number: int) -> Content:
    try:
        return upgrade(content)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise SyntaxProblem(f"{where}: damaged, these are not the settings of a run (format {number})") from None


@dataclass(frozen=True)
class Settings:
    """The content of `config.json`, without what made the run."""

    command: str
    format: int
    content: Content


def read_settings(path: Path) -> Settings:
    """What was written, as it was written.

    Raises:
        SyntaxProblem: The file cannot be read, or a later version wrote it.
    """
    where, text = str(path), read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:  # ValueError: also for numbers with thousands of digits
        reason = "nested too deep" if isinstance(problem, RecursionError) else getattr(problem, "msg", "a huge number")
        raise SyntaxProblem(f"{where}: damaged, this is not JSON ({reason})") from None
    found = content.pop("format", None) if isinstance(content, dict) else None
    if type(found) is not int or found < 1:
        raise SyntaxProblem(
            f"{where}: not the settings of a run: it does not say which format they have (1 to {FORMAT})"
        )
    made_by = content.pop(MADE_BY, None)  # some versions of format 1 did not write it
    if found > FORMAT:
        raise SyntaxProblem(
            f"{where}: written by a later version{_version(made_by)}, in format {found}; "
            f"this is version {package_version()}, which knows formats up to {FORMAT}"
        )
    # Format 1 had no command for runs of `hrm train`: there were no others in the beginning.
    command = content.pop("command", TRAIN if found == 1 else None)
    if not isinstance(command, str):
        raise SyntaxProblem(f"{where}: damaged, it does not say of which command the run is")
    return Settings(command, found, content)


def _version(made_by: Any) -> str:
    """Which version wrote a file last, if it says so."""
    last = made_by[-1] if isinstance(made_by, list) and made_by else None
    version = last.get(PACKAGE) if isinstance(last, dict) else None
    return f" ({PACKAGE} {version})" if isinstance(version, str) else ""


def command_of(path: Path) -> str:
    """Which command a run is of."""
    return read_settings(path).command


def difference(one: object, other: object) -> str | None:
    """The first setting in which two specs differ, in words; None if there is none."""
    ours, theirs = flat(one), flat(other)
    return next(
        (f"{name} is {theirs.get(name)}, not {ours[name]}" for name in ours if ours[name] != theirs.get(name)), None
    )


def flat(spec: object) -> dict[str, Any]:
    """Every setting by its full name, such as `config.network.hidden`."""
    found: dict[str, Any] = {}

    def visit(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                visit(item, f"{name}.{key}" if name else key)
        else:
            found[name] = value

    visit(to_plain(spec), "")
    return found
