"""Changes of settings by their names: those of a preset, or on the command line with --set NAME=VALUE."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.files.records import from_plain, to_plain

T = TypeVar("T")


def changed(config: T, changes: tuple[str, ...], within: str | None = None) -> T:
    """Settings with the changes of the command line.

    Args:
        config: A frozen record of settings.
        changes: Texts such as `network.hidden=64`, each with the full name of a setting and its new value.
        within: The part of the record whose name may be left out, if there is one.

    Raises:
        RewardMachineError: There is no such setting, or it cannot have such a value.
    """
    plain = to_plain(config)
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise RewardMachineError(f"--set {change}: write NAME=VALUE, such as batch=64")
        _assign(plain, name, _value(text), f"--set {change}", within)
    result: T = from_plain(type(config), plain, "--set")
    return result


def with_named(config: T, values: Mapping[str, Any], within: str | None = None) -> T:
    """Settings with the values of a mapping, such as `{"batch": 64, "network.hidden": [128]}`.

    Args:
        config: A frozen record of settings.
        values: The new values by the full names of settings.
        within: The part of the record whose name may be left out, if there is one.

    Raises:
        RewardMachineError: There is no such setting, or it cannot have such a value.
    """
    plain = to_plain(config)
    for name, value in values.items():
        _assign(plain, str(name), to_plain(value), f"settings: {name}", within)
    result: T = from_plain(type(config), plain, "settings")
    return result


def with_values(config: T, values: Mapping[str, Any], where: str) -> T:
    """Settings with the values of some of them replaced.

    Args:
        config: A frozen record of settings.
        values: Plain values by the names of settings, those of inner records in mappings of their own.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: There is no such setting, or it cannot have such a value.
    """
    result: T = from_plain(type(config), merged(to_plain(config), to_plain(values)), where)
    return result


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested mappings with the values of others added or put in place of theirs.

    >>> merged({"batch": 1, "network": {"body": "cnn", "hidden": [8]}}, {"network": {"hidden": [4, 4]}})
    {'batch': 1, 'network': {'body': 'cnn', 'hidden': [4, 4]}}
    """
    found = dict(values)
    for name, value in changes.items():
        is_inner = isinstance(value, Mapping) and isinstance(found.get(name), Mapping)
        found[name] = merged(found[name], value) if is_inner else value
    return found


def _assign(plain: Any, name: str, value: Any, where: str, within: str | None = None) -> None:
    """Replaces the value of a setting in a tree of plain values; whether it fits is checked afterwards."""
    first, *path = name.split(".")
    if within is not None and first not in (known := {**plain, **plain[within]}):
        raise RewardMachineError(f"{where}: '{first}' means nothing there{suggestion(first, known)}")
    inner = plain if within is None or first in plain else plain[within]
    while path:
        inner = inner.get(first) if isinstance(inner, dict) else None
        first, *path = path
    if not isinstance(inner, dict):
        raise RewardMachineError(f"{where}: there is no such setting")
    inner[first] = value


def _value(text: str) -> Any:
    """A JSON value, or the text itself where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # ValueError: also for numbers with thousands of digits
        return text
