"""Conversion of dataclasses to plain JSON values and back; error messages say where the mistake is."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.core.hierarchy import suggestion

_HIDDEN = "hidden"
"""The mark of fields that plain records do not have."""


def hidden(default: Any) -> Any:
    """A field that is no part of the plain record, and of no comparison: a record that is read has its default."""
    return field(default=default, compare=False, repr=False, metadata={_HIDDEN: True})


def to_plain(value: object) -> Any:
    """Converts a value to plain JSON values: enums by their values, tuples as lists, infinities and NaN as texts."""
    if is_dataclass(value):
        return {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if not f.metadata.get(_HIDDEN)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(map(to_plain, value), key=json.dumps)
    if isinstance(value, dict):
        return {name: to_plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def from_plain(kind: Any, value: Any, where: str) -> Any:
    """Converts what `to_plain` has made back to a value of a type.

    No field may be missing, and nothing else may be there.

    Types of fields may depend on other fields of the record: a dataclass may have a static method
    `field_types(plain: Mapping[str, Any]) -> Mapping[str, Any]`. It is given the plain values of the record, which are
    complete but not yet checked, and returns the types of such fields by name. Fields that it leaves out have the type
    that they were declared with. Fields are read in their order: those that others depend on come first, so that a
    mistake in them is the one that is reported.

    Args:
        kind: The type: a dataclass, an enum, a literal, a tuple of any length, a frozenset, a dict with names as keys,
            an optional type, a scalar, or Any for plain values that are not looked at.
        value: The plain value.
        where: The text with which error messages begin.

    Raises:
        SyntaxProblem: The value does not fit the type.
    """
    origin = get_origin(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _record(kind, value, where)
    if origin is Literal:
        return _choice(value, {option: option for option in get_args(kind)}, where)
    if origin in (Union, types.UnionType):
        return _optional(kind, value, where)
    if origin is tuple:
        return _tuple(kind, value, where)
    if origin is frozenset:
        return frozenset(_items(get_args(kind)[0], value, where))
    if origin is dict:
        return _mapping(kind, value, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice(value, {member.value: member for member in kind}, where)
    return _scalar(kind, value, where)


def _record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        _fail(where, "a mapping of keys to values", value)
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise SyntaxProblem(f"{where}: '{name}' means nothing there{suggestion(name, hints)}")
    for name in hints:
        if name not in value:
            raise SyntaxProblem(f"{where}: '{name}' is missing")
    if hasattr(kind, "field_types"):
        hints = {**hints, **kind.field_types(value)}
    return kind(**{name: from_plain(hint, value[name], f"{where}, {name}") for name, hint in hints.items()})


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    known = get_type_hints(kind)
    return {f.name: known[f.name] for f in fields(kind) if f.init and not f.metadata.get(_HIDDEN)}


def _choice(value: Any, options: Mapping[Any, Any], where: str) -> Any:
    if not isinstance(value, (str, int)) or value not in options:
        _fail(where, f"one of {', '.join(map(str, options))}", value)
    return options[value]


def _optional(kind: Any, value: Any, where: str) -> Any:
    kinds = [member for member in get_args(kind) if member is not types.NoneType]
    if value is None and len(kinds) < len(get_args(kind)):
        return None
    fitting = (member for member in kinds if type(value) is member or _is_literal(member, value))
    return from_plain(next(fitting, kinds[0]), value, where)


def _is_literal(kind: Any, value: Any) -> bool:
    return get_origin(kind) is Literal and isinstance(value, str) and value in get_args(kind)


def _tuple(kind: Any, value: Any, where: str) -> Any:
    item_kind, *rest = get_args(kind)
    assert rest == [...], f"{where} is a tuple of a fixed length"
    return tuple(_items(item_kind, value, where))


def _items(kind: Any, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        _fail(where, "a list", value)
    return [from_plain(kind, item, f"{where}[{i}]") for i, item in enumerate(value)]


def _mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        _fail(where, "a mapping of keys to values", value)
    item_kind = get_args(kind)[1]
    return {name: from_plain(item_kind, item, f"{where}, {name}") for name, item in value.items()}


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_SHOWN = 40
"""The number of characters of a wrong value that a message shows."""
_NOT_FINITE = ("nan", "inf", "-inf")
_LARGE = 10**308
"""The least whole number that is taken to be too large for a float."""
_MANY = 2**63
"""The least number that is larger than anything that was ever counted."""


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is float and (value in _NOT_FINITE or (type(value) is int and abs(value) < _LARGE)):
        return float(value)
    if type(value) is not kind:  # compared exactly, because in Python true is an int
        _fail(where, _KINDS[kind], value)
    if kind is int and abs(value) >= _MANY:
        raise SyntaxProblem(f"{where}: larger than anything that was ever counted")
    return value


def _fail(where: str, wanted: str, value: Any) -> NoReturn:
    try:
        shown = str(value)[:_SHOWN] or "nothing"
    except ValueError:  # a number with thousands of digits, or what holds one
        shown = "a huge number"
    raise SyntaxProblem(f"{where}: must be {wanted}, not {shown}")


def difference(asked: object, begun: object) -> str | None:
    """The first setting in which two records differ, in words.

    Args:
        asked: The record that is asked for now.
        begun: The record that the run was begun with.

    Returns:
        The name of the setting and both values; None if they are equal.
    """
    now, before = flat(asked), flat(begun)
    names = (name for name in {**now, **before} if now.get(name) != before.get(name))
    return next((f"{name} is {before.get(name)}, not {now.get(name)}" for name in names), None)


def flat(record: object) -> dict[str, Any]:
    """All settings of a record by their full names, such as `settings.network.hidden`."""
    settings: dict[str, Any] = {}

    def visit(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                visit(item, f"{name}.{key}" if name else key)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for number, item in enumerate(value):
                visit(item, f"{name}[{number}]")
        else:
            settings[name] = value

    visit(to_plain(record), "")
    return settings
