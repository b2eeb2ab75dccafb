"""A report as one HTML page: without scripts, without anything from other sites, and with every name escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.lhrm.setbacks import Event
from rewardmachines.reports.differences import Difference, Differences
from rewardmachines.reports.hardest_task import FILM, GIF, HardestFilm
from rewardmachines.reports.markup import Markup, address, joined, tag
from rewardmachines.reports.page_parts import document, duration, figure, player, tile, wide_table
from rewardmachines.reports.result_rows import number, result_rows
from rewardmachines.reports.results_table import ResultTable
from rewardmachines.reports.summary import Summary

_MANY_MACHINES: Final = 3
"""A hierarchy with more machines gets the whole width of the page."""
_OVERVIEW: Final = (
    "Greedy return, the mean of {instances}{window}, and of the tasks that the legend counts; over all tasks (thick), "
    "one whose level is not active counts as 0. Dashed lines: a level begins. Below, a tick for every machine that was "
    "learned, a tall one for the first of a task."
)
_CURVES: Final = (
    "Greedy return of each task, the mean of {instances}{window}. Dashed: its first machine; dotted: it is learned "
    "again, from a counterexample or because a machine that it calls has changed; grey: its level is not active. "
    "Episodes are those at the steps below, counted over all tasks."
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


@dataclass(frozen=True)
class Contents:
    """The contents of the page."""

    summary: Summary
    table: ResultTable
    differences: Differences
    hierarchies: Mapping[str, Hierarchy]
    """The learned hierarchies by task."""
    pictures: Mapping[str, str | None]
    """The paths of their drawings by task; None for a hierarchy that is too large to draw."""
    film: HardestFilm | str
    """A description of the film, or the reason why there is none."""
    window: int | None
    """How many evaluations the learning curves are moving means of; None if no curves were drawn."""
    events: Sequence[tuple[int, int, Event]]
    """The steps and episodes so far at each event, and the event: a new machine, or a task that was given up."""


def page(contents: Contents) -> str:
    """The text of the HTML page."""
    title = f"LHRM · {contents.summary.title} · seed {contents.summary.seed}"
    sections = [_top(contents.summary), _curves(contents), _film(contents.film), _table(contents)]
    sections += [_machines(contents), _events(contents), _files(contents)]
    return document(title, sections)


# -- the run and how far it came


def _top(summary: Summary) -> Markup:
    tasks = f"{summary.tasks} tasks on {summary.levels} levels" if summary.tasks > 1 else "one task"
    words, kind = ("done", "verdict done") if summary.is_done else ("not done", "verdict open")
    settings = f"seed {summary.seed}, {summary.instances}, {_settings(summary)}"
    return joined(
        tag("h1", f"What was learned in {summary.title}"),
        tag("p", f"Machines and policies of {tasks}, from interaction alone (LHRM): {settings}.", class_="soft"),
        tag("p", tag("span", words, class_=kind), summary.why),
        _missing(summary),
        tag("div", *(tile(*each) for each in _tiles(summary)), class_="tiles"),
        _changes(summary),
    )


def _settings(summary: Summary) -> str:
    if not summary.changes:
        return f"preset {summary.preset}"
    count = f"{len(summary.changes)} setting{'s' if len(summary.changes) > 1 else ''}"
    return f"preset {summary.preset} with {count} changed"


def _tiles(summary: Summary) -> list[tuple[str, str]]:
    """The most important numbers, each with what it counts."""
    learner = f"learner: {summary.learner_share:.1%} of the time, {summary.calls} calls"
    return [
        (duration(summary.seconds), "wall clock, without start and report"),
        (f"{summary.steps:,}", "environment steps"),
        (f"{summary.episodes:,}", "episodes"),
        (f"{number(summary.learner_seconds)} s", learner),
        (f"{summary.machines} of {summary.tasks}", f"tasks have a machine; {summary.learned} in all were learned"),
        (f"{min(summary.level, summary.levels)} of {summary.levels}", "levels begun"),
    ]


def _missing(summary: Summary) -> Markup:
    if not summary.missing:
        return Markup("")
    return tag("ul", *(tag("li", tag("b", name), f": {lack}") for name, lack in summary.missing.items()))


def _changes(summary: Summary) -> Markup:
    if not summary.changes:
        return Markup("")
    rows = [tag("tr", *(tag("td", tag("code", x)) for x in (c.name, c.value, c.preset))) for c in summary.changes]
    head = tag("tr", *(tag("th", name) for name in ("setting", "here", f"preset {summary.preset}")))
    return tag("details", tag("summary", "Settings that differ from the preset"), wide_table(head, *rows))


# -- how it learned


def _curves(contents: Contents) -> Markup:
    title = tag("h2", "Learning curves")
    if contents.window is None:
        return joined(title, tag("p", "There has been no evaluation yet.", class_="soft"))
    count = contents.summary.evaluated
    told = {
        "instances": f"{count} instance{'' if count == 1 else 's'}",
        "window": "" if contents.window == 1 else f", of the last {contents.window} evaluations (faint: each of them)",
    }
    return joined(
        title,
        figure("overview.svg", "mean return of all tasks and of each level", _OVERVIEW.format(**told)),
        figure("curves.svg", "return of every task", _CURVES.format(**told)),
    )


def _film(film: HardestFilm | str) -> Markup:
    title = tag("h2", "The hardest task")
    if isinstance(film, str):
        return joined(title, tag("p", f"There is no film: {film}.", class_="soft"))
    where = f"instance {film.instance}: {film.end}, {film.steps} steps"
    if film.succeeds:
        caption = f"{film.task} in {where}."
    else:
        tried = f"did not succeed within the length of a film in any of {film.tried} instances"
        caption = f"{film.task} {tried}; this is {where}."
    elsewhere = tag("a", GIF, href=address(GIF))
    described = f"a film of {film.task}"
    return joined(
        title, player(FILM, film.size, described, f"{caption} {_BESIDE} To show it elsewhere: ", elsewhere, ".")
    )


# -- what it learned


def _table(contents: Contents) -> Markup:
    compared = {difference.task: difference_in_short(difference) for difference in contents.differences.tasks}
    has_paper = any(row.paper is not None for row in contents.table.rows)
    return joined(
        tag("h2", "The tasks, beside the paper" if has_paper else "The tasks"),
        tag("p", f"{'Large: this run. ' if has_paper else ''}{contents.table.source}", class_="soft"),
        wide_table(*result_rows(contents.table, contents.summary.returns, compared)),
        tag("p", f"{_COLUMNS} {contents.differences.labels}.", class_="soft"),
    )


def difference_in_short(difference: Difference) -> Markup:
    """Whether a learned hierarchy differs from the true one, in one word."""
    words = {"none": ("no", "same"), "differs": ("yes", "other")}
    text, kind = words.get(difference.answer, ("unknown", "soft"))
    return tag("span", text, class_=kind)


def _machines(contents: Contents) -> Markup:
    title = tag("h2", "The hierarchies that were learned")
    if not contents.hierarchies:
        return joined(title, tag("p", "There is none yet.", class_="soft"))
    compared = {difference.task: difference for difference in contents.differences.tasks}
    cards = [_card(contents, name, tree, compared.get(name)) for name, tree in contents.hierarchies.items()]
    return joined(title, tag("div", *cards, class_="cards"))


def _card(contents: Contents, name: str, hierarchy: Hierarchy, difference: Difference | None) -> Markup:
    """The name of a task, what its machine calls, whether it differs from the true one, and its drawing."""
    tree = hierarchy.rooted(name)
    picture = contents.pictures.get(name)
    drawn = (
        tag("img", src=address(picture), alt=f"the hierarchy of {name}", loading="lazy")
        if picture is not None
        else tag("p", "It is too large to be drawn.", class_="soft")
    )
    is_wide = len(tree.machines) > _MANY_MACHINES
    calls = sorted(tree[name].callees - {LEAF})
    callees = f"calls {', '.join(calls)}" if calls else "calls nothing"
    return tag("div", tag("h3", name), tag("p", callees, class_="soft"), *_difference(difference), drawn,
               class_="card wide" if is_wide else "card")  # fmt: skip


def _difference(difference: Difference | None) -> list[Markup]:
    """A paragraph on how a learned hierarchy differs from the true one; nothing if they were not compared."""
    if difference is None:
        return []
    if difference.problem is not None:
        return [tag("p", f"Whether it differs from the true one could not be found out: {difference.problem}")]
    if difference.trace is None or difference.learned is None or difference.true is None:
        return [tag("p", "No trace of the labels that were considered tells it from the true one.", class_="same")]
    verdicts = f": {difference.learned.value} (learned), {difference.true.value} (true)"
    differs = tag("span", "Differs from the true one, first on ", class_="other")
    return [tag("p", differs, tag("code", difference.shown), verdicts)]


# -- events and files


def _events(contents: Contents) -> Markup:
    if not contents.events:
        return Markup("")
    names = ("steps", "episodes", "task", "cause", "states", "edges", "calls", "G", "D", "I", "message")
    rows = [tag("tr", *(tag("td", cell) for cell in _event(*event))) for event in contents.events]
    head = tag("tr", *(tag("th", name) for name in names))
    count = f"{len(contents.events)} event{'' if len(contents.events) == 1 else 's'}"
    return joined(tag("h2", "Moments of learning"), tag("details", tag("summary", count), wide_table(head, *rows)))


def _event(steps: int, episodes: int, event: Event) -> Iterable[str]:
    """The cells of the line of an event."""
    counts = (event.states, event.edges, event.calls, event.goals, event.dead_ends, event.incompletes)
    return f"{steps:,}", f"{episodes:,}", event.task, event.cause.value, *map(str, counts), event.message or ""


def _files(contents: Contents) -> Markup:
    names = ["table.csv", "difference.csv", "events.csv"]
    names += ["overview.png", "curves.png"] if contents.window is not None else []
    links = [tag("a", name, href=address(name)) for name in names]
    return joined(tag("h2", "Files"), tag("p", Markup(Markup(" · ").join(links))))
