"""From the folder of a finished run to what is kept of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from rewardmachines.files.version import PACKAGE
from rewardmachines.reports.differences import differences
from rewardmachines.reports.results_table import result_table
from rewardmachines.reports.summary import summarize
from rewardmachines.rollout.rows import Row, Trigger
from rewardmachines.runs.maker import this_maker
from rewardmachines.runs.run import Run
from rewardmachines.studies.aggregate import decays, kept, reached_at
from rewardmachines.studies.baselines.algorithm import OUT_OF_BOUNDS, FlatLearning
from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Made, Result, ReturnCurve, TaskResult
from rewardmachines.studies.study import RunKind

COMMIT: Final = "REWARDMACHINES_COMMIT"
"""The environment variable that says the commit where there is no repository, as on a machine that only computes."""
UNKNOWN: Final = "unknown"


def made_now(command: str) -> Made:
    """The provenance of a result that is made here and now.

    Args:
        command: The command line of the run.
    """
    maker = this_maker()
    return Made(
        command=command,
        commit=this_commit(),
        device=this_device(),
        jax=maker["jax"],
        rewardmachines=maker[PACKAGE],
        date=maker["date"],
    )


def this_device() -> str:
    """The device of this process, in words: of a CPU, it matters how many cores it may use."""
    device = this_maker()["device"]
    if device != "cpu":
        return device
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{cores} CPU core{'' if cores == 1 else 's'}"


def this_commit() -> str:
    """The commit of the program, with a plus sign if its files have changed since; unknown without a repository."""
    if given := os.environ.get(COMMIT):
        return given
    git, here = shutil.which("git"), Path(__file__).parent
    if git is None:
        return UNKNOWN
    head = _git(git, here, "rev-parse", "--short", "HEAD")
    if head is None:
        return UNKNOWN
    return f"{head}+" if _git(git, here, "status", "--porcelain", "--", ".") else head


def _git(git: str, folder: Path, *words: str) -> str | None:
    done = subprocess.run([git, "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=10)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else None


THRESHOLDS: Final = (0.5, 0.9)
"""Returns for which it is kept when they were reached."""


def summary(planned: PlannedRun, folder: Path) -> Result:
    """The summary of a run that has ended.

    Args:
        planned: The run in the study.
        folder: The folder of the run.
    """
    run = Run(folder)
    rows, timing = run.rows, run.timing
    steps, episodes = (rows[-1].steps, rows[-1].episodes) if rows else (0, 0)
    seconds = timing[-1].seconds if timing else 0.0
    return Result(
        key=planned.key,
        command=planned.command.value,
        what=planned.what,
        domain=planned.domain,
        setting=planned.setting,
        preset=planned.preset.value,
        settings=planned.changes,
        seed=planned.seed,
        steps=steps,
        episodes=episodes,
        seconds=seconds,
        learner_seconds=run.last.algorithm.learner_seconds,
        made=made_now(f"hrm study run {planned.study}"),
        is_spent=run.config.budget.is_spent(steps, episodes, seconds),
        is_processor_time=True,
        **_SUMMARIES[planned.command](run, rows),
    )


def _learned(run: Run, rows: Sequence[Row]) -> dict[str, Any]:
    limit, full = run.config.settings.run_learner_seconds, _learned_curves(run, rows)
    return {
        "is_complete": limit is None or run.last.algorithm.learner_seconds < limit,
        "end": summarize(run).why,
        "tasks": _learned_tasks(run, rows, full),
        "curves": tuple(map(kept, full)),
    }


def _learned_tasks(run: Run, rows: Sequence[Row], full: Sequence[ReturnCurve]) -> tuple[TaskResult, ...]:
    levels = run.levels
    right = {each.task: each.trace is None and each.problem is None for each in differences(run).tasks}
    results = []
    for number, (row, curve) in enumerate(zip(result_table(run).rows, full, strict=True)):
        lower = [episode for each in full if levels[each.task] < row.level for episode in each.learned_episodes]
        counted = _curve(curve.task, [each for each in rows if _counts(each, number, row.level)], number)
        events, fallen = decays(counted, sorted(set(lower)))
        numbers = {"level": row.level, **row.numbers, "is_right": right.get(row.name)}
        numbers |= {"relearned_below": events, "decays": fallen}
        results.append(TaskResult(row.name, row.goal, row.hrm, _numbers(numbers)))
    return tuple(results)


def _counts(row: Row, number: int, level: int) -> bool:
    """Whether the return of a task may be a decay: it was evaluated, or its level was not active, as in the paper.

    A task whose own machine has changed in the chunk is left out of the evaluation after it; its 0 says nothing.
    """
    return row.lengths is not None and (any(row.lengths[number]) or row.level < level)


def _learned_curves(run: Run, rows: Sequence[Row]) -> tuple[ReturnCurve, ...]:
    """A curve for each task. While its level is not active its return counts as 0, as in the paper."""
    updates = [(row, update.task) for row in rows for update in row.learned if update.cause is not Trigger.PROBLEM]
    curves = []
    for number, name in enumerate(run.tasks):
        curves.append(_curve(name, rows, number, [row for row, task in updates if task == name]))
    return tuple(curves)


def _trained(run: Run, rows: Sequence[Row]) -> dict[str, Any]:
    curve = _curve(run.config.task, rows)
    reached = {
        f"{axis}_to_{threshold:g}": reached_at(curve, threshold, axis)
        for threshold in THRESHOLDS
        for axis in ("episodes", "steps")
    }
    has_goal = any(row.goals[0] for row in rows)
    return {
        "is_complete": True,
        "end": "It ended as it was asked to.",
        "tasks": (TaskResult(run.config.task, has_goal, True, _numbers(reached)),),
        "curves": (kept(curve),) if curve.returns else (),
    }


def _flat(run: Run, rows: Sequence[Row]) -> dict[str, Any]:
    """A baseline is completed when all episodes were taken, with a machine that the method has not given up."""
    learning = run.last.algorithm
    assert isinstance(learning, FlatLearning)
    size = learning.learner.size
    numbers = {"time_s": learning.learner_seconds, "calls": learning.searches.calls}
    numbers |= {} if size is None else {"states": size.states, "edges": size.edges}
    has_machine = size is not None and learning.problem != OUT_OF_BOUNDS
    has_goal = any(row.goals[0] for row in rows)
    return {
        "is_complete": learning.problem is None and bool(rows),
        "end": learning.problem or "All episodes were taken.",
        "tasks": (TaskResult(run.config.task, has_goal, has_machine, _numbers(numbers)),),
        "curves": (),
    }


def _curve(task: str, rows: Sequence[Row], number: int = 0, learned: Sequence[Row] = ()) -> ReturnCurve:
    """The curve of the task with a number in the rows of a run, of which some have brought a machine."""
    evaluated = [(row, row.returns[number]) for row in rows if row.returns is not None]
    return ReturnCurve(
        task=task,
        episodes=tuple(row.episodes for row, _ in evaluated),
        steps=tuple(row.steps for row, _ in evaluated),
        returns=tuple(round(fmean(returns), 4) for _, returns in evaluated),
        learned_episodes=tuple(row.episodes for row in learned),
        learned_steps=tuple(row.steps for row in learned),
    )


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in values.items() if value is not None}


_SUMMARIES: Final[dict[RunKind, Callable[[Run, Sequence[Row]], dict[str, Any]]]] = {
    RunKind.LEARN: _learned,
    RunKind.TRAIN: _trained,
    RunKind.FLAT: _flat,
}
