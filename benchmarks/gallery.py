"""Draws every hierarchy of the library, and writes the page that shows them: docs/gallery.md (`make figures`).

The tasks that are written in the first tutorials are drawn, too, and the examples of docs/drawing.md.

    python benchmarks/gallery.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import traverse
from rewardmachines.drawing import draw, save_drawing
from rewardmachines.language import compile_task
from rewardmachines.library import figure_names, find, task_set

DOCS: Final = Path(__file__).parents[1] / "docs"
IMAGES: Final = Path("images/gallery")
DOMAINS: Final = ("craftworld", "waterworld")
PAPER: Final = "figures/"
EXPONENTIAL: Final = "exponential/3"
EXAMPLES: Final = Path("images/drawing")
TUTORIALS: Final = Path("images/start")
MINE: Final = "sugarcane ; (workbench & table)"
TWICE: Final = "batter ; batter"
BATTER: Final = "(wheat & chicken) ; table"

GUARD: Final = " | ".join(f"door{i} & key{i} & !alarm & !guard{i}" for i in range(1, 6))

BEFORE: Final = """# Gallery

Every hierarchy that comes with the package, drawn by `hrm draw`. The first panel is the root. A coloured label is a
call: the machine that is called, and the context in which it may be. Double circles accept.

`hrm draw craftworld/book -o book.svg` draws one ([drawing.md](drawing.md)); `make figures` draws all of them and
writes this page.
"""

FILMS: Final = """## Films

The world, the hierarchy with its present state lit, and the caption. [films.md](films.md) shows how to make one.

Cake in a grid that the policy has never seen. Of a hierarchy of six machines, those on the call stack are shown:

![A film: an agent makes a cake](images/unseen.gif)

Random actions, in CraftWorld and in WaterWorld:

![A film: a triangle wanders through a grid of things](images/bucket.gif)

![A film: a circle drifts among coloured balls](images/water.gif)

Policies of the tutorials: [in MiniGrid](tutorials/minigrid.md), [in an environment of one's
own](tutorials/your-environment.md), and [with a bank of skills](tutorials/transfer.md):

![A film: an agent takes the key, opens the door and walks to the goal](images/tutorials/doorkey.gif)

![A film: an agent fetches water and visits both flower beds](images/tutorials/garden.gif)

![A film: an agent makes a bucket, leather and paper](images/tutorials/new.gif)
"""


def main() -> None:
    """Writes the pictures and the page."""
    (DOCS / IMAGES).mkdir(parents=True, exist_ok=True)
    parts = [BEFORE]
    for domain in DOMAINS:
        tasks = task_set(domain)
        parts.append(f"## {tasks.title}\n")
        parts += [section(f"{domain}/{name}", f"`{text}`") for name, text in tasks.tasks.items()]
    parts.append("## Figures of the paper\n")
    parts += [
        section(name if name.startswith(PAPER) else f"{PAPER}{name}", "As drawn there.") for name in figure_names()
    ]
    parts.append("## Exponentially smaller than flat\n")
    parts.append(section(EXPONENTIAL, "Any height is to be had. With each level, the flat machine doubles."))
    parts.append(FILMS)
    (DOCS / "gallery.md").write_text("\n".join(parts))
    draw_tutorials()
    draw_examples()


def draw_tutorials() -> None:
    """Draws the tasks of docs/start.md and docs/writing-a-task.md."""
    (DOCS / TUTORIALS).mkdir(parents=True, exist_ok=True)
    twice = compile_task(TWICE, {"batter": BATTER}, avoid=["lava"], name="twice")
    save_drawing(compile_task(MINE), DOCS / TUTORIALS / "mine.svg")
    save_drawing(twice, DOCS / TUTORIALS / "twice.svg")


def draw_examples() -> None:
    """Draws what docs/drawing.md shows."""
    (DOCS / EXAMPLES).mkdir(parents=True, exist_ok=True)
    book, flat = find("craftworld/book"), flatten(find("craftworld/cake"))
    *_, present = traverse(book, [{"sugarcane"}])
    draw(book, background="white", width=460).save(DOCS / EXAMPLES / "paper.svg")
    draw(flat).save(DOCS / EXAMPLES / "rows.svg")
    draw(book, theme="dark", at=present).save(DOCS / EXAMPLES / "lit.svg")
    draw(hierarchy(machine("guard", [("u0", "uA", GUARD)]))).save(DOCS / EXAMPLES / "legend.svg")


def section(name: str, text: str) -> str:
    """Draws one hierarchy.

    Args:
        name: Its name in the library.
        text: What is said of it.

    Returns:
        Its part of the page.
    """
    image = IMAGES / f"{name.replace('/', '-').replace('&', '-and-')}.svg"
    save_drawing(find(name), DOCS / image)
    return f"### {name}\n\n{text}\n\n![The hierarchy {name}]({image.as_posix()})\n"


if __name__ == "__main__":
    main()
