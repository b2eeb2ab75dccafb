"""The description of the package for package indices, which have no other file of the repository.

Everything else is in pyproject.toml. As long as `project.urls` has no `Repository`, links into the repository become
plain text and pictures are left out; with one, both lead there.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)\n*")
_LINK = re.compile(r"\[([^\]]+)\]\((?!\w+:)([^)\s]+)\)")
_DEFINITION = re.compile(r"^\[([^\]]+)\]: (?!\w+:)(\S+)\n", re.MULTILINE)


def description(readme: str, repository: str | None) -> str:
    """Rewrites what only leads somewhere inside the repository.

    Args:
        readme: The text of README.md.
        repository: The address of the repository, if it has one.

    Returns:
        The same text, with addresses instead of paths; without an address, the words alone.
    """
    if repository is not None:
        base = repository.rstrip("/")
        text = _PICTURE.sub(lambda m: f"![{m[1]}]({base}/raw/HEAD/{m[2]})\n\n", readme)
        text = _LINK.sub(lambda m: f"[{m[1]}]({base}/blob/HEAD/{m[2]})", text)
        return _DEFINITION.sub(lambda m: f"[{m[1]}]: {base}/blob/HEAD/{m[2]}\n", text)
    names = [name for name, _ in _DEFINITION.findall(readme)]
    text = _LINK.sub(r"\1", _PICTURE.sub("", _DEFINITION.sub("", readme)))
    for name in names:
        text = re.sub(rf"\[([^\]]+)\]\[{re.escape(name)}\]", r"\1", text)
    return text


if __name__ == "__main__":
    from setuptools import setup

    here = Path(__file__).parent
    urls = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    setup(
        long_description=description((here / "README.md").read_text(encoding="utf-8"), urls.get("Repository")),
        long_description_content_type="text/markdown",
    )
