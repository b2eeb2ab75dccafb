"""What the pages of all reports have in common: the document, its tiles, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.reports.markup import Markup, address, tag

PAGE: Final = "index.html"
"""The name of the page of a report."""
_MARK: Final = tag("meta", name="generator", content="rewardmachines")
"""The mark of all pages, by which a report knows that it may be replaced."""
_BEGINNING: Final = 1000
"""The number of bytes in which the mark is looked for."""


def claim_folder(folder: Path) -> None:
    """Makes a folder for a report, and marks it by a page, so that a report that is broken off can be written again.

    Args:
        folder: A folder that does not exist, is empty, or holds a report.

    Raises:
        RewardMachineError: There is something else, which a report could replace.
    """
    page = folder / PAGE
    if page.is_file():
        with page.open("rb") as file:
            if _MARK.encode() in file.read(_BEGINNING):
                return
    if folder.is_dir() and (found := next(iter(sorted(folder.iterdir())), None)) is not None:
        name = PAGE if page.is_file() else found.name
        raise RewardMachineError(f"{folder}: it holds '{name}', which is of no report; choose another folder with -o")
    folder.mkdir(parents=True, exist_ok=True)
    write_aside(page, document("Report", [tag("p", "This report is being written, or was broken off.")]))


def document(title: str, sections: Iterable[Markup]) -> str:
    """The text of an HTML page, light or dark as people prefer, without scripts and without anything from other sites.

    Args:
        title: The title of the page.
        sections: Its contents, from top to bottom.
    """
    style = (resources.files("rewardmachines.reports") / "page.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        _MARK,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", tag("main", *sections)), lang="en") + "\n"


def tile(value: str, unit: str) -> Markup:
    """An important number, and what it counts."""
    return tag("div", tag("b", value), tag("span", unit), class_="tile")


def wide_table(*rows: Markup) -> Markup:
    """A table that can be scrolled sideways where the page is narrow."""
    return tag("div", tag("table", *rows), class_="box wide-table")


def figure(path: str, description: str, caption: str) -> Markup:
    """A picture with a caption.

    Args:
        path: The path of the picture inside the report.
        description: What it shows, for people who cannot see it.
        caption: The text below it.
    """
    return tag("figure", tag("img", src=address(path), alt=description), tag("figcaption", caption))


def player(path: str, size: tuple[int, int], description: str, *caption: str) -> Markup:
    """A film that can be paused, with a caption.

    The page of the film has a script, and is kept apart from this one, which has none.

    Args:
        path: The path of the film's page inside the report.
        size: The width and the height of its frames in pixels.
        description: What it shows, for people who cannot see it.
        caption: The text below it.
    """
    width, height = size
    frame = tag("iframe", src=address(path), title=description, sandbox="allow-scripts")
    film = tag("div", frame, class_="film", style=f"--width: {width}px; --ratio: {height / width:.4f}")
    return tag("figure", film, tag("figcaption", *caption))


def duration(seconds: float) -> str:
    """Writes a time in its two largest units.

    >>> duration(337.2), duration(7500)
    ('5 min 37 s', '2 h 5 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
