"""The file `config.json`: the settings of a run, their format, and the command that made the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.files.version import PACKAGE, package_version
from rewardmachines.runs.maker import MADE_BY, makers_so_far, this_maker
from rewardmachines.runs.records import from_plain, to_plain

FORMAT: Final = 4
"""The format of the settings that this version writes. It grows with every change that older versions do not know."""
TRAIN: Final = "train"
"""The command that trains policies for a given hierarchy."""
LEARN: Final = "learn"
"""The command that learns hierarchies and policies."""
LEARN_GYMNASIUM: Final = "learn-gymnasium"
"""The same on Gymnasium environments, which a function of Python begins."""
TRAIN_GYMNASIUM: Final = "train-gymnasium"
"""Training on Gymnasium environments, which a function of Python begins."""

Content: TypeAlias = dict[str, Any]
"""The settings of a run as plain JSON values."""
Upgrade: TypeAlias = Callable[[Content], Content]
"""Rewrites settings from one format to the next. Settings that did not exist get the value that versions of that format
used implicitly, and settings that no longer exist are left out."""


def save_settings(path: Path, command: str, order: object) -> None:
    """Writes the settings of a run, and adds this process to the record of versions and devices that made it.

    Args:
        path: The file, `config.json`.
        command: The command that makes the run.
        order: The settings, a dataclass.
    """
    made_by = [*makers_so_far(path), this_maker()]
    content = {"format": FORMAT, "command": command, MADE_BY: made_by, **to_plain(order, brief=True)}
    write_aside(path, json.dumps(content, indent=2) + "\n")


def load_settings(path: Path, command: str, kind: Any, upgrades: Mapping[int, Upgrade]) -> Any:
    """Reads the settings of a run that this version or an earlier one has begun.

    Args:
        path: The file, `config.json`.
        command: The command that must have made the run.
        kind: The dataclass of the settings.
        upgrades: The functions that rewrite settings to the next format, by format. A format that is not among them
            has the same settings of this command as the next.

    Returns:
        The settings, of the class `kind`.

    Raises:
        RewardMachineError: Another command made the run.
        SyntaxProblem: The file is damaged, or a later version wrote it.
    """
    settings = read_settings(path)
    if settings.command != command:
        raise RewardMachineError(f"{path.parent}: this is a run of {maker(settings.command)}, not of {maker(command)}")
    content = settings.content
    for number in range(settings.format, FORMAT):
        if number in upgrades:
            content = _upgraded(content, upgrades[number], str(path), number)
    return from_plain(kind, content, str(path))


def _upgraded(content: Content, upgrade: Upgrade, where: str, number: int) -> Content:
    try:
        return upgrade(content)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise SyntaxProblem(f"{where}: damaged, these are not the settings of a run (format {number})") from None


@dataclass(frozen=True)
class Settings:
    """The content of `config.json` without the record of what made the run."""

    command: str
    """The command that made the run."""
    format: int
    """The format of the content."""
    content: Content
    """The settings as they were written."""


def read_settings(path: Path) -> Settings:
    """Reads the settings of a run in the format in which they were written.

    Raises:
        SyntaxProblem: The file cannot be read, or a later version wrote it.
    """
    where, text = str(path), read_text(path)
    content = parse_json(text, where)
    version = content.pop("format", None) if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise SyntaxProblem(
            f"{where}: not the settings of a run: it does not say which format they have (1 to {FORMAT})"
        )
    made_by = content.pop(MADE_BY, None)  # some versions of format 1 did not write it
    if version > FORMAT:
        raise SyntaxProblem(
            f"{where}: written by a later version{_version(made_by)}, in format {version}; "
            f"this is version {package_version()}, which knows formats up to {FORMAT}"
        )
    # Format 1 had no command for runs of `hrm train`: there were no others in the beginning.
    command = content.pop("command", TRAIN if version == 1 else None)
    if not isinstance(command, str):
        raise SyntaxProblem(f"{where}: damaged, it does not say of which command the run is")
    return Settings(command, version, content)


def _version(made_by: Any) -> str:
    """The version that wrote a file last, in parentheses, if the record of what made the run names it."""
    last = made_by[-1] if isinstance(made_by, list) and made_by else None
    version = last.get(PACKAGE) if isinstance(last, dict) else None
    return f" ({PACKAGE} {version})" if isinstance(version, str) else ""


def maker(command: str) -> str:
    """What is typed to make a run, for messages.

    >>> maker(LEARN), maker(LEARN_GYMNASIUM)
    ("'hrm learn'", "'rm.learn_gymnasium'")
    """
    functions = {LEARN_GYMNASIUM: "'rm.learn_gymnasium'", TRAIN_GYMNASIUM: "'rm.train_gymnasium'"}
    return functions.get(command, f"'hrm {command}'")


def command_of(path: Path) -> str:
    """The command that made the run with these settings."""
    return read_settings(path).command


def difference(asked: object, begun: object) -> str | None:
    """The first setting in which two specs differ, in words.

    Args:
        asked: The spec that is asked for now.
        begun: The spec that the run was begun with.

    Returns:
        The name of the setting and both values; None if the specs are equal.
    """
    now, before = flat(asked), flat(begun)
    return next(
        (f"{name} is {before.get(name)}, not {now[name]}" for name in now if now[name] != before.get(name)), None
    )


def flat(spec: object) -> dict[str, Any]:
    """All settings of a spec by their full names, such as `config.network.hidden`."""
    settings: dict[str, Any] = {}

    def visit(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                visit(item, f"{name}.{key}" if name else key)
        else:
            settings[name] = value

    visit(to_plain(spec), "")
    return settings
