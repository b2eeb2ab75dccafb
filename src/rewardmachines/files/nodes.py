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
"""The largest number of texts, lists and mappings in a file: more than the largest flat machine needs."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 40

Value: TypeAlias = "str | list[Node] | dict[str, Node]"


@dataclass(frozen=True, slots=True)
class Line:
    """A location in a YAML text."""

    source: str
    number: int

    def __str__(self) -> str:
        return f"{self.source}, line {self.number}"


@dataclass(frozen=True, slots=True)
class Member:
    """A location in a JSON text: a key of a mapping, or an index of a list, of the location above it.

    It is spelled when it is asked for: a long key may have very many locations below it.
    """

    above: Member | str
    """The name of the text, where there is no location above."""
    step: str | int

    def __str__(self) -> str:
        steps: list[str] = []
        location: Member | str = self
        while isinstance(location, Member):
            steps.append(f"[{location.step}]" if isinstance(location.step, int) else f".{shown(location.step)}")
            location = location.above
        return f"{location}, {''.join(reversed(steps)).removeprefix('.')}"


Location: TypeAlias = Line | Member | str


@dataclass(frozen=True, slots=True)
class Node:
    """A text, a list or a mapping, and where it stands."""

    value: Value
    location: Location

    @property
    def where(self) -> str:
        """The position of the node, as messages say it."""
        return str(self.location)

    def fail(self, message: str) -> NoReturn:
        """Raises an error that says where the node stands."""
        raise SyntaxProblem(f"{self.where}: {message}")

    def text(self, description: str) -> str:
        """The text of the node, which must be one."""
        if not isinstance(self.value, str):
            self.fail(f"{description} must be a text, not {_kind(self.value)}")
        return self.value

    def items(self, description: str) -> list[Node]:
        """The items of the node, which must be a list."""
        if not isinstance(self.value, list):
            self.fail(f"{description} must be a list, such as [a, b], not {_kind(self.value)}")
        return self.value

    def texts(self, description: str) -> list[str]:
        """The texts of the node, which must be a list of texts."""
        return [item.text(f"each entry of {description}") for item in self.items(description)]

    def mapping(self, description: str, keys: Iterable[str] | None = None) -> dict[str, Node]:
        """The entries; with `keys`, no others are allowed."""
        if not isinstance(self.value, dict):
            self.fail(f"{description} must be a mapping of keys to values, not {_kind(self.value)}")
        known = None if keys is None else list(keys)
        for key, node in self.value.items():
            if known is not None and key not in known:
                hint = suggestion(shown(key), known) or f"; possible are {', '.join(known)}"
                node.fail(f"'{shown(key)}' means nothing in {description}{hint}")
        return self.value


class Counter:
    """Counts the nodes of a text while they are made, and refuses too many."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._count = 0

    def add(self) -> None:
        """Counts one node more, and refuses files that have too many."""
        self._count += 1
        if self._count > MAX_NODES:
            raise TooLargeError(f"{self._source}: more than {MAX_NODES:,} entries, which no such file should have")


def check_text(text: str, where: Location) -> None:
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
