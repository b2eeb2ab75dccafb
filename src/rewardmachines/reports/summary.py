"""A summary of a run in a few numbers: its settings, how far it came, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewardmachines.agents.presets import Preset
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.learn_gymnasium import LHRM_GYMNASIUM
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.setbacks import Cause
from rewardmachines.reports.results_table import scenario_title
from rewardmachines.reports.run_view import DomainRunView, RunView
from rewardmachines.runs.budget import EVALUATIONS
from rewardmachines.runs.config_file import flat


@dataclass(frozen=True)
class Change:
    """A setting that differs from the preset."""

    name: str
    """The full name of the setting."""
    value: str
    """Its value in the run."""
    preset: str
    """Its value in the preset."""


@dataclass(frozen=True)
class Summary:
    """A run in a few numbers."""

    title: str
    """The domain and its setting, for people."""
    seed: int
    instances: str
    """How many instances there were, in words."""
    evaluated: int
    """The number of instances in which each task is evaluated."""
    tasks: int
    """The number of tasks."""
    levels: int
    """The number of levels of the curriculum."""
    preset: str
    """The name of the preset that is nearest to the settings of the run."""
    changes: tuple[Change, ...]
    """The settings that differ from this preset."""
    is_done: bool
    """Whether every task is learned well enough, those that were given up aside."""
    why: str
    """A sentence on why the run has ended, or that it has not."""
    missing: Mapping[str, str]
    """What each task that is not learned well enough lacks, in words."""
    level: int
    """The present level of the curriculum; one more than the highest if all are mastered."""
    steps: int
    """The steps that were taken in all environments so far."""
    episodes: int
    """The episodes that have ended so far."""
    seconds: float
    """The wall-clock time that the run has taken."""
    learner_seconds: float
    """The part of this time that searches for machines took."""
    calls: int
    """The calls of the solver."""
    machines: int
    """The number of tasks that have a machine."""
    learned: int
    """The number of machines that were learned, those included that were replaced."""
    returns: Mapping[str, float | None]
    """The mean return in the last evaluations, by task; None for a task that was not active in all of them."""

    @property
    def learner_share(self) -> float:
        """The share of searches for machines in the time of the run."""
        return self.learner_seconds / self.seconds if self.seconds else 0.0


def summarize(run: RunView) -> Summary:
    """Summarizes a run, finished or not."""
    rows, learnings, tasks = run.rows(), run.learnings(), run.worlds.tasks
    moments = run.moments()
    seconds = moments[-1].seconds if moments else 0.0
    preset, changes = nearest_preset(run)
    is_done = bool(rows) and _is_done(run)
    return Summary(
        title=title_of(run),
        seed=run.spec.seed,
        instances=_instances(run),
        evaluated=run.spec.instances,
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
    """The mean return of each task over instances and the last evaluations, if it was active in all of them."""
    evaluated = [row for row in rows if row.returns is not None][-EVALUATIONS:]
    means: dict[str, float | None] = {}
    for number, task in enumerate(run.worlds.tasks):
        returns = [row.returns[number] for row in evaluated if row.returns is not None and row.level >= task.level]
        means[task.name] = float(np.mean(returns)) if returns and len(returns) == len(evaluated) else None
    return means


def title_of(run: RunView) -> str:
    """The domain and its setting, for people."""
    inside = run.in_domain
    return "Gymnasium environments" if inside is None else scenario_title(inside.spec.domain, inside.spec.setting)


def _instances(run: RunView) -> str:
    """How many instances there were, and of fresh ones how many were held out."""
    held_out, inside = run.spec.instances, run.in_domain
    if inside is None or not inside.spec.fresh:
        return f"{held_out} instances"
    return f"{inside.spec.fresh:,} fresh instances to train in and {held_out} that are held out"


def nearest_preset(run: RunView) -> tuple[str, tuple[Change, ...]]:
    """The name of the preset from which the settings of a run differ least, and the settings that differ."""
    settings, inside = flat(run.spec.config), run.in_domain
    presets = {"gymnasium": LHRM_GYMNASIUM} if inside is None else _presets(inside)
    changes: dict[str, tuple[Change, ...]] = {}
    for preset, config in presets.items():
        usual = flat(config)
        differing = [name for name in settings if settings[name] != usual.get(name)]
        changes[preset] = tuple(Change(name, str(settings[name]), str(usual.get(name))) for name in differing)
    return min(changes.items(), key=lambda item: len(item[1]))


def _presets(run: DomainRunView) -> dict[str, LhrmConfig]:
    """The settings of each preset in the domain of a run, by its name."""
    domain_name, setting = run.spec.domain, run.spec.setting
    fresh = run.spec.fresh > 0
    return {
        p.value: lhrm_preset(p, domain_name, setting, fresh=fresh) for p in (Preset.FAST, Preset.TABLE, Preset.PAPER)
    }


def _is_done(run: RunView) -> bool:
    """Whether every task that was not given up is learned well enough; if all were given up, the run is not done."""
    given_up = {name for name, learning in run.learnings().items() if learning.problem is not None}
    return run.order.stop_at > 0 and len(given_up) < len(run.worlds.tasks) and set(run.missing()) <= given_up


def _why(run: RunView, rows: Sequence[Row], seconds: float, *, is_done: bool) -> str:
    """A sentence on why the run has ended, or that it has not."""
    if not rows:
        return "Nothing has happened yet."
    order, budget = run.order, run.order.budget
    if is_done:
        every = "Every task but those given up" if run.missing() else "Every task"
        trials = run.spec.config.trials
        stood = f", and {trials:,} episodes of each have not refuted its machine" if trials else ""
        return f"{every} returned at least {order.stop_at:g} on average in the last {EVALUATIONS} evaluations{stood}."
    if budget.steps is not None and rows[-1].steps >= budget.steps:
        return f"It ended after the {budget.steps:,} steps that it was given."
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"It ended after the {budget.seconds:,.0f} seconds that it was given."
    if budget.episodes is not None and rows[-1].episodes >= budget.episodes:
        return f"It ended after the {budget.episodes:,} episodes that it was given."
    limit = run.spec.config.run_learner_seconds
    if limit is not None and sum(learning.seconds for learning in run.learnings().values()) >= limit:
        return f"It ended because searches for machines took the {limit:,g} seconds that they were given."
    if len(run.missing()) == len(run.worlds.tasks) and all(learning.problem for learning in run.learnings().values()):
        return "Every task was given up."
    return "It was stopped, or has not ended yet."
