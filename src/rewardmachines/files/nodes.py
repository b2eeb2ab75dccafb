"""Trees of text whose parts know where they stood: what YAML and JSON are read into.

Scalars stay text: `when: true` or a proposition called `no` mean what they say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from rewardmachines.core.errors import SyntaxProblem, TooLargeError
from rewardmachines.core.hierarchy import suggestion

MAX_DEPTH: Final = 20
MAX_NODES: Final = 2_000_000
"""How many texts, lists and mappings a file may hold: more than the largest flat machine needs."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 40

Value: TypeAlias = "str | list[Node] | dict[str, Node]"


@dataclass(frozen=True, slots=True)
class Line:
    """A place in a YAML text."""

    source: str
    number: int

    def __str__(self) -> str:
        return f"{self.source}, line {self.number}"


@dataclass(frozen=True, slots=True)
class Member:
    """A place in a JSON text: a key of a mapping, or an index of a list, of the place above it.

    It is spelled when it is asked for: a long key may have very many places below it.
    """

    above: Member | str
    """The name of the text, where there is no place above."""
    step: str | int

    def __str__(self) -> str:
        steps: list[str] = []
        place: Member | str = self
        while isinstance(place, Member):
            steps.append(f"[{place.step}]" if isinstance(place.step, int) else f".{shown(place.step)}")
            place = place.above
        return f"{place}, {''.join(reversed(steps)).removeprefix('.')}"


Place: TypeAlias = Line | Member | str


@dataclass(frozen=True, slots=True)
class Node:
    """A text, a list or a mapping, and where it stands."""

    value: Value
    place: Place

    @property
    def where(self) -> str:
        return str(self.place)

    def fail(self, message: str) -> NoReturn:
        raise SyntaxProblem(f"{self.where}: {message}")

    def text(self, what: str) -> str:
        if not isinstance(self.value, str):
            self.fail(f"{what} must be a text, not {_kind(self.value)}")
        return self.value

    def items(self, what: str) -> list[Node]:
        if not isinstance(self.value, list):
            self.fail(f"{what} must be a list, such as [a, b], not {_kind(self.value)}")
        return self.value

    def texts(self, what: str) -> list[str]:
        return [item.text(f"each entry of {what}") for item in self.items(what)]

    def mapping(self, what: str, keys: Iterable[str] | None = None) -> dict[str, Node]:
        """The entries; with `keys`, no others are allowed."""
        if not isinstance(self.value, dict):
            self.fail(f"{what} must be a mapping of keys to values, not {_kind(self.value)}")
        known = None if keys is None else list(keys)
        for key, node in self.value.items():
            if known is not None and key not in known:
                hint = suggestion(shown(key), known) or f"; possible are {', '.join(known)}"
                node.fail(f"'{shown(key)}' means nothing in {what}{hint}")
        return self.value


class Counter:
    """Counts the nodes of a text while they are made, and refuses too many."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._count = 0

    def add(self) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            raise TooLargeError(f"{self._source}: more than {MAX_NODES:,} entries, which no such file should have")


def check_text(text: str, where: Place) -> None:
    """Refuses halves of characters (lone surrogates), which JSON can escape but no file can hold."""
    if half := _SURROGATE.search(text):
        code = f"\\u{ord(half.group()):04x}"
        raise SyntaxProblem(f"{where}: {code} is half a character; write the whole one, or leave it out")


def shown(text: str) -> str:
    """The beginning of a text, for messages."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _kind(value: Value) -> str:
    if isinstance(value, str):
        return f"the text '{shown(value)}'" if value else "nothing"
    return "a list" if isinstance(value, list) else "a mapping"
