"""Made-up results of planned runs, for what is made of results: tables, figures, claims and pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from rewardmachines.studies.plan import PlannedRun
from rewardmachines.studies.results import Made, Result, ReturnCurve, TaskResult
from rewardmachines.studies.study import RunKind

POINTS = 30
LEVEL_1 = ("batter", "bucket", "compass", "leather", "paper", "quill", "sugar", "rg", "bc", "my")


def made_up(run: PlannedRun, **changes: Any) -> Result:
    """A result that a run could have had. Equal runs have equal results.

    Args:
        run: The run.
        **changes: Fields of the result that are to be otherwise.
    """
    random = Random(run.key)
    tasks = tuple(_task(run, name, random) for name in run.tasks)
    values: dict[str, Any] = {
        "key": run.key,
        "command": run.command.value,
        "what": run.what,
        "domain": run.domain,
        "setting": run.setting,
        "preset": run.preset.value,
        "settings": run.changes,
        "seed": run.seed,
        "is_complete": True,
        "end": "It was made up.",
        "steps": 1_000_000,
        "episodes": 20_000,
        "seconds": 100.0,
        "learner_seconds": sum(task.number("time_s") or 0 for task in tasks),
        "tasks": tasks,
        "curves": _curves(run, random),
        "made": Made(f"hrm study run {run.study}", "abc1234", "Abacus", "0.0", "0.0", "2026-01-01T00:00:00+00:00"),
    }
    return Result(**{**values, **changes})


def with_numbers(result: Result, task: str, numbers: Mapping[str, float]) -> tuple[TaskResult, ...]:
    """The tasks of a result, with some numbers of one of them replaced."""
    return tuple(
        replace(each, numbers={name: numbers.get(name, value) for name, value in each.numbers.items()})
        if each.task == task
        else each
        for each in result.tasks
    )


def _task(run: PlannedRun, name: str, random: Random) -> TaskResult:
    if run.command is RunKind.TRAIN:
        rank = ("hrl", "flat-hrl", "crm").index(run.what) + 1
        reached = {
            f"{axis}_to_{threshold}": rank * scale * threshold / 0.9 * random.uniform(0.95, 1.05)
            for axis, scale in (("episodes", 5_000), ("steps", 400_000))
            for threshold in (0.5, 0.9)
            if run.what != "crm"
        }
        return TaskResult(name, True, True, reached)
    level = 1 if name in LEVEL_1 else 2
    numbers = {"level": level, "is_right": 1.0, "time_s": random.uniform(0.01, 2), "calls": random.randint(2, 9)}
    numbers |= {"states": random.randint(3, 5), "edges": random.randint(2, 6), "first_hrm_episodes": 100.0}
    numbers |= {"examples_goal": 10, "examples_deadend": 1, "examples_incomplete": random.randint(0, 4)}
    numbers |= {"length_goal": 21.5, "length_deadend": 7.0, "length_incomplete": 12.5}
    numbers |= {"relearned_below": 2, "decays": 2} if run.command is RunKind.LEARN else {}
    return TaskResult(name, True, True, {column: float(value) for column, value in numbers.items()})


def _curves(run: PlannedRun, random: Random) -> tuple[ReturnCurve, ...]:
    if run.command is RunKind.FLAT:
        return ()
    return tuple(_curve(task, random, learns=run.command is RunKind.LEARN) for task in run.tasks)


def _curve(task: str, random: Random, *, learns: bool) -> ReturnCurve:
    start, slope = random.randint(0, POINTS // 2), random.uniform(0.05, 0.2)
    returns = tuple(round(min(1.0, max(0.0, (point - start) * slope)), 3) for point in range(POINTS))
    episodes = tuple(400 * (point + 1) for point in range(POINTS))
    learned = (episodes[start] - 50,) if learns else ()
    steps, learned_steps = (tuple(200 * e for e in each) for each in (episodes, learned))
    return ReturnCurve(task, episodes, steps, returns, learned_episodes=learned, learned_steps=learned_steps)
