"""The parts of a report that only runs of LHRM have: returns by level, a film, the paper's table, learned machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.files import write_aside
from rewardmachines.files.writing import file_name
from rewardmachines.reports.differences import Difference, Differences, differences, differences_csv
from rewardmachines.reports.hardest_task import FILM, GIF, Recording, record_film
from rewardmachines.reports.learning_curves import curve_data, draw_curves, draw_overview
from rewardmachines.reports.page_parts import (
    Markup,
    Progress,
    address,
    counted,
    draw_hierarchy,
    figure,
    folded,
    link,
    plain_table,
    player,
    section,
    soft,
    tag,
    wide_table,
)
from rewardmachines.reports.result_rows import number, result_rows
from rewardmachines.reports.results_table import ResultTable, events_csv, result_table, table_csv
from rewardmachines.reports.summary import Summary, evaluated_in
from rewardmachines.rollout.rows import Row
from rewardmachines.runs.run import Run

MACHINES: Final = "machines"
"""The name of the folder of drawings."""
_MANY_MACHINES: Final = 3
"""A hierarchy with more machines gets the whole width of the page."""
_OVERVIEW: Final = (
    "Greedy return, the mean of {mean}, and of the tasks that the legend counts; over all tasks (thick), one whose "
    "level is not active counts as 0. Dashed lines: a level begins. Below, a tick for every machine that was learned, "
    "a tall one for the first of a task."
)
_CURVES: Final = (
    "Greedy return of each task, the mean of {mean}. Dashed: its first machine; dotted: it is learned again, from a "
    "counterexample or because a machine that it calls has changed; grey: its level is not active. Episodes are those "
    "at the steps below, counted over all tasks."
)
_BESIDE: Final = (
    "Beside the picture: the learned hierarchy, its present state lit, callers that wait in a weaker tint; of a deep "
    "one only the machines on the call stack. Below: the label just observed, and the options that are pursued."
)
_COLUMNS: Final = (
    "# G: whether a goal trace was seen; # L: whether a machine was learned (in the paper: in how many runs). "
    "First ep.: episodes from the beginning of the level to the first machine. G, D, I: goal, dead-end and incomplete "
    "examples. States and edges are those of the root alone. Return: greedy, mean over instances and the last "
    "evaluations. Differs: whether the learned hierarchy says of some trace what the true one does not, over"
)


def learning_parts(run: Run, summary: Summary, folder: Path, progress: Progress) -> tuple[list[Markup], list[str]]:
    """Writes the files of a report that only runs of LHRM have.

    Args:
        run: The run.
        summary: The run in a few numbers.
        folder: The folder of the report.
        progress: Called with the name of each part before it is made.

    Returns:
        The sections of the page, and the names of files to be linked.
    """
    progress("tables")
    rows, table, compared = run.rows, result_table(run), differences(run)
    files = {"table.csv": table_csv(table), "difference.csv": differences_csv(compared), "events.csv": events_csv(rows)}
    for name, text in files.items():
        write_aside(folder / name, text)
    with ThreadPoolExecutor(1) as background:
        # The policy that acts in the film is compiled meanwhile, which takes about as long as all drawings.
        recording = background.submit(record_film, run, progress)
        machines, (curves, pictures) = _machines(run, compared, folder, progress), _curves(run, folder, progress)
        film = _film(recording.result(), folder)
    sections = [curves, film, _table(table, summary, compared), machines, _events(rows)]
    return sections, [*files, *pictures]


def learning_tiles(run: Run, summary: Summary) -> list[tuple[str, str]]:
    """The most important numbers of LHRM, each with what it counts."""
    learner = f"learner: {summary.learner_share:.1%} of the time, {summary.calls} calls"
    tasks, levels = len(run.tasks), max(run.levels.values())
    return [
        (f"{number(summary.learner_seconds)} s", learner),
        (f"{len(summary.machines)} of {tasks}", f"tasks have a machine; {summary.learned} in all were learned"),
        (f"{min(summary.level, levels)} of {levels}", "levels begun"),
    ]


def _curves(run: Run, folder: Path, progress: Progress) -> tuple[Markup, list[str]]:
    """Draws the learning curves, and returns their section and the names of the pictures."""
    data = curve_data(run)
    if not data.has_evaluations:
        return section("Learning curves", soft("There has been no evaluation yet.")), []
    progress("curves")
    draw_curves(data, folder)
    draw_overview(data, folder)
    mean = evaluated_in(run.config)
    if data.window > 1:
        mean += f", of the last {data.window} evaluations (faint: each of them)"
    figures = (
        figure("overview.svg", "mean return of all tasks and of each level", _OVERVIEW.format(mean=mean)),
        figure("curves.svg", "return of every task", _CURVES.format(mean=mean)),
    )
    return section("Learning curves", *figures), ["overview.png", "curves.png"]


def _film(recorded: Recording | str, folder: Path) -> Markup:
    title = "The hardest task"
    if isinstance(recorded, str):
        return section(title, soft(f"There is no film: {recorded}."))
    size = recorded.save(folder)
    caption = f"{recorded.caption} {_BESIDE} To show it on another page: "
    return section(title, player(FILM, size, f"a film of {recorded.task}", caption, link(GIF), "."))


def _table(table: ResultTable, summary: Summary, compared: Differences) -> Markup:
    words = {"none": ("no", "same"), "differs": ("yes", "other"), "unknown": ("unknown", "soft")}
    cells = {one.task: tag("span", words[one.answer][0], class_=words[one.answer][1]) for one in compared.tasks}
    has_paper = any(row.paper is not None for row in table.rows)
    return section(
        "The tasks, beside the paper" if has_paper else "The tasks",
        soft(f"{'Large: this run. ' if has_paper else ''}{table.source}"),
        wide_table(*result_rows(table, summary.returns, cells)),
        soft(f"{_COLUMNS} {compared.labels}."),
    )


# -- machines


def _machines(run: Run, compared: Differences, folder: Path, progress: Progress) -> Markup:
    """Draws every learned hierarchy, the root with all machines that it calls."""
    title, found = "The hierarchies that were learned", {one.task: one for one in compared.tasks}
    hierarchies: Mapping[str, Hierarchy] = run.machines
    if not hierarchies:
        return section(title, soft("There is none yet."))
    (folder / MACHINES).mkdir(exist_ok=True)
    cards = []
    for name, tree in hierarchies.items():
        progress(f"{MACHINES}/{name}")
        path = f"{MACHINES}/{file_name(name)}"
        is_drawn = draw_hierarchy(tree, folder / path)
        cards.append(_card(name, tree, f"{path}.svg" if is_drawn else None, found.get(name)))
    return section(title, tag("div", *cards, class_="cards"))


def _card(name: str, tree: Hierarchy, picture: str | None, difference: Difference | None) -> Markup:
    """The name of a task, what its machine calls, whether it differs from the true one, and its drawing."""
    calls = sorted(tree[tree.root].callees - {LEAF})
    content = [tag("h3", name), soft(f"calls {', '.join(calls)}" if calls else "calls nothing")]
    content += [] if difference is None else [_difference(difference)]
    if picture is None:
        content.append(soft("It is too large to be drawn."))
    else:
        content.append(tag("img", src=address(picture), alt=f"the hierarchy of {name}", loading="lazy"))
    return tag("div", *content, class_="card wide" if len(tree.machines) > _MANY_MACHINES else "card")


def _difference(difference: Difference) -> Markup:
    """A paragraph on how a learned hierarchy differs from the true one."""
    if difference.problem is not None:
        return tag("p", f"Whether it differs from the true one could not be found out: {difference.problem}")
    if difference.learned is None or difference.true is None:
        return tag("p", "No trace of the labels that were considered tells it from the true one.", class_="same")
    verdicts = f": {difference.learned.value} (learned), {difference.true.value} (true)"
    differs = tag("span", "Differs from the true one, first on ", class_="other")
    return tag("p", differs, tag("code", difference.shown), verdicts)


def _events(rows: Sequence[Row]) -> Markup:
    names = ("steps", "episodes", "task", "cause", "states", "edges", "calls", "G", "D", "I", "message")
    events = list(_event_cells(rows))
    if not events:
        return Markup("")
    return section("Moments of learning", folded(counted(len(events), "event"), plain_table(names, events)))


def _event_cells(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The cells of the line of each event: a new machine, or a task that was given up."""
    for row in rows:
        for event in row.learned:
            counts = (event.states, event.edges, event.calls, event.goals, event.dead_ends, event.incompletes)
            when = f"{row.steps:,}", f"{row.episodes:,}"
            yield *when, event.task, event.cause.value, *map(str, counts), event.message or ""
