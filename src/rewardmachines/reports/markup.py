"""HTML in which no name can do harm: whatever is not markup already is escaped."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import quote

_EMPTY: Final = frozenset({"img", "br", "meta"})


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: str) -> Markup:
    """An element. Attributes that are words of Python end in an underscore.

    >>> tag("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    said = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{said}>" if name in _EMPTY else f"<{name}{said}>{joined(*content)}</{name}>")


def joined(*content: str) -> Markup:
    return Markup("".join(one if isinstance(one, Markup) else escape(one) for one in content))


def address(path: str) -> str:
    """Of a file of the report, for a link: names of tasks may hold what means something in addresses."""
    return quote(path)
