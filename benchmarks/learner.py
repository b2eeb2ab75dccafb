"""Speed of learning machines, beside the paper's tables.

    python benchmarks/learner.py                     all settings, flat machines, growth
    python benchmarks/learner.py op frl              some settings
    python benchmarks/learner.py flat --seconds 600  flat machines, at most so long for each
    python benchmarks/learner.py growth
    python benchmarks/learner.py prefixes            OP with and without the knowledge that prefixes are incomplete

Set-up, as in the paper: ten instances (seed 25101993), the 10 shortest of 25 (level 1) or 150 goal traces, all machines
of lower levels callable, then counterexamples from further episodes until 400 in a row are explained, one at a time
(for flat machines the ten shortest of 400 episodes, since there a call costs more than an episode). These are random
walks; in FR and FRL, where these seldom reach a goal, every other episode is acted by a walker that heads for a random
or needed thing three times out of four. Times are those inside the learner. Our traces are not theirs, so calls and
examples are printed beside.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from statistics import mean

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import difference
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.recording import Recorder, Walker
from rewardmachines.envs.scenarios import Scenario, domain_of, scenario
from rewardmachines.language import compile_task
from rewardmachines.learning import (
    Budget,
    HierarchyOracle,
    Induction,
    Learned,
    Learner,
    Result,
    Solvers,
    ask_until_right,
    first_error,
    learning_task,
    shortest,
)
from rewardmachines.learning.task import Options
from rewardmachines.library.published import PublishedTable, PublishedTask, published_tasks, published_totals
from rewardmachines.traces import Outcome, Trace, compress

CLEAN = 400
CRAFTWORLD, WATERWORLD = ("op", "opl", "fr", "frl"), ("wod", "wd")
REACH = {"op": 3, "fr": 3, "opl": 6, "frl": 6, "wod": 0.5, "wd": 1}
figures = Figures("learner", on_cpu=True)
console = Console(width=170, highlight=False)


@dataclass
class EpisodeOracle:
    """Acts in an environment until a machine is wrong, or right for a long time."""

    episodes: Iterator[Trace]
    batch: int = 1
    """The number of episodes between counterexamples."""
    at_once: int = 1
    """The number of counterexamples at once, the shortest of the batch."""
    goals: list[Trace] = field(default_factory=list)
    seen: set[Label] = field(default_factory=set)

    def goal_traces(self) -> Iterable[Trace]:
        return self.goals

    def collect(self, wanted: int, limit: int = 20_000) -> None:
        distinct: set[Trace] = set()
        for trace in islice(self.episodes, limit):
            self.seen.update(trace.labels)
            if trace.outcome is Outcome.GOAL:
                distinct.add(trace)
            if len(distinct) >= wanted:
                break
        self.goals = list(distinct)

    def counterexamples(self, hierarchy: Hierarchy) -> list[Trace]:
        for _ in range(0, CLEAN, self.batch):
            acted = list(islice(self.episodes, self.batch))
            self.seen.update(label for trace in acted for label in trace.labels)
            wrong = [error for trace in acted if (error := first_error(hierarchy, trace)) is not None]
            if wrong:
                return shortest(wrong, self.at_once)
        return []


def episodes(place: Scenario, hierarchy: Hierarchy, seed: int) -> Iterator[Trace]:
    plain = Recorder(place, hierarchy, Walker.RANDOM, seed).traces()
    if place.setting not in ("fr", "frl"):
        return plain
    guided = Recorder(place, hierarchy, Walker.GUIDED, seed).traces()
    return chain.from_iterable(zip(plain, guided, strict=True))


def learn_setting(setting: str) -> None:
    place = scenario(domain_of(setting), setting)
    paper = published_tasks(PublishedTable.DEFAULT, place.domain.name, setting)
    table = Table(
        "task", "level", "states", "edges", "calls", "paper", "G", "D", "I", "paper G/D/I", "length", "s", "paper s",
        "ratio", "difference", title=f"{place.domain.title} {setting.upper()}"
    )  # fmt: skip
    trees = {name: place.task(name) for name in place.domain.tasks}
    total, calls, right = 0.0, 0, 0
    with Solvers() as solvers:
        for seed, (name, tree) in enumerate(trees.items()):
            callables = [other for other in trees.values() if other.height < tree.height]
            learned, oracle = learn(place, tree, callables, solvers, seed)
            word = remaining_difference(place, learned.result, tree, oracle.seen)
            total, calls, right = total + learned.result.seconds, calls + learned.result.calls, right + (word == "none")
            table.add_row(*described(name, tree, learned, paper[name]), word)
    console.print(table)
    totals = published_totals(PublishedTable.DEFAULT, place.domain.name, setting)
    assert totals is not None
    theirs = totals.time_s.value
    console.print(
        f"{setting.upper()}: {total:.2f} s in {calls} calls; the paper {theirs:.1f} s; ratio {theirs / total:.0f}; "
        f"to reach {REACH[setting]} s; {right} of {len(trees)} without difference\n"
    )
    what = f"{place.domain.title} {setting.upper()}"
    figures.add("settings", what, "time", total, "s", (theirs, "the paper"))
    figures.add("settings", what, "calls", calls, reference=(totals.calls.value, "the paper"))
    figures.add("settings", what, "exactly right", f"{right} of {len(trees)}")


def learn(
    place: Scenario, tree: Hierarchy, callables: list[Hierarchy], solvers: Solvers, seed: int, *, prefixes: bool = True
) -> tuple[Induction, EpisodeOracle]:
    oracle = EpisodeOracle(episodes(place, tree, seed))
    oracle.collect(25 if tree.height == 1 else 150)
    options = Options(prefix_knowledge=prefixes)
    first = learning_task(shortest(oracle.goals), place.environment.propositions, callables, options=options)
    return ask_until_right(Learner(solvers), first, oracle), oracle


def learn_prefixes(seeds: int = 3) -> None:
    """The first level of OP: calls and incomplete examples, with the knowledge of prefixes, without, and the paper's.

    The paper's learner is without it, so only numbers without it may be set beside the paper's.
    """
    place = scenario("craftworld", "op")
    paper = published_tasks(PublishedTable.DEFAULT, "craftworld", "op")
    table = Table("task", "calls, known", "not known", "paper", "incomplete, known", "not known", "paper", "right")
    with Solvers() as solvers:
        for name in (name for name in place.domain.tasks if place.task(name).height == 1):
            tree, counted, right = place.task(name), list[str](), 0
            means = {column: one.value for column, one in paper[name].numbers.items()}
            both = [
                [learn(place, tree, [], solvers, seed, prefixes=prefixes) for seed in range(seeds)]
                for prefixes in (True, False)
            ]
            for measure, count, theirs in (
                ("calls", _calls, means["calls"]),
                ("incomplete examples", _incompletes, means["examples_incomplete"]),
            ):
                known, not_known = (round(mean(count(learned) for learned, _ in runs), 1) for runs in both)
                counted += [f"{known:.1f}", f"{not_known:.1f}", f"{theirs:g}"]
                figures.add("prefixes", name, f"{measure}, known", known)
                figures.add("prefixes", name, f"{measure}, not known", not_known, reference=(theirs, "the paper"))
            for learned, oracle in chain.from_iterable(both):
                right += remaining_difference(place, learned.result, tree, oracle.seen) == "none"
            table.add_row(name, *counted, f"{right} of {2 * seeds}")
            figures.add("prefixes", name, "exactly right", f"{right} of {2 * seeds}")
    console.print(table)


def _calls(learned: Induction) -> int:
    return learned.result.calls


def _incompletes(learned: Induction) -> int:
    return sum(trace.outcome is Outcome.INCOMPLETE for trace in learned.task.traces)


def remaining_difference(place: Scenario, result: Result, tree: Hierarchy, seen: set[Label]) -> str:
    """Over label events: all that can occur in CraftWorld, those seen in WaterWorld."""
    if not isinstance(result, Learned):
        return type(result).__name__
    labels = place.domain.labels(dead_ends=place.dead_ends) or seen
    word = difference(result.hierarchy, tree, labels=labels, events=True)
    return "none" if word is None else " ".join(map(show_label, word))


def described(name: str, tree: Hierarchy, learned: Induction, paper: PublishedTask) -> list[str]:
    result, traces = learned.result, learned.task.traces
    kinds = [
        sum(t.outcome is outcome for t in traces) for outcome in (Outcome.GOAL, Outcome.DEAD_END, Outcome.INCOMPLETE)
    ]
    means = {column: one.value for column, one in paper.numbers.items()}
    theirs = "/".join(f"{means.get(f'examples_{kind}', 0):g}" for kind in ("goal", "deadend", "incomplete"))
    seconds = means["time_s"]
    size = (str(result.states), str(len(result.machine.edges))) if isinstance(result, Learned) else ("-", "-")
    return [
        name, str(tree.height), *size, str(result.calls), f"{means['calls']:g}", *map(str, kinds), theirs,
        f"{mean(map(len, traces)):.1f}", f"{result.seconds:.3f}", f"{seconds:g}", f"{seconds / result.seconds:.0f}",
    ]  # fmt: skip


FLAT: list[tuple[str, str, float | str]] = [
    ("craftworld", "milk-bucket", 3.2), ("waterworld", "rg", 0.9), ("craftworld", "book", "> 7200"),
    ("waterworld", "rg&bc", "> 7200"), ("craftworld", "milk-bucket-sugar", "> 7200"),
    ("waterworld", "rgb&cmy", "> 7200"), ("craftworld", "cake", "> 7200"), ("craftworld", "book-quill", "> 7200"),
]  # fmt: skip


def learn_flat(seconds: float) -> None:
    """One task alone, nothing callable; counterexamples from episodes, and then from the truth."""
    for source in ("episodes", "truth"):
        table = Table(
            "task", "states", "minimal", "edges", "calls", "traces", "s to an equivalent machine",
            "s to the certificate", "paper s", "bound", title=f"flat machines, counterexamples from {source}"
        )  # fmt: skip
        for domain_name, name, paper in FLAT:
            row = flat_row(domain_name, name, paper, source, seconds)
            console.print(f"  {source}: {' · '.join(row)}")  # the next may take long
            table.add_row(*row)
        console.print(table)


def flat_row(domain_name: str, name: str, paper: float | str, source: str, seconds: float) -> list[str]:
    from rewardmachines.core.flattening import flatten
    from rewardmachines.core.minimization import minimize

    place = scenario(domain_name, "op" if domain_name == "craftworld" else "wod")
    tree = place.task(name)
    labels = place.domain.labels()
    if labels is None:  # balls seldom overlap: one colour at a time
        labels = (frozenset(), *(frozenset({p}) for p in place.environment.propositions))
    minimal = len(minimize(flatten(tree), labels=labels)[tree.root].states)
    oracle: EpisodeOracle | HierarchyOracle
    if source == "episodes":
        oracle = EpisodeOracle(episodes(place, tree, 0), batch=CLEAN, at_once=10)
        oracle.collect(25 if tree.height == 1 else 150)
    else:
        oracle = HierarchyOracle(tree, labels)
    clock = EquivalenceClock(tree, labels)
    with Solvers() as solvers:
        first = learning_task(shortest(oracle.goal_traces()), place.environment.propositions)
        learned = ask_until_right(Learner(solvers), first, oracle, Budget(seconds), clock.add)
    result = learned.result
    size = (
        (str(result.states), str(minimal), str(len(result.machine.edges)))
        if isinstance(result, Learned)
        else ("-", str(minimal), "-")
    )
    bound = max(result.refuted, default=1) + 1
    equivalent = "-" if clock.equivalent is None else f"{clock.equivalent:.2f}"
    done = f"{result.seconds:.2f}" if isinstance(result, Learned) else f"not in {seconds:g}"
    value = result.seconds if isinstance(result, Learned) else f"{done}: at least {bound} states"
    figures.add("flat", f"{name} ({minimal} states)", f"from {source}", value, "s", (paper, "the paper"))
    return [name, *size, str(result.calls), str(len(learned.task.traces)), equivalent, done, str(paper), f">= {bound}"]


class EquivalenceClock:
    """When, in seconds inside the learner, a machine was first right on all label events."""

    def __init__(self, truth: Hierarchy, labels: Iterable[Label]) -> None:
        self._truth, self._labels = truth, tuple(labels)
        self._seconds = 0.0
        self.equivalent: float | None = None

    def add(self, result: Result) -> None:
        self._seconds += result.seconds
        if self.equivalent is not None or not isinstance(result, Learned):
            return
        if difference(result.hierarchy, self._truth, labels=self._labels, events=True) is None:
            self.equivalent = self._seconds


def growth() -> None:
    """Growth of the time: one thing varied at a time, Book with everything below it callable."""
    place = scenario("craftworld", "op")
    tree = place.task("book")
    names = place.environment.propositions
    lower = [place.task(name) for name in place.domain.tasks if place.task(name).height < tree.height]
    lower.sort(key=lambda callee: callee.root not in ("paper", "leather"))
    recorded = list(islice(episodes(place, tree, 0), 600))
    more = {n: (*names, *(f"x{i}" for i in range(n - len(names)))) for n in (10, 20, 40)}
    varied = {
        "traces": [(n, recorded[:n], lower, names) for n in (20, 50, 100, 200, 400)],
        "labels of the longest trace": [
            (n, [cut(t, n) for t in recorded[:100]], lower, names) for n in (25, 50, 100, 200)
        ],
        "callable machines": [(n, recorded[:50], lower[:n], names) for n in (2, 4, 7)],
        "propositions": [(n, recorded[:50], lower, more[n]) for n in more],
    }
    for title, rows in varied.items():
        table = Table(title, "states", "calls", "s", title=f"growth with the number of {title}")
        for number, traces, callables, propositions in rows:
            with Solvers() as solvers:
                result = Learner(solvers).learn(learning_task(traces, propositions, callables), Budget(120))
            states = str(result.states) if isinstance(result, Learned) else type(result).__name__
            table.add_row(str(number), states, str(result.calls), f"{result.seconds:.3f}")
        console.print(table)
    grow_states(place)


def grow_states(place: Scenario) -> None:
    """Flat chains of things to be done one after the other, from the truth."""
    table = Table(
        "states",
        "calls",
        "s",
        title="growth with the number of states (flat sequences, counterexamples from the truth)",
    )
    names = place.environment.propositions
    for length in (2, 4, 6, 8, 10):
        tree = compile_task(" ; ".join(names[i % len(names)] for i in range(length)), propositions=names)
        oracle = HierarchyOracle(tree, place.domain.labels())
        with Solvers() as solvers:
            first = learning_task(oracle.goal_traces(), names)
            result = ask_until_right(Learner(solvers), first, oracle, Budget(120)).result
        table.add_row(str(length + 1), str(result.calls), f"{result.seconds:.3f}")
    console.print(table)


def cut(trace: Trace, length: int) -> Trace:
    """The part of an episode before it was stopped."""
    return trace if len(trace) <= length else Trace(compress(trace.labels[:length]))


def main(arguments: list[str]) -> None:
    seconds = 60.0
    if "--seconds" in arguments:
        at = arguments.index("--seconds")
        seconds = float(arguments[at + 1])
        del arguments[at : at + 2]
    chosen = arguments or [*CRAFTWORLD, *WATERWORLD, "flat", "growth"]
    started = time.perf_counter()
    for what in chosen:
        if what == "flat":
            learn_flat(seconds)
        elif what == "growth":
            growth()
        elif what == "prefixes":
            learn_prefixes()
        else:
            learn_setting(what)
    console.print(f"{time.perf_counter() - started:.0f} s in all, episodes included")


if __name__ == "__main__":
    main(sys.argv[1:])
