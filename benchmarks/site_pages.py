"""Lays out the pages of the documentation site: `make docs` builds the site from what is written here.

The pages in docs are written for the repository: they link to other files, to examples and to figures of results. In a
site, all of these are pages and pictures as well. This script copies them into one folder and corrects the links
between them. It needs the standard library alone. A link that leads nowhere is an error.

    python benchmarks/site_pages.py build/docs
"""

from __future__ import annotations

import re
import shutil
import sys
from os.path import normpath, relpath
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
TOP: Final = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages at the root of the repository, and their names in the site."""
DOORS: Final = {"README.md": "index.md"}
"""Pages of the repository that the site has no page for, and where links to them lead instead."""

_FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(?P<picture>!?)\[(?P<text>[^\[\]]*)\]\((?P<target>[^)\s]+)\)")
_DEFINITION: Final = re.compile(r"^(?P<name>\[[^\]]+\]: )(?P<target>\S+)$", re.MULTILINE)
_CODE: Final = re.compile(r"`[^`\n]+`")
"""Code within a line. In tables of GitHub its bars are escaped, in those of the site they are not."""


def lay_out(folder: Path) -> None:
    """Writes all pages and pictures of the site.

    Args:
        folder: Where to; what is there already is removed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for page in sorted((ROOT / "docs").rglob("*.md")):
        write_page(page, folder)
    for name in TOP:
        write_page(ROOT / name, folder)
    for script in sorted((ROOT / "examples").glob("*.py")):
        text = f"# {script.name}\n\n```python\n{script.read_text()}```\n"
        path = folder / site_path(f"examples/{script.name}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def write_page(page: Path, folder: Path) -> None:
    """Writes one page of the repository, with links as they are in the site, and the figures that it shows."""
    name = page.relative_to(ROOT).as_posix()
    path = folder / site_path(name)
    path.write_text(corrected(page.read_text(), name))
    for _, target in links(page.read_text()):
        file = source(name, target)
        if file.startswith("results/") and (ROOT / file).is_file():
            copy = folder / site_path(file)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, copy)


def site_path(name: str) -> str:
    """The place in the site of a file of the repository."""
    if name.startswith("examples/"):
        return str(Path(name).with_suffix(".md"))
    return (TOP | DOORS).get(name, name.removeprefix("docs/"))


def source(page: str, target: str) -> str:
    """The file of the repository that a link of a page leads to."""
    file = target.partition("#")[0]
    return normpath(Path(page).parent / file) if file else page


def links(text: str) -> list[tuple[str, str]]:
    """The links of a page that lead to other files: what is shown, and where they lead."""
    prose = _FENCE.sub("", text)
    found = [(match["text"], match["target"]) for match in _LINK.finditer(prose)]
    found += [(match["name"], match["target"]) for match in _DEFINITION.finditer(prose)]
    return [(shown, target) for shown, target in found if "://" not in target and not target.startswith("#")]


def corrected(text: str, page: str) -> str:
    """The text of a page with its links as they are in the site.

    Args:
        text: The page as it is in the repository.
        page: Its path in the repository.

    Raises:
        FileNotFoundError: A link leads nowhere.
    """

    def link(match: re.Match[str]) -> str:
        target = site_target(match["target"], page)
        if target is None:  # a folder, which a site cannot show
            return match["text"]
        text = title(source(page, match["target"])) if match["text"].endswith(".md") else match["text"]
        return f"{match['picture']}[{text}]({target})"

    def definition(match: re.Match[str]) -> str:
        return f"{match['name']}{site_target(match['target'], page)}"

    def prose(part: str) -> str:
        with_links = _DEFINITION.sub(definition, _LINK.sub(link, part))
        return _CODE.sub(lambda code: code[0].replace(r"\|", "|"), with_links)

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [prose(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, prose(text[end:])])


def title(page: str) -> str:
    """The title of a page in the site: links that show the name of its file show this instead."""
    return (ROOT / page).read_text().partition("\n")[0].removeprefix("# ")


def site_target(target: str, page: str) -> str | None:
    """The target of a page's link in the site; `None` if to a folder."""
    if "://" in target or target.startswith("#"):
        return target
    file, mark, anchor = source(page, target), *target.partition("#")[1:]
    if (ROOT / file).is_dir():
        return None
    if not (ROOT / file).is_file():
        raise FileNotFoundError(f"{page}: {target} leads nowhere")
    return relpath(site_path(file), Path(site_path(page)).parent) + mark + anchor


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
