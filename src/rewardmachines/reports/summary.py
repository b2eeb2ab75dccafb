"""A run in a few numbers: what it was, how far it came, and what it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewardmachines.agents.presets import Preset
from rewardmachines.envs.registry import domain
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.induction import Cause
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.reports.run_view import RunView, SpecView
from rewardmachines.runs.budget import EVALUATIONS
from rewardmachines.runs.config_file import flat


@dataclass(frozen=True)
class Change:
    """A setting that is not what the preset says."""

    name: str
    value: str
    preset: str


@dataclass(frozen=True)
class Summary:
    title: str
    seed: int
    instances: int
    tasks: int
    levels: int
    preset: str
    """The one that is nearest."""
    changes: tuple[Change, ...]
    is_done: bool
    why: str
    """It has ended, or has not."""
    missing: Mapping[str, str]
    """What tasks lack."""
    level: int
    steps: int
    episodes: int
    seconds: float
    learner_seconds: float
    calls: int
    machines: int
    """Tasks that have one."""
    learned: int
    """How often there was a new one."""
    returns: Mapping[str, float | None]
    """Of the last evaluations, by task; none where the task was not active in all of them."""

    @property
    def learner_share(self) -> float:
        """Of the time."""
        return self.learner_seconds / self.seconds if self.seconds else 0.0


def summarize(run: RunView) -> Summary:
    rows, learnings, tasks = run.rows(), run.learnings(), run.worlds.tasks
    moments = run.moments()
    seconds = moments[-1].seconds if moments else 0.0
    preset, changes = nearest_preset(run.spec)
    is_done = bool(rows) and _is_done(run)
    return Summary(
        title=f"{domain(run.spec.domain).title} {run.spec.setting.upper()}",
        seed=run.spec.seed,
        instances=run.spec.instances,
        tasks=len(tasks),
        levels=max(task.level for task in tasks),
        preset=preset,
        changes=changes,
        is_done=is_done,
        why=_why(run, rows, seconds, is_done=is_done),
        missing=dict(run.missing()),
        level=rows[-1].level if rows else 1,
        steps=rows[-1].steps if rows else 0,
        episodes=rows[-1].episodes if rows else 0,
        seconds=seconds,
        learner_seconds=moments[-1].learner_seconds if moments else 0.0,
        calls=sum(learning.calls for learning in learnings.values()),
        machines=len(run.hierarchies()),
        learned=sum(event.cause is not Cause.PROBLEM for row in rows for event in row.learned),
        returns=last_returns(run, rows),
    )


def last_returns(run: RunView, rows: Sequence[Row]) -> dict[str, float | None]:
    """The mean of each task over instances and the last evaluations, if it was active in all of them."""
    evaluated = [row for row in rows if row.returns is not None][-EVALUATIONS:]
    found: dict[str, float | None] = {}
    for number, task in enumerate(run.worlds.tasks):
        mine = [row.returns[number] for row in evaluated if row.returns is not None and row.level >= task.level]
        found[task.name] = float(np.mean(mine)) if mine and len(mine) == len(evaluated) else None
    return found


def nearest_preset(spec: SpecView) -> tuple[str, tuple[Change, ...]]:
    """The preset with which the fewest settings have to be changed, and these."""
    ours = flat(spec.config)
    found: dict[str, tuple[Change, ...]] = {}
    for preset in (Preset.FAST, Preset.PAPER):
        theirs = flat(lhrm_preset(preset, spec.domain, spec.setting))
        differing = [name for name in ours if ours[name] != theirs.get(name)]
        found[preset.value] = tuple(Change(name, str(ours[name]), str(theirs.get(name))) for name in differing)
    return min(found.items(), key=lambda item: len(item[1]))


def _is_done(run: RunView) -> bool:
    """Whether every task is good enough, those given up aside; if all were, it is not."""
    given_up = {name for name, learning in run.learnings().items() if learning.problem is not None}
    return run.order.stop_at > 0 and len(given_up) < len(run.worlds.tasks) and set(run.missing()) <= given_up


def _why(run: RunView, rows: Sequence[Row], seconds: float, *, is_done: bool) -> str:
    if not rows:
        return "Nothing has happened yet."
    order, budget = run.order, run.order.budget
    if is_done:
        every = "Every task but those given up" if run.missing() else "Every task"
        return f"{every} returned at least {order.stop_at:g} on average in the last {EVALUATIONS} evaluations."
    if budget.steps is not None and rows[-1].steps >= budget.steps:
        return f"It ended after the {budget.steps:,} steps that it was given."
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"It ended after the {budget.seconds:,.0f} seconds that it was given."
    if budget.episodes is not None and rows[-1].episodes >= budget.episodes:
        return f"It ended after the {budget.episodes:,} episodes that it was given."
    if len(run.missing()) == len(run.worlds.tasks) and all(one.problem for one in run.learnings().values()):
        return "Every task was given up."
    return "It was stopped, or has not ended yet."
