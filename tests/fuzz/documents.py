"""Texts that are nearly right: documents of a format, cut, doubled, wrapped and mixed, and sometimes very long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hypothesis import strategies as st

LONGEST: Final = 20_000
"""Characters of a text, so that thousands of them are read in a minute."""

_TIMES: Final = (2, 3, 10, 30, 300, 5_000)
_BRACKETS: Final = (("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("!(", ")"), ('{"a": ', "}"), ("/*", "*/"))
_ODD: Final = (
    "\x00", "\n", "\t", "\ufeff", "\u2028", "\ud800", "é", "😀", '"', "'", "\\", "\\u", "\\ud800", "%", "---", "...",
    "&a ", "*a", "!!python/object:os.system ", "<<: ", "true", "null", "~", "-1", "1e999", "NaN", "9" * 5_000,
)  # fmt: skip

Change = Callable[[str, int, int, str], str]


def _delete(text: str, at: int, size: int, _: str) -> str:
    return text[:at] + text[at + size :]


def _insert(text: str, at: int, _: int, token: str) -> str:
    return text[:at] + token + text[at:]


def _replace(text: str, at: int, size: int, token: str) -> str:
    return text[:at] + token + text[at + size :]


def _move(text: str, at: int, size: int, _: str) -> str:
    return text[at : at + size] + text[:at] + text[at + size :]


_CHANGES: Final[Sequence[Change]] = (_delete, _insert, _replace, _move)


@st.composite
def _changed(draw: st.DrawFn, texts: st.SearchStrategy[str], tokens: st.SearchStrategy[str]) -> str:
    text = draw(texts)
    for _ in range(draw(st.integers(0, 3))):
        at, size = draw(st.integers(0, len(text))), draw(st.integers(0, 12))
        text = draw(st.sampled_from(_CHANGES))(text, at, size, draw(tokens))
    return text


@st.composite
def _lengthened(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A part is repeated, or the whole is wrapped in brackets, so often that recursion and products would show."""
    text, times = draw(texts), draw(st.sampled_from(_TIMES))
    at, size = draw(st.integers(0, len(text))), draw(st.integers(1, 40))
    if draw(st.booleans()):
        return (text[:at] + text[at : at + size] * times + text[at + size :])[:LONGEST]
    opening, closing = draw(st.sampled_from(_BRACKETS))
    inside = text[at : at + size]
    return (text[:at] + opening * times + inside + closing * times + text[at + size :])[:LONGEST]


def documents(seeds: Sequence[str], tokens: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts of a format that has these documents and tokens.

    Args:
        seeds: Documents that can be read.
        tokens: What documents are made of.

    Returns:
        The documents changed in a few places, tokens in any order, and any text at all; each now and then made long.
    """
    token = st.sampled_from([*tokens, *_ODD]) | st.text(st.characters(), max_size=4)
    soup = st.lists(token, max_size=25).map(" ".join) | st.lists(token, max_size=25).map("".join)
    short = _changed(st.sampled_from(list(seeds)), token) | soup | st.text(st.characters(), max_size=80)
    return short | _changed(st.sampled_from(list(seeds)), token) | _lengthened(short)
