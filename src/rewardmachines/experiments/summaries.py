"""From the folder of a finished run to what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rewardmachines.agents.presets import preset as agent_preset
from rewardmachines.agents.training.run import TrainRun, load_run
from rewardmachines.experiments.aggregate import decays, kept, reached_at
from rewardmachines.experiments.baselines.run import load_flat
from rewardmachines.experiments.made import made_now
from rewardmachines.experiments.plan import PlannedRun
from rewardmachines.experiments.results import Curve, Number, Result, TaskResult
from rewardmachines.experiments.study import Command
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.setbacks import Cause
from rewardmachines.reports.differences import differences
from rewardmachines.reports.results_table import result_table
from rewardmachines.reports.summary import summarize
from rewardmachines.runs.config_file import flat as flat_settings

THRESHOLDS: Final = (0.5, 0.9)
"""Returns for which it is kept when they were reached."""


def summary(planned: PlannedRun, folder: Path) -> Result:
    """What is kept of a run that has ended.

    Args:
        planned: What it was asked for.
        folder: Where it is.
    """
    return _SUMMARIES[planned.command](planned, folder)


def _result(planned: PlannedRun, defaults: object, **values: Any) -> Result:
    spec: Any = planned.order.spec
    usual = flat_settings(defaults) if defaults is not None else {}
    ours = flat_settings(spec.config) if hasattr(spec, "config") else {}
    changed = tuple(f"{name}={value}" for name, value in ours.items() if usual.get(name, value) != value)
    return Result(
        key=planned.key,
        command=planned.command.value,
        what=planned.what,
        domain=spec.domain,
        setting=spec.setting,
        preset=planned.preset.value,
        settings=changed,
        seed=spec.seed,
        made=made_now(f"hrm study run {planned.study}"),
        is_spent=planned.order.budget.is_spent(values["steps"], values["episodes"], values["seconds"]),
        **values,
    )


# -- hrm learn


def _learned(planned: PlannedRun, folder: Path) -> Result:
    run = load_learning(folder)
    rows, said, moments, full = run.rows(), summarize(run), run.moments(), _learned_curves(run)
    limit = run.spec.config.run_learner_seconds
    learner_seconds = sum(learning.seconds for learning in run.learnings().values())
    return _result(
        planned,
        lhrm_preset(planned.preset, run.spec.domain, run.spec.setting),
        is_complete=limit is None or learner_seconds < limit,
        end=said.why,
        steps=rows[-1].steps if rows else 0,
        episodes=rows[-1].episodes if rows else 0,
        seconds=moments[-1].seconds if moments else 0.0,
        learner_seconds=learner_seconds,
        tasks=_learned_tasks(run, full),
        curves=tuple(map(kept, full)),
    )


def _learned_tasks(run: LearnRun, full: Sequence[Curve]) -> tuple[TaskResult, ...]:
    levels = {task.name: task.level for task in run.worlds.tasks}
    right = {each.task: each.trace is None and each.problem is None for each in differences(run).tasks}
    results = []
    for row, curve in zip(result_table(run).rows, full, strict=True):
        lower = [episode for each in full if levels[each.task] < row.level for episode in each.learned_episodes]
        events, fallen = decays(curve, sorted(set(lower)))
        numbers = {"level": row.level, **row.numbers, "is_right": float(right[row.name]) if row.name in right else None}
        numbers |= {"relearned_below": events, "decays": fallen}
        results.append(TaskResult(row.name, row.goal, row.hrm, _numbers(numbers)))
    return tuple(results)


def _learned_curves(run: LearnRun) -> tuple[Curve, ...]:
    """A curve for each task. While its level is not active its return counts as 0, as in the paper."""
    rows = [row for row in run.rows() if row.returns is not None]
    events = [(row, event) for row in run.rows() for event in row.learned if event.cause is not Cause.PROBLEM]
    learned = {name: [row for row, event in events if event.task == name] for name in run.tasks}
    return tuple(
        Curve(
            task=name,
            seed=run.spec.seed,
            episodes=tuple(row.episodes for row in rows),
            steps=tuple(row.steps for row in rows),
            returns=tuple(round(float(np.mean(row.returns[number])), 4) for row in rows if row.returns is not None),
            learned_episodes=tuple(row.episodes for row in learned[name]),
            learned_steps=tuple(row.steps for row in learned[name]),
        )
        for number, name in enumerate(run.tasks)
    )


# -- hrm train


def _trained(planned: PlannedRun, folder: Path) -> Result:
    run = load_run(folder)
    rows, moments, spec = run.rows(), run.moments(), run.spec
    full = _trained_curves(run)
    numbers = {
        f"{axis}_to_{threshold:g}_seed_{curve.seed}": reached_at(curve, threshold, axis)
        for curve in full
        for threshold in THRESHOLDS
        for axis in ("episodes", "steps")
    }
    return _result(
        planned,
        agent_preset(planned.preset, spec.domain, spec.setting, spec.algorithm),
        is_complete=True,
        end="It ended as it was asked to.",
        steps=max((row.steps for row in rows), default=0),
        episodes=max((row.episodes for row in rows), default=0),
        seconds=moments[-1].seconds if moments else 0.0,
        learner_seconds=0.0,
        tasks=(TaskResult(spec.task, any(row.goals for row in rows), True, _numbers(numbers)),),
        curves=tuple(map(kept, full)),
    )


def _trained_curves(run: TrainRun) -> tuple[Curve, ...]:
    evaluated = [row for row in run.rows() if row.mean_return is not None]
    by_seed = {seed: [row for row in evaluated if row.seed == seed] for seed in run.seeds}
    return tuple(
        Curve(
            task=run.spec.task,
            seed=seed,
            episodes=tuple(row.episodes for row in mine),
            steps=tuple(row.steps for row in mine),
            returns=tuple(round(row.mean_return or 0.0, 4) for row in mine),
        )
        for seed, mine in by_seed.items()
        if mine
    )


# -- flat baselines


def _flat(planned: PlannedRun, folder: Path) -> Result:
    run = load_flat(folder)
    rows, moments = run.rows(), run.moments()
    last = rows[-1] if rows else None
    has_machine = last is not None and last.states is not None and not last.failed
    numbers = {
        "time_s": run.learner_seconds,
        "calls": 0 if last is None else last.calls,
        "states": None if last is None else last.states,
        "edges": None if last is None else last.edges,
    }
    end = "The time for searches was up." if run.is_interrupted else "All episodes were taken."
    if last is not None and last.failed:
        end = "No machine within the bounds explains the episodes."
    return _result(
        planned,
        None,
        is_complete=run.is_finished,
        end=end,
        steps=last.steps if last else 0,
        episodes=last.episodes if last else 0,
        seconds=moments[-1].seconds if moments else 0.0,
        learner_seconds=run.learner_seconds,
        tasks=(TaskResult(run.spec.task, any(row.goals for row in rows), has_machine, _numbers(numbers)),),
        curves=(),
    )


# -- shared


def _numbers(values: dict[str, Any]) -> tuple[Number, ...]:
    return tuple(Number(name, round(float(value), 4)) for name, value in values.items() if value is not None)


_SUMMARIES: Final = {Command.LEARN: _learned, Command.TRAIN: _trained, Command.FLAT: _flat}
