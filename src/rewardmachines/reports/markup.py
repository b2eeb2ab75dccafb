"""HTML that is safe from the names it contains: every text that is not yet markup is escaped."""

from __future__ import annotations

from html import escape
from typing import Final
from urllib.parse import quote

_EMPTY: Final = frozenset({"img", "br", "meta"})
"""Elements that have no content and no end tag."""


class Markup(str):
    """A text that is HTML already, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *content: str, **attributes: str) -> Markup:
    """Makes an element.

    Args:
        name: The name of the element.
        content: Its content; what is not markup is escaped.
        attributes: Its attributes; those that are keywords of Python end in an underscore.

    >>> tag("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    shown = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{shown}>" if name in _EMPTY else f"<{name}{shown}>{joined(*content)}</{name}>")


def joined(*content: str) -> Markup:
    """Joins parts, and escapes those that are not markup."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in content))


def address(path: str) -> str:
    """The address of a file of the report. Names of tasks may contain characters that have a meaning in addresses."""
    return quote(path)
