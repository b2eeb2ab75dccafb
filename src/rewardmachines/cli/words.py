"""How arguments of each type are read, and what the help calls them: words for people, not types of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, Final, get_args

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from rewardmachines.cli.numbers import read_number, read_whole

_NOT_GIVEN: Final = "none"
"""What the help shows as the default of an argument that need not be given."""


def _one_word(kind: type, metavar: str, read: Callable[[str], object]) -> PrimitiveConstructorSpec[Any]:
    """How an argument of one word is read."""

    def from_words(words: Sequence[str]) -> object:
        return read(words[0])

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=from_words,
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


_KINDS: Final[dict[Any, PrimitiveConstructorSpec[Any]]] = {
    int: _one_word(int, "NUMBER", read_whole),
    float: _one_word(float, "NUMBER", read_number),
    str: _one_word(str, "TEXT", str),
}

WORDS: Final = ConstructorRegistry()
"""The rules by which the parser reads arguments."""


@WORDS.primitive_rule
def _in_words(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Reads numbers as people write them; what need not be given is read as if it had to be."""
    if info.type in _KINDS:
        return _KINDS[info.type]
    members = get_args(info.type)
    if len(members) != 2 or NoneType not in members:
        return None
    (wanted,) = (member for member in members if member is not NoneType)
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(wanted, info.markers))
    return _optional(spec) if isinstance(spec, PrimitiveConstructorSpec) else None


def _optional(spec: PrimitiveConstructorSpec[Any]) -> PrimitiveConstructorSpec[Any]:
    """How an argument is read that is None if it is not given; nobody has to write None."""
    return replace(
        spec,
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: [_NOT_GIVEN] if value is None else spec.str_from_instance(value),
    )
