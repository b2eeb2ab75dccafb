"""Shows the examples in docstrings as code: an extension of Griffe, which reads docstrings for the site.

Our docstrings hold examples without a heading of their own. Griffe takes such lines for text, in which brackets would
be links. Here they are put into a fence.
"""

from __future__ import annotations

import re
from typing import Any, Final

import griffe  # type: ignore[import-not-found]  # only in the environment of `make docs`

_EXAMPLE: Final = re.compile(r"^>>> .*\n?(?:^(?!\s*$).*\n?)*", re.MULTILINE)
"""Lines from the first prompt to the next empty line."""


class DocstringExamples(griffe.Extension):  # type: ignore[misc]  # a class of a library that is not there for mypy
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Called for every module, class, function and attribute that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """A docstring with a fence around every example that begins at the margin."""
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
