"""The report of a run: a page with curves, machines and tables. Each file replaces the old one as a whole.

Here is what runs of LHRM and of training have in common; `learning_parts` and `training_parts` have the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shlex import quote
from typing import Final

import numpy as np

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.files import write_aside
from rewardmachines.files.records import flat
from rewardmachines.files.writing import file_name
from rewardmachines.reports.charts import save_for_page
from rewardmachines.reports.curve_plot import curves_figure
from rewardmachines.reports.differences import Difference, Differences, differences, differences_csv
from rewardmachines.reports.hardest_task import FILM, GIF, Recording, record_film
from rewardmachines.reports.learning_curves import curve_data, draw_curves, draw_overview
from rewardmachines.reports.page_parts import (
    PAGE,
    Markup,
    Progress,
    address,
    counted,
    decimal,
    document,
    draw_hierarchy,
    duration,
    figure,
    folded,
    joined,
    link,
    plain_table,
    player,
    section,
    soft,
    tag,
    tile,
    wide_table,
)
from rewardmachines.reports.results_table import ResultTable, events_csv, number, result_rows, result_table, table_csv
from rewardmachines.reports.summary import Summary, evaluated_in, summarize, trained_in
from rewardmachines.rollout.rows import Row
from rewardmachines.runs.run import Run

TABLE: Final = "evaluations.csv"
"""The name of the file of all evaluations."""
_SHOWN: Final = 40
"""The largest number of evaluations in the table of the page; the file has all of them."""
_COLUMNS: Final = ("seed", "steps", "episodes", "return", "length", "goals while exploring", "exploration")


def training_parts(run: Run, summary: Summary, folder: Path, progress: Progress) -> tuple[list[Markup], list[str]]:
    """Writes the files of a report that only runs of training have.

    Args:
        run: The run.
        summary: The run in a few numbers.
        folder: The folder of the report.
        progress: Called with the name of each part before it is made.

    Returns:
        The sections of the page, and the names of files to be linked.
    """
    progress("tables")
    judged = [row for row in run.rows if row.returns is not None]
    rows = [_cells(row, run.config.seed) for row in judged]
    lines = [",".join(_COLUMNS), *(",".join(cells).replace(" %", "") for cells in rows)]
    write_aside(folder / TABLE, "\n".join(lines) + "\n")
    progress("hierarchy")
    sections = [_hierarchy(run, folder)]
    files = [TABLE]
    progress("curve")
    if summary.last is None:
        sections.insert(0, section("Learning curves", soft("There has been no evaluation yet.")))
        return sections, files
    save_for_page(curves_figure([run], "steps"), folder / "curve")
    caption = "The mean return of greedy episodes: the share that reaches the goal."
    film = soft("To see it act: ", tag("code", f"hrm evaluate {quote(str(run.folder))} -o film.html"))
    sections.insert(0, section("Learning curves", figure("curve.svg", "mean return against steps", caption), film))
    return [*sections, _evaluations(judged, run.config.seed)], [*files, "curve.png"]


def training_tiles(summary: Summary) -> list[tuple[str, str]]:
    """The most important numbers of training, each with what it counts."""
    return [
        (decimal(summary.last), "greedy return in the last evaluation"),
        (decimal(summary.best), "in the best one"),
    ]


def _hierarchy(run: Run, folder: Path) -> Markup:
    """Draws the hierarchy of the task."""
    tree = run.given_hierarchies[run.config.task]
    drawn = draw_hierarchy(tree, folder / "hierarchy")
    if not drawn:
        return section("The hierarchy", soft("It is too large to be drawn."))
    callees = sorted({name for machine in tree.machines for name in machine.callees} - {LEAF})
    caption = f"What is to be done; it calls {', '.join(callees)}." if callees else "What is to be done."
    return section("The hierarchy", figure("hierarchy.svg", f"the hierarchy of {run.config.task}", caption))


def _evaluations(judged: Sequence[Row], seed: int) -> Markup:
    rows = [_cells(row, seed, ",") for row in judged[-_SHOWN:]]
    note = soft(f"The last {len(rows)} of {len(judged)}; all are in ", link(TABLE), ".")
    return section("Evaluations", joined(note, plain_table(_COLUMNS, rows)))


def _cells(row: Row, seed: int, thousands: str = "") -> tuple[str, ...]:
    """The cells of the line of an evaluation; `thousands` separates groups of digits in large numbers."""
    share = f"{100 * row.goals[0] / row.ended[0]:.0f} %" if row.ended[0] else ""
    counts = str(seed), f"{row.steps:{thousands}}", f"{row.episodes:{thousands}}"
    greedy = f"{row.mean_return or 0.0:.3f}", f"{np.mean(row.lengths or 0.0):.1f}"
    return *counts, *greedy, share, f"{row.exploration:.2f}"


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
_LEGEND: Final = (
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
        soft(f"{_LEGEND} {compared.labels}."),
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
        return tag("p", "No trace of the labels that were considered separates it from the true one.", class_="same")
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


def write_report(run: Run, folder: Path, *, progress: Progress = lambda _: None) -> Path:
    """Writes the report of a run, finished or not. The page is written last.

    Beside the page of a run of LHRM lie `table.csv`, `difference.csv`, `events.csv`, `curves` and `overview` (PNG and
    SVG), the learned hierarchies in `machines/`, and the film `hardest` (HTML and GIF). Beside that of training lie
    `evaluations.csv`, `curve` (PNG and SVG) and `hierarchy.svg`.

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
