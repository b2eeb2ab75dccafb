"""A run of LHRM that never was, with everything that a report looks at, and what checks the page of a report."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict
from rewardmachines.envs.scenario import Scenario, scenario
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import Learning
from rewardmachines.lhrm.machine_pool import TaskSpec
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.setbacks import Cause, Event, Setback
from rewardmachines.library import task
from rewardmachines.runs.budget import Budget
from rewardmachines.traces import Outcome, Trace

if TYPE_CHECKING:
    from rewardmachines.lhrm.run import LearnRun
    from rewardmachines.reports.run_view import RunView

    def a_run_on_disk_can_be_reported(run: LearnRun) -> RunView:
        return run


@dataclass
class TaskWorlds:
    tasks: tuple[TaskSpec, ...]
    scenario: Scenario
    trees: Mapping[str, Hierarchy]

    def tree(self, name: str) -> Hierarchy:
        return self.trees[name]


@dataclass
class FakeRun:
    spec: Any
    worlds: Any
    told: Sequence[Row] = ()
    learned: Mapping[str, Hierarchy] = field(default_factory=dict)
    traces: Mapping[str, tuple[Trace, ...]] = field(default_factory=dict)
    how: Mapping[str, Learning] = field(default_factory=dict)
    firsts: Mapping[str, int] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    order: Any = field(default_factory=lambda: SimpleNamespace(stop_at=0.95, budget=Budget()))
    goal_in: frozenset[int] = frozenset()
    """Instances in which the policy succeeds."""

    def rows(self) -> Sequence[Row]:
        return self.told

    def moments(self) -> list[Any]:
        chunks = [one.chunk for one in self.told]
        return [SimpleNamespace(steps=1000 * n, seconds=0.05 * n, learner_seconds=0.002 * n) for n in chunks]

    def hierarchies(self) -> Mapping[str, Hierarchy]:
        return self.learned

    def examples(self) -> Mapping[str, tuple[Trace, ...]]:
        return self.traces

    def learnings(self) -> dict[str, Learning]:
        nothing = Learning(Examples(25))
        return {one.name: self.how.get(one.name, nothing) for one in self.worlds.tasks}

    def first(self) -> Mapping[str, int]:
        return self.firsts

    def missing(self) -> Mapping[str, str]:
        return self.lacking

    @property
    def in_domain(self) -> FakeRun:
        return self

    def policy(self, name: str) -> Any:
        return Policy(name, self.learned[name].rooted(name))

    def environment(self, name: str, instance: int) -> Any:
        return Episode(self.worlds.scenario, 3, "accept" if instance in self.goal_in else "neither")


@dataclass
class Policy:
    """Does nothing in particular."""

    task: str
    tree: Hierarchy
    verdict: Verdict = Verdict.NEITHER
    options: tuple[str, ...] = ("call bucket", "iron")

    def reset(self, label: Any = ()) -> None: ...

    def act(self, observation: Any, label: Any) -> int:
        return 0

    @property
    def hierarchy(self) -> Hierarchy:
        return self.tree

    @property
    def state(self) -> HierarchyState:
        return HierarchyState(self.task, "u0")


@dataclass
class Episode:
    """Ends after some steps, in a place where nothing moves."""

    scenario: Scenario
    length: int
    end: str
    steps: int = 0

    @property
    def episode(self) -> Any:
        return SimpleNamespace(state=self.scenario.environment.reset(self.scenario.world, 0))

    def reset(self) -> tuple[int, dict[str, Any]]:
        self.steps = 0
        return 0, {"label": frozenset()}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        over, goal = self.steps == self.length, self.end == "accept"
        return 0, 0.0, over and goal, over and not goal, {"label": frozenset({"iron"}), "verdict": self.end}


def fake(
    domain: str = "craftworld",
    setting: str = "op",
    names: Sequence[str] = ("bucket", "paper", "milk-bucket"),
    *,
    config: LhrmConfig | None = None,
    **said: Any,
) -> FakeRun:
    chosen = scenario(domain, setting, instances=2, observation="one-hot")
    trees = {name: chosen.task(name) for name in names}
    tasks = tuple(TaskSpec(name, trees[name].height) for name in sorted(names, key=lambda n: trees[n].height))
    config = config or lhrm_preset("fast", domain, setting)
    spec = SimpleNamespace(domain=domain, setting=setting, config=config, seed=7, instances=2, fresh=0)
    return FakeRun(spec, TaskWorlds(tasks, chosen, trees), **said)


def row(
    chunk: int,
    level: int = 1,
    returns: Sequence[Sequence[float]] | None = None,
    learned: Sequence[Event] = (),
    goals: Sequence[int] = (1, 0, 0),
) -> Row:
    zeros = (0,) * len(goals)
    said = None if returns is None else tuple(map(tuple, returns))
    return Row(chunk, 1000 * chunk, 10 * chunk, level, tuple(goals), zeros, zeros, (0.0,) * len(goals), 0.0, 0.0,
               tuple(learned), said)  # fmt: skip


def event(name: str, cause: Cause = Cause.GOALS, message: str | None = None) -> Event:
    return Event(name, cause, 3, 2, 4, 10, 0, 1, message)


def word(text: str) -> tuple[frozenset[str], ...]:
    """`iron - table` is three labels, the middle one empty."""
    return tuple(frozenset() if part == "-" else frozenset(part.split("+")) for part in text.split())


def finished(**said: Any) -> FakeRun:
    """Bucket and milk-bucket have machines, paper was given up."""
    trees = {name: task("craftworld", name) for name in ("bucket", "milk-bucket")}
    how = {
        "bucket": Learning(Examples(25), calls=4, seconds=0.25, learned=2),
        "milk-bucket": Learning(Examples(150), calls=6, seconds=0.5, learned=1),
        "paper": Learning(
            Examples(25), calls=1, seconds=0.125, setback=Setback("paper: no machine was found in 1 s", ())
        ),
    }
    traces = {
        "bucket": (
            Trace(word("- iron - table"), Outcome.GOAL),
            Trace(word("- iron table"), Outcome.GOAL),
            Trace(word("- table"), Outcome.INCOMPLETE),
        ),
        "milk-bucket": (Trace(word("- iron table cow"), Outcome.GOAL),),
    }
    told = [
        row(1, learned=[event("bucket")], returns=[(0, 0), (0, 0), (0, 0)]),
        row(2, learned=[event("paper", Cause.PROBLEM, "paper: no machine was found in 1 s")]),
        row(3, 2, returns=[(1, 0.5), (0, 0), (0, 0)]),
        row(4, 1, learned=[event("bucket", Cause.COUNTEREXAMPLE)]),
        row(5, 2, returns=[(1, 1), (0, 0), (0, 0)], goals=(0, 0, 1)),
        row(6, 2, learned=[event("milk-bucket")], returns=[(1, 1), (0, 0), (1, 0.5)]),
        row(7, 3, returns=[(1, 1), (0, 0), (1, 1)]),
    ]
    made: dict[str, Any] = {"told": told, "learned": trees, "traces": traces, "how": how, "goal_in": frozenset({1})}
    made |= {"firsts": {"bucket": 10, "milk-bucket": 30}, "lacking": {"paper": "given up: no machine was found in 1 s"}}
    return fake(**(made | said))


def cells(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


class Checker(HTMLParser):
    """Every element is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def checked(page: Path) -> Checker:
    checker = Checker()
    checker.feed(page.read_text())
    checker.close()
    assert not checker.open
    assert checker.links
    for link in checker.links:
        assert (page.parent / unquote(link)).is_file(), link
    return checker
