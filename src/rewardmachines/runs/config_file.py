"""The file `config.json`: what a run was asked to do, and the record of what made it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files import dumps, loads, write_aside
from rewardmachines.files.document import parse_json, read_text
from rewardmachines.files.records import difference, from_plain, to_plain
from rewardmachines.files.version import PACKAGE, package_version
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.maker import MADE_BY, makers_so_far, this_maker

FORMAT: Final = 1
"""The format of the file that this version writes and reads."""
HIERARCHIES: Final = "hierarchies"
"""The key of the given hierarchies, by task."""


def save_config(path: Path, config: RunConfig, hierarchies: Mapping[str, Hierarchy]) -> None:
    """Writes the config of a run, and adds this process to the record of versions and devices that made it.

    Args:
        path: The file, `config.json`.
        config: The config of the run.
        hierarchies: The hierarchies of tasks, where they are given.
    """
    made_by = [*makers_so_far(path), this_maker()]
    trees = {name: dumps(tree) for name, tree in hierarchies.items()}
    content = {"format": FORMAT, MADE_BY: made_by, **to_plain(config), HIERARCHIES: trees}
    write_aside(path, json.dumps(content, indent=2) + "\n")


def load_config(path: Path) -> tuple[RunConfig, dict[str, Hierarchy]]:
    """Reads the config of a run, and the hierarchies that are given.

    Raises:
        SyntaxProblem: The file is damaged, or another version wrote it.
    """
    where, content = str(path), read_content(path)
    trees = content.pop(HIERARCHIES, {})
    content.pop(MADE_BY, None)
    try:
        config: RunConfig = from_plain(RunConfig, content, where)
    except SyntaxProblem:
        raise
    except RewardMachineError as problem:  # each value is a right one, but they make no sense together
        raise SyntaxProblem(f"{where}: {problem}") from None
    if not isinstance(trees, dict) or not all(isinstance(text, str) for text in trees.values()):
        raise SyntaxProblem(f"{where}: damaged, '{HIERARCHIES}' must be a mapping of tasks to machine files")
    hierarchies = {name: loads(text, f"{where}, hierarchy of '{name}'") for name, text in trees.items()}
    if not config.learns_machines and (missing := [name for name in config.tasks if name not in hierarchies]):
        raise SyntaxProblem(f"{where}: damaged, the hierarchy of '{missing[0]}' is missing")
    return config, hierarchies


def read_content(path: Path) -> dict[str, Any]:
    """Reads the file as plain values, without its format.

    Raises:
        SyntaxProblem: The file cannot be read, or another version wrote it.
    """
    where, content = str(path), parse_json(read_text(path), str(path))
    version = content.pop("format", None) if isinstance(content, dict) else None
    if type(version) is not int or version < 1:
        raise SyntaxProblem(f"{where}: not the config of a run: it does not say which format it has")
    if version != FORMAT:
        raise SyntaxProblem(
            f"{where}: written by another version{_version(content.get(MADE_BY))}, in format {version}; "
            f"this is version {package_version()}, which knows format {FORMAT}"
        )
    found: dict[str, Any] = content
    return found


def _version(made_by: Any) -> str:
    """The version that wrote a file last, in parentheses, if the record of what made the run names it."""
    last = made_by[-1] if isinstance(made_by, list) and made_by else None
    version = last.get(PACKAGE) if isinstance(last, dict) else None
    return f" ({PACKAGE} {version})" if isinstance(version, str) else ""


def check_same(asked: RunConfig, begun: RunConfig, where: str) -> None:
    """Checks that a run is resumed with what it was begun with, limits apart.

    Environments without names may be given again.

    Raises:
        RewardMachineError: Something else is asked for.
    """
    if differs := difference(_comparable(asked, begun), _comparable(begun, asked)):
        raise RewardMachineError(f"{where}: the run was begun with other settings: {differs}")


def _comparable(config: RunConfig, other: RunConfig) -> dict[str, Any]:
    """The settings that must be the same."""
    content: dict[str, Any] = to_plain(config)
    if config.gym is not None and other.gym is not None:
        content["gym"] = to_plain(config.gym.without_names_unknown_to(other.gym))
    return {name: value for name, value in content.items() if name not in ("budget", "stop_at")}
