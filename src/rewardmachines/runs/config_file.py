"""How an order is written to `config.json`, and which command it was given to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.files import write_aside
from rewardmachines.files.document import read_text
from rewardmachines.runs.maker import MADE_BY, makers_so_far, this_maker
from rewardmachines.runs.records import from_plain, to_plain

FORMAT: Final = 1
TRAIN: Final = "train"
LEARN: Final = "learn"
"""The commands that make runs."""


def save_settings(path: Path, command: str, order: object) -> None:
    """Writes an order, and what made the run: whoever resumes it is recorded beside whoever began it.

    Runs of `hrm train` do not say so: they did not in the beginning, when there were no others.
    """
    said = {} if command == TRAIN else {"command": command}
    made_by = [*makers_so_far(path), this_maker()]
    content = {"format": FORMAT, **said, MADE_BY: made_by, **to_plain(order)}
    write_aside(path, json.dumps(content, indent=2) + "\n")


def load_settings(path: Path, command: str, kind: Any) -> Any:
    """The order, of this kind, of a run of this command."""
    found, content = read_settings(path)
    if found != command:
        raise RewardMachineError(f"{path.parent}: this is a run of 'hrm {found}', not of 'hrm {command}'")
    return from_plain(kind, content, str(path))


def command_of(path: Path) -> str:
    """Which command a run is of."""
    return read_settings(path)[0]


def read_settings(path: Path) -> tuple[str, dict[str, Any]]:
    """The command that a run is of, and what was ordered, as it was written, without what made the run.

    Raises:
        SyntaxProblem: The file cannot be read as settings of this version.
    """
    where, text = str(path), read_text(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as problem:  # ValueError: also for numbers with thousands of digits
        reason = "nested too deep" if isinstance(problem, RecursionError) else getattr(problem, "msg", "a huge number")
        raise SyntaxProblem(f"{where}: damaged, this is not JSON ({reason})") from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise SyntaxProblem(f"{where}: not the settings of a run as this version writes them (format {FORMAT})")
    content.pop(MADE_BY, None)  # earlier versions did not write it
    return str(content.pop("command", TRAIN)), content


def difference(one: object, other: object) -> str | None:
    """The first thing in which two specs differ, in words."""
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
