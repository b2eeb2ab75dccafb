"""The common parts of report pages: HTML in which every name is escaped, tiles, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import quote

from rewardmachines.core.errors import RewardMachineError, TooLargeError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.drawing import DrawingOptions, LayoutEngine, to_svg
from rewardmachines.files import write_aside
from rewardmachines.reports.charts import suit_both

Progress: TypeAlias = Callable[[str], object]
"""Called with the name of each part of a report before it is made."""
PAGE: Final = "index.html"
"""The name of the page of a report."""
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


# -- pages

_MARK: Final = tag("meta", name="generator", content="rewardmachines")
"""The mark of all pages, by which a report knows that it may be replaced."""
_BEGINNING: Final = 1000
"""The number of bytes in which the mark is looked for."""


def check_folder(folder: Path) -> None:
    """Checks that a report may be written into a folder: it does not exist, is empty, or holds a report.

    Raises:
        RewardMachineError: There is something else, which a report could replace.
    """
    if _holds_report(folder) or not folder.is_dir():
        return
    if (found := next(iter(sorted(folder.iterdir())), None)) is not None:
        name = PAGE if (folder / PAGE).is_file() else found.name
        raise RewardMachineError(
            f"{folder}: it holds '{name}', which is of no report; move it away, or choose another folder with -o"
        )


def claim_folder(folder: Path) -> None:
    """Makes a folder for a report, and marks it by a page, so that a report that is broken off can be written again.

    Raises:
        RewardMachineError: There is something else, which a report could replace.
    """
    check_folder(folder)
    if not _holds_report(folder):
        folder.mkdir(parents=True, exist_ok=True)
        broken_off = tag("p", "This report is being written, or was broken off.")
        write_aside(folder / PAGE, document("Report", [broken_off]))


def _holds_report(folder: Path) -> bool:
    """Whether the page of a folder has the mark of reports."""
    page = folder / PAGE
    if not page.is_file():
        return False
    with page.open("rb") as file:
        return _MARK.encode() in file.read(_BEGINNING)


def document(title: str, sections: Iterable[Markup]) -> str:
    """The text of an HTML page, light or dark as the browser prefers, without scripts and requests to other sites.

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


def section(title: str, *content: str) -> Markup:
    """A part of a page, with a heading."""
    return joined(tag("h2", title), *content)


def soft(*content: str) -> Markup:
    """A paragraph that explains, in a weaker colour."""
    return tag("p", *content, class_="soft")


def link(path: str) -> Markup:
    """A link to a file of the report, which is called by its path."""
    return tag("a", path, href=address(path))


def wide_table(*rows: Markup) -> Markup:
    """A table that can be scrolled sideways where the page is narrow."""
    return tag("div", tag("table", *rows), class_="box wide-table")


def plain_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """A table with a title for each column.

    Args:
        names: The titles of the columns.
        rows: The cells of each row.
    """
    head = tag("tr", *(tag("th", name) for name in names))
    return wide_table(head, *(tag("tr", *(tag("td", cell) for cell in row)) for row in rows))


def folded(summary: str, *content: Markup) -> Markup:
    """Content that is shown when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)


def figure(path: str, description: str, caption: str) -> Markup:
    """A picture with a caption.

    Args:
        path: The path of the picture inside the report.
        description: The alternative text, for screen readers.
        caption: The text below it.
    """
    return tag("figure", tag("img", src=address(path), alt=description), tag("figcaption", caption))


def draw_hierarchy(hierarchy: Hierarchy, path: Path) -> bool:
    """Draws a hierarchy as an SVG, which suits light and dark pages, unless it is too large.

    The layout is our own, so that reports look the same wherever they are written.

    Args:
        hierarchy: The hierarchy.
        path: The path of the file, without its suffix.

    Returns:
        Whether it was drawn.
    """
    clear = DrawingOptions(background="transparent")  # the page is behind the SVG, whatever its colour
    try:
        write_aside(f"{path}.svg", suit_both(to_svg(hierarchy, engine=LayoutEngine.BUILTIN, options=clear)))
    except TooLargeError:
        return False
    return True


def player(path: str, size: tuple[int, int], description: str, *caption: str) -> Markup:
    """A film that can be paused, with a caption.

    The page of the film has a script, and is kept apart from this one, which has none.

    Args:
        path: The path of the film's page inside the report.
        size: The width and the height of its frames in pixels.
        description: The alternative text, for screen readers.
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


def decimal(value: float | None) -> str:
    """Writes a return, or a dash if there is none.

    >>> decimal(0.5), decimal(None)
    ('0.50', '–')
    """
    return "–" if value is None else f"{value:.2f}"


def counted(count: int, noun: str) -> str:
    """Writes a count with its noun.

    >>> counted(1, "seed"), counted(1200, "instance")
    ('1 seed', '1,200 instances')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
