"""A report as one page: no script, nothing from elsewhere, and every name as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF
from rewardmachines.lhrm.induction import Event
from rewardmachines.reports.differences import Difference, Differences
from rewardmachines.reports.hardest_task import FILM, Film
from rewardmachines.reports.markup import Markup, address, joined, tag
from rewardmachines.reports.result_rows import number, result_rows
from rewardmachines.reports.results_table import ResultTable
from rewardmachines.reports.summary import Summary

_MANY_MACHINES: Final = 3
"""A hierarchy with more has a line of the page for itself."""
_OVERVIEW: Final = (
    "Greedy return, averaged over instances and over the tasks of a level; over all tasks (black), one whose level is "
    "not active counts as 0. Dashed lines: a level begins. Below, a tick for every machine that was learned, a tall "
    "one for the first of a task."
)
_CURVES: Final = (
    "Greedy return of each task, averaged over instances. Dashed: its first machine; dotted: it is learned again, from "
    "a counterexample or because a machine that it calls has changed; grey: its level is not active. Episodes are "
    "those at the steps below, counted over all tasks."
)
_BESIDE: Final = "Beside the picture: where the learned hierarchy stands, and the options that are being followed."
_COLUMNS: Final = (
    "# G: whether a goal trace was seen; # L: whether a machine was learned (in the paper: in how many runs). "
    "First ep.: episodes from the beginning of the level to the first machine. G, D, I: goal, dead-end and incomplete "
    "examples. States and edges are those of the root alone. Return: greedy, mean over instances and the last "
    "evaluations. Differs: whether the learned hierarchy says of some trace what the true one does not, over"
)


@dataclass(frozen=True)
class Contents:
    """What is on the page."""

    summary: Summary
    table: ResultTable
    differences: Differences
    hierarchies: Mapping[str, Hierarchy]
    pictures: Mapping[str, str | None]
    film: Film | str
    """Or why there is none."""
    has_curves: bool
    events: Sequence[tuple[int, int, Event]]
    """With steps and episodes."""


def page(contents: Contents) -> str:
    style = (resources.files("rewardmachines.reports") / "page.css").read_text(encoding="utf-8")
    title = f"LHRM · {contents.summary.title} · seed {contents.summary.seed}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    sections = [_top(contents.summary), _curves(contents), _film(contents.film), _table(contents)]
    sections += [_machines(contents), _events(contents), _files(contents)]
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", tag("main", *sections)), lang="en") + "\n"


# -- what it was


def _top(said: Summary) -> Markup:
    tasks = f"{said.tasks} tasks on {said.levels} levels" if said.tasks > 1 else "one task"
    words, kind = ("done", "verdict done") if said.is_done else ("not done", "verdict open")
    what = f"seed {said.seed}, {said.instances} instances, {_settings(said)}"
    return joined(
        tag("h1", f"What was learned in {said.title}"),
        tag("p", f"Machines and policies of {tasks}, from interaction alone (LHRM): {what}.", class_="soft"),
        tag("p", tag("span", words, class_=kind), said.why),
        _missing(said),
        tag("div", *(_tile(*one) for one in _tiles(said)), class_="tiles"),
        _changes(said),
    )


def _settings(said: Summary) -> str:
    if not said.changes:
        return f"preset {said.preset}"
    return f"preset {said.preset} with {len(said.changes)} setting{'s' if len(said.changes) > 1 else ''} changed"


def _tiles(said: Summary) -> list[tuple[str, str]]:
    return [
        (duration(said.seconds), "wall clock"),
        (f"{said.steps:,}", "environment steps"),
        (f"{said.episodes:,}", "episodes"),
        (f"{number(said.learner_seconds)} s", f"learner: {said.learner_share:.1%} of the time, {said.calls} calls"),
        (f"{said.machines} of {said.tasks}", f"tasks have a machine; {said.learned} in all were learned"),
        (f"{min(said.level, said.levels)} of {said.levels}", "levels begun"),
    ]


def duration(seconds: float) -> str:
    """For people.

    >>> duration(337.2), duration(7500)
    ('5 min 37 s', '2 h 5 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _tile(value: str, what: str) -> Markup:
    return tag("div", tag("b", value), tag("span", what), class_="tile")


def _missing(said: Summary) -> Markup:
    if not said.missing:
        return Markup("")
    return tag("ul", *(tag("li", tag("b", name), f": {what}") for name, what in said.missing.items()))


def _changes(said: Summary) -> Markup:
    if not said.changes:
        return Markup("")
    rows = [tag("tr", *(tag("td", tag("code", x)) for x in (c.name, c.value, c.preset))) for c in said.changes]
    head = tag("tr", *(tag("th", name) for name in ("setting", "here", f"preset {said.preset}")))
    return tag("details", tag("summary", "Settings that differ from the preset"), _wide_table(head, *rows))


def _wide_table(*rows: Markup) -> Markup:
    return tag("div", tag("table", *rows), class_="box wide-table")


# -- how it went


def _curves(contents: Contents) -> Markup:
    title = tag("h2", "Learning curves")
    if not contents.has_curves:
        return joined(title, tag("p", "There has been no evaluation yet.", class_="soft"))
    return joined(
        title,
        _figure("overview.svg", "mean return of all tasks and of each level", _OVERVIEW),
        _figure("curves.svg", "return of every task", _CURVES),
    )


def _figure(path: str, what: str, caption: str) -> Markup:
    return tag("figure", tag("img", src=address(path), alt=what), tag("figcaption", caption))


def _film(film: Film | str) -> Markup:
    title = tag("h2", "The hardest task")
    if isinstance(film, str):
        return joined(title, tag("p", f"There is no film: {film}.", class_="soft"))
    where = f"instance {film.instance}: {film.end}, {film.steps} steps"
    if film.succeeds:
        said = f"{film.task} in {where}."
    else:
        tried = f"did not succeed within the length of a film in any of {film.tried} instances"
        said = f"{film.task} {tried}; this is {where}."
    return joined(title, _figure(FILM, f"a film of {film.task}", f"{said} {_BESIDE}"))


# -- what came of it


def _table(contents: Contents) -> Markup:
    compared = {one.task: difference_in_short(one) for one in contents.differences.tasks}
    return joined(
        tag("h2", "The tasks, beside the paper"),
        tag("p", f"Large: this run. {contents.table.source}", class_="soft"),
        _wide_table(*result_rows(contents.table, contents.summary.returns, compared)),
        tag("p", f"{_COLUMNS} {contents.differences.labels}.", class_="soft"),
    )


def difference_in_short(one: Difference) -> Markup:
    words = {"none": ("no", "same"), "differs": ("yes", "other")}
    text, kind = words.get(one.answer, ("unknown", "soft"))
    return tag("span", text, class_=kind)


def _machines(contents: Contents) -> Markup:
    title = tag("h2", "The hierarchies that were learned")
    if not contents.hierarchies:
        return joined(title, tag("p", "There is none yet.", class_="soft"))
    told = {one.task: one for one in contents.differences.tasks}
    cards = [_card(contents, name, tree, told.get(name)) for name, tree in contents.hierarchies.items()]
    return joined(title, tag("div", *cards, class_="cards"))


def _card(contents: Contents, name: str, hierarchy: Hierarchy, told: Difference | None) -> Markup:
    tree = hierarchy.rooted(name)
    picture = contents.pictures.get(name)
    drawn = (
        tag("img", src=address(picture), alt=f"the hierarchy of {name}", loading="lazy")
        if picture is not None
        else tag("p", "It is too large to be drawn.", class_="soft")
    )
    is_wide = len(tree.machines) > _MANY_MACHINES
    calls = sorted(tree[name].callees - {LEAF})
    said = f"calls {', '.join(calls)}" if calls else "calls nothing"
    return tag("div", tag("h3", name), tag("p", said, class_="soft"), *_difference(told), drawn,
               class_="card wide" if is_wide else "card")  # fmt: skip


def _difference(told: Difference | None) -> list[Markup]:
    if told is None:
        return []
    if told.problem is not None:
        return [tag("p", f"Whether it differs from the true one could not be found out: {told.problem}")]
    if told.trace is None or told.learned is None or told.true is None:
        return [tag("p", "No trace of the labels that were considered tells it from the true one.", class_="same")]
    said = f": {told.learned.value} (learned), {told.true.value} (true)"
    differs = tag("span", "Differs from the true one, first on ", class_="other")
    return [tag("p", differs, tag("code", told.shown), said)]


# -- the rest


def _events(contents: Contents) -> Markup:
    if not contents.events:
        return Markup("")
    names = ("steps", "episodes", "task", "cause", "states", "edges", "calls", "G", "D", "I", "message")
    rows = [tag("tr", *(tag("td", cell) for cell in _event(*one))) for one in contents.events]
    head = tag("tr", *(tag("th", name) for name in names))
    count = f"{len(contents.events)} event{'' if len(contents.events) == 1 else 's'}"
    return joined(tag("h2", "Moments of learning"), tag("details", tag("summary", count), _wide_table(head, *rows)))


def _event(steps: int, episodes: int, event: Event) -> Iterable[str]:
    counts = (event.states, event.edges, event.calls, event.goals, event.dead_ends, event.incompletes)
    return f"{steps:,}", f"{episodes:,}", event.task, event.cause.value, *map(str, counts), event.message or ""


def _files(contents: Contents) -> Markup:
    names = ["table.csv", "difference.csv", "events.csv"]
    names += ["overview.png", "curves.png"] if contents.has_curves else []
    links = [tag("a", name, href=address(name)) for name in names]
    rest = Markup(" · ").join(links)
    return joined(tag("h2", "Files"), tag("p", Markup(rest)))
