"""Settings that are changed by their names: by a preset, or on the command line with --set NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.runs.records import from_plain, to_plain

T = TypeVar("T")


def changed(config: T, changes: tuple[str, ...], within: str | None = None) -> T:
    """The settings with some of them changed, by their full names.

    `within` is the part that names may belong to without saying so.
    """
    plain = to_plain(config)
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise RewardMachineError(f"--set {change}: write NAME=VALUE, such as batch=64")
        _assign(plain, name, _value(text), f"--set {change}", within)
    done: T = from_plain(type(config), plain, "--set")
    return done


def with_values(config: T, values: Mapping[str, Any], where: str) -> T:
    """The settings with the values of some of them replaced.

    Args:
        config: A frozen record of settings.
        values: Plain values by the full names of settings, such as `network.hidden`.
        where: What errors say first.

    Raises:
        RewardMachineError: There is no such setting, or it cannot have such a value.
    """
    plain = to_plain(config)
    for name, value in values.items():
        _assign(plain, name, to_plain(value), f"{where}: {name}")
    done: T = from_plain(type(config), plain, where)
    return done


def _assign(plain: Any, name: str, value: Any, where: str, within: str | None = None) -> None:
    first, *path = name.split(".")
    inner = plain if within is None or first in plain else plain[within]
    while path:
        inner = inner.get(first) if isinstance(inner, dict) else None
        first, *path = path
    if not isinstance(inner, dict):
        raise RewardMachineError(f"{where}: there is no such setting")
    inner[first] = value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # ValueError: also for numbers with thousands of digits
        return text
