"""Runs that never were, with everything that a report reads, and what checks the page of a report."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from envs import painted
from rewardmachines.agents.presets import preset
from rewardmachines.core.traversal import initial_state
from rewardmachines.envs.domain import Pixels
from rewardmachines.envs.filming import Caption, Film, Shot
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.induction import FailedSearch, TaskProgress
from rewardmachines.lhrm.presets import LHRM_GYMNASIUM, lhrm_preset
from rewardmachines.library import task
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.rows import MachineUpdate, Row, Trigger
from rewardmachines.rollout.suite import ranked
from rewardmachines.runs.config import DomainPlace, RunConfig
from rewardmachines.runs.diagnosis import NOTHING
from rewardmachines.runs.film import FilmedEpisode
from rewardmachines.runs.journal import TimingRow
from rewardmachines.runs.places import PlaceArguments, gym_place
from rewardmachines.runs.run import Run
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.traces import Outcome, Trace

NAMES = ("bucket", "paper", "milk-bucket")


@dataclass(eq=False, repr=False)
class MadeUpRun(Run):
    """A run whose files are made up, each by a field of the name that it has in a run."""

    config: RunConfig
    ranked_tasks: Any = ()
    suite: Any = None
    folder: Path = Path("runs/made-up")
    rows: Any = ()
    timing: Any = None
    given_hierarchies: Any = None
    machines: Any = None
    examples: Any = None
    progress: Any = None
    first_machines: Any = None
    missing: Any = None
    diagnosis: Any = NOTHING
    is_zero_shot: Any = False
    goal_in: frozenset[int] = frozenset()
    """Instances in which the policy succeeds."""

    def __post_init__(self) -> None:
        for name in ("given_hierarchies", "machines", "examples", "progress", "first_machines", "missing"):
            if getattr(self, name) is None:
                setattr(self, name, {})
        if self.timing is None:
            self.timing = [TimingRow(row.steps, 0.05 * row.chunk, 0.002 * row.chunk) for row in self.rows]

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.ranked_tasks)

    def record_film(self, task: str | None = None, *, instance: int = 0, **_: Any) -> FilmedEpisode:
        """Three steps in a place where nothing moves."""
        tree, end = self.machines[task], "GOAL" if instance in self.goal_in else "out of steps"
        told = [Caption(str(task), step, frozenset(), end=end if step == 3 else "") for step in range(4)]
        return FilmedEpisode(Film(tree, [Shot(_black, initial_state(tree), each) for each in told]), 3, end)


def _black() -> Pixels:
    return np.zeros((40, 40, 3), np.uint8)


@cache
def _suite(domain: str, setting: str, names: tuple[str, ...]) -> JaxSuite:
    return JaxSuite(DomainPlace(domain, setting, instances=2).scenario("one-hot"), names)


def made_up(
    domain: str = "craftworld",
    setting: str = "op",
    names: Sequence[str] = NAMES,
    *,
    settings: LhrmConfig | None = None,
    **said: Any,
) -> MadeUpRun:
    """A run of LHRM in a domain, of two instances, in which nothing has happened unless it is said."""
    place, settings = DomainPlace(domain, setting, instances=2), settings or lhrm_preset("fast", domain, setting)
    config = RunConfig(tuple(names), place, None, "exact", "hrl", settings, seed=7, stop_at=0.95)
    suite = _suite(domain, setting, tuple(names))
    nothing = {name: TaskProgress(Examples(25)) for name in names}
    return MadeUpRun(config, suite.tasks, suite, **(said | {"progress": nothing | said.get("progress", {})}))


def made_up_gym(names: Sequence[str], **said: Any) -> MadeUpRun:
    """A run of LHRM in Gymnasium environments."""
    place = gym_place([GymTask(name, 1, painted.make, None) for name in names], PlaceArguments())
    config = RunConfig(tuple(names), None, place, "exact", "hrl", LHRM_GYMNASIUM, stop_at=0.95)
    return MadeUpRun(config, ranked(dict.fromkeys(names, 1)), **said)


def made_up_training(rows: Sequence[Row] = (), agent: str = "hrl", **said: Any) -> MadeUpRun:
    """A run of training for a task that calls another."""
    config = RunConfig(
        ("milk-bucket",), DomainPlace("craftworld", "op", instances=2), None, None, agent,
        preset("fast", "craftworld", "op", agent), seed=7, budget=RunBudget(9000), stop_at=0.95,
    )  # fmt: skip
    given = {"milk-bucket": task("craftworld", "milk-bucket")}
    made: dict[str, Any] = {"given_hierarchies": given, "machines": given, "rows": rows}
    return MadeUpRun(config, ranked({"milk-bucket": 1}), **(made | said))


def changed(run: MadeUpRun, **changes: Any) -> MadeUpRun:
    """The run with another config."""
    return replace(run, config=replace(run.config, **changes))


def row(
    chunk: int,
    level: int = 1,
    returns: Sequence[Sequence[float]] | None = None,
    learned: Sequence[MachineUpdate] = (),
    goals: Sequence[int] = (1, 0, 0),
) -> Row:
    zeros, said = (0,) * len(goals), None if returns is None else tuple(map(tuple, returns))
    return Row(
        chunk=chunk, steps=1000 * chunk, episodes=10 * chunk, level=level, goals=tuple(goals), ended=(2,) * len(goals),
        collected=zeros, running=(0.0,) * len(goals), formula_loss=0.0, call_loss=0.0, exploration=0.5,
        learned=tuple(learned), returns=said, lengths=said and tuple(tuple(12.0 for _ in each) for each in said),
    )  # fmt: skip


def event(name: str, cause: Trigger = Trigger.GOALS, message: str | None = None) -> MachineUpdate:
    return MachineUpdate(name, cause, 3, 2, 4, 10, 0, 1, message)


def word(text: str) -> tuple[frozenset[str], ...]:
    """`iron - table` is three labels, the middle one empty."""
    return tuple(frozenset() if part == "-" else frozenset(part.split("+")) for part in text.split())


def finished(**said: Any) -> MadeUpRun:
    """Bucket and milk-bucket have machines, paper was given up."""
    trees = {name: task("craftworld", name) for name in ("bucket", "milk-bucket")}
    failure = FailedSearch("paper: no machine was found in 1 s", ())
    progress = {
        "bucket": TaskProgress(Examples(25), calls=4, seconds=0.25, learned=2),
        "milk-bucket": TaskProgress(Examples(150), calls=6, seconds=0.5, learned=1),
        "paper": TaskProgress(Examples(25), calls=1, seconds=0.125, failure=failure),
    }
    examples = {
        "bucket": (
            Trace(word("- iron - table"), Outcome.GOAL),
            Trace(word("- iron table"), Outcome.GOAL),
            Trace(word("- table"), Outcome.INCOMPLETE),
        ),
        "milk-bucket": (Trace(word("- iron table cow"), Outcome.GOAL),),
    }
    rows = [
        row(1, learned=[event("bucket")], returns=[(0, 0), (0, 0), (0, 0)]),
        row(2, learned=[event("paper", Trigger.PROBLEM, "paper: no machine was found in 1 s")]),
        row(3, 2, returns=[(1, 0.5), (0, 0), (0, 0)]),
        row(4, 1, learned=[event("bucket", Trigger.COUNTEREXAMPLE)]),
        row(5, 2, returns=[(1, 1), (0, 0), (0, 0)], goals=(0, 0, 1)),
        row(6, 2, learned=[event("milk-bucket")], returns=[(1, 1), (0, 0), (1, 0.5)]),
        row(7, 3, returns=[(1, 1), (0, 0), (1, 1)]),
    ]
    made: dict[str, Any] = {"rows": rows, "machines": trees, "examples": examples, "progress": progress}
    made |= {"first_machines": {"bucket": 10, "milk-bucket": 30}, "goal_in": frozenset({1})}
    made |= {"missing": {"paper": "given up: no machine was found in 1 s"}}
    return made_up(**(made | said))


# -- pages


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
    """The page, whose elements are closed, and whose links lead to files."""
    checker = Checker()
    checker.feed(page.read_text())
    checker.close()
    assert not checker.open
    assert checker.links
    for link in checker.links:
        assert (page.parent / unquote(link)).is_file(), link
    return checker
