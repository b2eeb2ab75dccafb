"""The settings of a config: name, kind in words, value, and meaning."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from itertools import pairwise
from textwrap import wrap
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from rewardmachines.files.records import to_plain

_WIDTH: Final = 118
_LARGE: Final = 100
"""From here, numbers have no decimal point unless they need one; from its square, they have underscores."""
_KINDS: Final = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True)
class Setting:
    """A setting in words."""

    name: str
    """Its full name, such as `network.hidden`, as `--set` takes it."""
    kind: str
    """Its possible values, in words."""
    value: Any
    """Its value, as in JSON."""
    meaning: str
    """The documentation of its field."""


def described_settings(config: Any, within: str | None = None) -> tuple[Setting, ...]:
    """All settings of a record, those of records in it with their full names.

    Args:
        config: A frozen record of settings, whose fields have texts below them.
        within: The part of the record whose name may be left out, if there is one.
    """
    return tuple(_described(config, "", within))


def _described(config: Any, prefix: str, within: str | None) -> Iterator[Setting]:
    hints, meanings = get_type_hints(type(config)), field_texts(type(config))
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value):
            yield from _described(value, prefix if field.name == within else f"{prefix}{field.name}.", None)
            continue
        name, kind = prefix + field.name, kind_in_words(hints[field.name])
        yield Setting(name, kind, to_plain(value), meanings.get(field.name, ""))


def toml_of_settings(parts: Mapping[str, Sequence[Setting]]) -> str:
    """The text of a TOML file with settings, which comments explain where their meaning first occurs.

    Args:
        parts: The settings by the names of tables.
    """
    lines, explained = list[str](), set[str]()
    for part, settings in parts.items():
        lines += ["", f"[{part}]"]
        for each in settings:
            if each.meaning not in explained:
                lines += wrap(each.meaning, _WIDTH, initial_indent="# ", subsequent_indent="# ")
            explained.add(each.meaning)
            kind = each.kind.removesuffix(" or null")
            is_given = each.value is not None
            lines.append(
                f"{each.name} = {_toml(each.value)}  # {kind}" if is_given else f"# {each.name} is not set: {kind}"
            )
    return "\n".join(lines[1:])


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and value.is_integer() and value >= _LARGE:
        value = int(value)
    return f"{value:_}" if type(value) is int and value >= _LARGE**2 else json.dumps(value)


def kind_in_words(hint: Any) -> str:
    """The possible values of a type, in words.

    >>> kind_in_words(int | None), kind_in_words(tuple[int, ...]), kind_in_words(Literal["adam", "rmsprop"])
    ('a whole number or null', 'a list, each a whole number', 'adam or rmsprop')
    """
    members = get_args(hint)
    if get_origin(hint) is Literal:
        return _or(members)
    if members and all(member in _KINDS for member in members):
        return _or([_KINDS[member] for member in members if member is not int or float not in members])
    if NoneType in members:
        return f"{_or([kind_in_words(member) for member in members if member is not NoneType])} or null"
    if get_origin(hint) is tuple:
        return f"a list, each {kind_in_words(members[0])}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _or([member.value for member in hint])
    return _KINDS[hint]


def _or(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def field_texts(kind: type) -> dict[str, str]:
    """The texts below the fields of a record and of the records that it extends; only their source has them."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if is_dataclass(base):
            found |= _texts(base)
    return found


def _texts(kind: type) -> dict[str, str]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for statement, below in pairwise(body.body):
        match statement, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
