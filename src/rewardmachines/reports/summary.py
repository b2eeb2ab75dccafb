"""A summary of a run in a few numbers: its settings, how far it came, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.registry import agent_kind
from rewardmachines.files.records import flat
from rewardmachines.lhrm.presets import LHRM_GYMNASIUM, lhrm_preset
from rewardmachines.reports.page_parts import counted
from rewardmachines.rollout.algorithm import EVALUATIONS
from rewardmachines.rollout.gym_settings import GYMNASIUM
from rewardmachines.rollout.rows import Row, Trigger
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.run import Run


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

    preset: str
    """The name of the preset that is nearest to the settings of the run."""
    changes: tuple[Change, ...]
    """The settings that differ from this preset."""
    is_done: bool
    """Whether every task is learned well enough, those that were given up aside."""
    why: str
    """A sentence on why the run has ended, or that it has not."""
    findings: tuple[tuple[str, str], ...]
    """The obstacles: the findings on tasks that are not learned, and more about each."""
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
    machines: frozenset[str]
    """The tasks that have a machine."""
    learned: int
    """The number of machines that were learned, those included that were replaced."""
    returns: Mapping[str, float | None]
    """The mean return in the last evaluations, by task; None for a task that was not active in all of them."""
    last: float | None
    """The mean return of all tasks in the last evaluation, if there was one."""
    best: float | None
    """The highest mean return of an evaluation, if there was one."""

    @property
    def learner_share(self) -> float:
        """The share of searches for machines in the time of the run."""
        return self.learner_seconds / self.seconds if self.seconds else 0.0

    @property
    def mean_return(self) -> float | None:
        """The mean return of all tasks in the last evaluations, where None counts as 0; None if all are None."""
        known = [value for value in self.returns.values() if value is not None]
        return sum(known) / len(self.returns) if known else None


def summarize(run: Run) -> Summary:
    """Summarizes a run, finished or not."""
    rows, progress, timing, missing = run.rows, run.progress, run.timing, run.missing
    seconds = timing[-1].seconds if timing else 0.0
    nearest, changes = nearest_preset(run.config)
    returns = last_returns(run, rows)
    evaluated = [row.mean_return for row in rows if row.mean_return is not None]
    is_done = bool(rows) and _is_done(run, missing, len(evaluated), returns)
    return Summary(
        preset=nearest,
        changes=changes,
        is_done=is_done,
        why=_why(run, rows, seconds, missing, is_done=is_done),
        findings=_findings(run, missing),
        level=rows[-1].level if rows else 1,
        steps=rows[-1].steps if rows else 0,
        episodes=rows[-1].episodes if rows else 0,
        seconds=seconds,
        learner_seconds=timing[-1].learner_seconds if timing else 0.0,
        calls=sum(learning.calls for learning in progress.values()),
        machines=frozenset(run.machines),
        learned=sum(event.cause is not Trigger.PROBLEM for row in rows for event in row.learned),
        returns=returns,
        last=evaluated[-1] if evaluated else None,
        best=max(evaluated, default=None),
    )


def last_returns(run: Run, rows: Sequence[Row]) -> dict[str, float | None]:
    """The mean return of each task over instances and the last evaluations, if it was active in all of them."""
    evaluated = [row for row in rows if row.returns is not None][-EVALUATIONS:]
    means: dict[str, float | None] = {}
    for number, task in enumerate(run.ranked_tasks):
        returns = [row.returns[number] for row in evaluated if row.returns is not None and row.level >= task.level]
        means[task.name] = float(np.mean(returns)) if returns and len(returns) == len(evaluated) else None
    return means


# -- instances and settings


def evaluated_in(config: RunConfig) -> str:
    """The instances in which each task is evaluated, in words; where there are none, its greedy episodes."""
    if config.domain is not None:
        return counted(config.domain.instances, "instance")
    assert config.gym is not None
    has_instances = any(record.instances is not None for record in config.gym.environments)
    return counted(config.gym.greedy_episodes, "instance" if has_instances else "episode")


def trained_in(config: RunConfig) -> str:
    """The instances of a run, in words, and of fresh ones how many were held out."""
    if config.domain is not None and config.domain.fresh:
        return f"{config.domain.fresh:,} fresh instances to train in and {config.domain.instances} that are held out"
    evaluated = evaluated_in(config)
    return evaluated if "instance" in evaluated else "any beginnings"


def nearest_preset(config: RunConfig) -> tuple[str, tuple[Change, ...]]:
    """The name of the preset from which the settings of a run differ least, and the settings that differ."""
    settings, changes = flat(config.settings), dict[str, tuple[Change, ...]]()
    for name, candidate in _presets(config).items():
        usual = flat(candidate)
        differing = [setting for setting in settings if settings[setting] != usual.get(setting)]
        changes[name] = tuple(Change(each, str(settings[each]), str(usual.get(each))) for each in differing)
    return min(changes.items(), key=lambda item: len(item[1]))


def _presets(config: RunConfig) -> dict[str, Any]:
    """The settings of each preset for a run like this, by its name."""
    place, learns = config.domain, config.learns_machines
    if place is None:
        return {"gymnasium": LHRM_GYMNASIUM if learns else agent_kind(config.agent).settings(GYMNASIUM)}
    name, setting, fresh = place.domain, place.setting, place.fresh > 0
    if learns:
        names = (Preset.FAST, Preset.TABLE, Preset.PAPER)
        return {each.value: lhrm_preset(each, name, setting, fresh=fresh) for each in names}
    return {each.value: preset(each, name, setting, config.agent, fresh=fresh) for each in (Preset.FAST, Preset.PAPER)}


# -- the end


def _given_up(run: Run) -> set[str]:
    return {name for name, learning in run.progress.items() if learning.problem is not None}


def _is_done(run: Run, missing: Mapping[str, str], evaluations: int, returns: Mapping[str, float | None]) -> bool:
    """Whether every task that was not given up is learned well enough; if all were given up, the run is not done."""
    stop_at = run.config.stop_at
    if not run.config.learns_machines:
        return stop_at > 0 and evaluations >= EVALUATIONS and (returns[run.config.task] or 0.0) >= stop_at
    given_up = _given_up(run)
    return stop_at > 0 and len(given_up) < len(run.tasks) and set(missing) <= given_up


def _findings(run: Run, missing: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The diagnosis of a run or, without one, what tasks lack."""
    found = run.diagnosis.findings if missing or not run.config.learns_machines else ()
    return tuple((finding.what, finding.advice) for finding in found) or tuple(missing.items())


def _why(run: Run, rows: Sequence[Row], seconds: float, missing: Mapping[str, str], *, is_done: bool) -> str:
    """A sentence on why the run has ended, or that it has not."""
    if not rows:
        return "There was nothing to learn: it is all in the bank." if run.is_zero_shot else "Nothing has happened yet."
    config, budget = run.config, run.config.budget
    if is_done:
        every = "Every task but those given up" if missing else "Every task"
        trials = config.settings.confirm_episodes if config.learns_machines else 0
        stood = f", and {trials:,} episodes of each have not refuted its machine" if trials else ""
        tries = config.settings.tests if config.learns_machines else 0
        stood += f", which was tested {counted(tries, 'time')} on each pair of a state and a label" if tries else ""
        return f"{every} returned at least {config.stop_at:g} on average in the last {EVALUATIONS} evaluations{stood}."
    if budget.steps is not None and rows[-1].steps >= budget.steps:
        return f"It ended after the {budget.steps:,} steps that it was given."
    if budget.seconds is not None and seconds >= budget.seconds:
        return f"It ended after the {budget.seconds:,.0f} seconds that it was given."
    if budget.episodes is not None and rows[-1].episodes >= budget.episodes:
        return f"It ended after the {budget.episodes:,} episodes that it was given."
    limit = config.settings.run_learner_seconds if config.learns_machines else None
    if limit is not None and sum(learning.seconds for learning in run.progress.values()) >= limit:
        return f"It ended because searches for machines took the {limit:,g} seconds that they were given."
    if config.learns_machines and len(_given_up(run)) == len(run.tasks):
        return "Every task was given up."
    return "It was stopped, or has not ended yet."
