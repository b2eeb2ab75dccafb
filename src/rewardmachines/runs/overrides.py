"""Settings that are changed on the command line: --set NAME=VALUE."""

from __future__ import annotations

import json
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
        first, *path = name.split(".")
        inner = plain if within is None or first in plain else plain[within]
        while path:
            inner = inner.get(first) if isinstance(inner, dict) else None
            first, *path = path
        if not isinstance(inner, dict):
            raise RewardMachineError(f"--set {change}: there is no such setting")
        inner[first] = _value(text)
    done: T = from_plain(type(config), plain, "--set")
    return done


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # ValueError: also for numbers with thousands of digits
        return text
