"""The report of a run: a page with curves, machines and tables. Each file replaces the old one as a whole.

Here is what runs of LHRM and of training have in common; `learning_parts` and `training_parts` have the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewardmachines.files import write_aside
from rewardmachines.files.records import flat
from rewardmachines.reports.learning_parts import learning_parts, learning_tiles
from rewardmachines.reports.page_parts import (
    PAGE,
    Markup,
    Progress,
    counted,
    document,
    duration,
    folded,
    joined,
    link,
    plain_table,
    section,
    soft,
    tag,
    tile,
)
from rewardmachines.reports.summary import Summary, summarize, trained_in
from rewardmachines.reports.training_parts import training_parts, training_tiles
from rewardmachines.runs.run import Run


def write_report(run: Run, folder: Path, *, progress: Progress = lambda _: None) -> Path:
    """Writes the report of a run, finished or not. The page is written last.

    Beside the page of a run of LHRM lie `table.csv`, `difference.csv`, `events.csv`, `curves` and `overview` (PNG and
    SVG), the learned hierarchies in `machines/`, and the film `hardest` (HTML and GIF). Beside that of training lie
    `evaluations.csv`, `curve` and `hierarchy` (PNG and SVG).

    Args:
        run: The run.
        folder: The folder of the report, which is made if there is none.
        progress: Called with the name of each part before it is made.

    Returns:
        The path of the page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize(run)
    parts = learning_parts if run.config.learns_machines else training_parts
    sections, files = parts(run, summary, folder, progress)
    page = [_top(run, summary), _findings(summary), *sections, _settings(run, summary), _files(files)]
    write_aside(folder / PAGE, document(run.config.title, page))
    return folder / PAGE


def _top(run: Run, summary: Summary) -> Markup:
    """The run, how far it came, and its most important numbers."""
    config = run.config
    tiles = [
        (duration(summary.seconds), "wall clock, without start and report"),
        (f"{summary.steps:,}", "environment steps"),
        (f"{summary.episodes:,}", "episodes"),
    ]
    if config.learns_machines:
        levels = counted(max(run.levels.values()), "level")
        tasks = f"{len(run.tasks)} tasks on {levels}" if len(run.tasks) > 1 else "one task"
        heading = f"What was learned in {config.place.title}"
        what = f"Machines and policies of {tasks}, from interaction alone ({config.algorithm})"
        tiles += learning_tiles(run, summary)
    else:
        heading = f"{config.task} in {config.place.title}"
        what = f"Policies for a given hierarchy ({config.algorithm})"
        tiles += training_tiles(summary)
    changed = f" with {counted(len(summary.changes), 'setting')} changed" if summary.changes else ""
    return joined(
        tag("h1", heading),
        soft(f"{what}: seed {config.seed}, {trained_in(config)}, preset {summary.preset}{changed}."),
        tag("p", _verdict(run, summary), summary.why),
        tag("div", *(tile(*each) for each in tiles), class_="tiles"),
    )


def _verdict(run: Run, summary: Summary) -> Markup:
    """Whether the run is done, in a word or two; where no return was asked for, whether it has ended."""
    if summary.is_done:
        return tag("span", "done", class_="verdict done")
    is_spent = run.config.budget.is_spent(summary.steps, summary.episodes, summary.seconds)
    return tag("span", "ended" if is_spent and not run.config.stop_at else "not done", class_="verdict open")


def _findings(summary: Summary) -> Markup:
    if not summary.findings:
        return Markup("")
    found = (tag("li", tag("b", what), f": {more}") for what, more in summary.findings)
    return section("Why it is not learned", tag("ul", *found))


def _settings(run: Run, summary: Summary) -> Markup:
    """All settings, and before them those that differ from the preset."""
    every = [(tag("code", name), tag("code", str(value))) for name, value in flat(run.config).items()]
    parts = [folded(f"{len(every)} settings", plain_table(("setting", "here"), every))]
    if summary.changes:
        changes = [tuple(tag("code", x) for x in (c.name, c.value, c.preset)) for c in summary.changes]
        names = ("setting", "here", f"preset {summary.preset}")
        parts.insert(0, folded("Settings that differ from the preset", plain_table(names, changes)))
    return section("Settings", *parts)


def _files(names: Sequence[str]) -> Markup:
    return section("Files", tag("p", Markup(" · ".join(map(link, names)))))
