"""What claims are judged by: means over runs and over seeds, neither the best nor the worst of them."""

from __future__ import annotations

from typing import Any

from rewardmachines.library.published import PublishedTable
from rewardmachines.studies.evidence import Axis, PolicyRuns, evidence_of_results
from rewardmachines.studies.results import Made, Result, ReturnCurve, TaskResult


def result(tasks: dict[str, dict[str, float]], **changes: Any) -> Result:
    """A completed run of LHRM in OP by the rules of the paper, with these numbers of its tasks."""
    values: dict[str, Any] = {
        "key": "k",
        "command": "learn",
        "what": "lhrm",
        "domain": "craftworld",
        "setting": "op",
        "preset": "table",
        "settings": (),
        "seed": 0,
        "is_complete": True,
        "end": "It was made up.",
        "steps": 1,
        "episodes": 1,
        "seconds": 1.0,
        "learner_seconds": 1.0,
        "tasks": tuple(TaskResult(name, True, True, numbers) for name, numbers in tasks.items()),
        "curves": (),
        "made": Made("", "", "", "", "", ""),
    }
    return Result(**{**values, **changes})


def test_what_tasks_take_together_is_the_mean_over_completed_runs() -> None:
    runs = [result({"book": {"calls": calls}, "map": {"calls": 1.0}}, seed=int(calls)) for calls in (2.0, 3.0, 10.0)]
    runs.append(result({"book": {"calls": 1_000.0}}, is_complete=False))
    mean = evidence_of_results(runs).total(PublishedTable.DEFAULT, "op", "calls")
    assert mean is not None
    assert mean.value == 6.0


def test_first_episodes_are_means_over_runs_for_each_task() -> None:
    runs = [
        result({name: {"level": 2.0, "first_hrm_episodes": value} for name, value in (("book", book), ("map", found))})
        for book, found in ((100.0, 7.0), (200.0, 7.0), (600.0, 10.0))
    ]
    tasks = evidence_of_results(runs).experiment(PublishedTable.DEFAULT, "op").tasks
    means = {name: task.numbers["first_hrm_episodes"].value for name, task in tasks.items()}
    assert means == {"book": 300.0, "map": 8.0}


def test_what_a_return_takes_is_the_mean_over_runs_and_one_that_never_had_it_counts_with_everything() -> None:
    curve = ReturnCurve("book", (500, 900), (5_000, 9_000), (0.0, 0.5))
    reached = [{"episodes_to_0.9": 100.0}, {"episodes_to_0.9": 200.0}, {}]
    runs = [
        result({"book": numbers}, command="train", what="hrl", setting="frl", seed=seed, curves=(curve,))
        for seed, numbers in enumerate(reached)
    ]
    axes: dict[Axis, float] = {"episodes": 400.0, "steps": 9_000.0}
    for axis, expected in axes.items():
        mean = evidence_of_results(runs).reached[PolicyRuns("frl", "book", "hrl", "ours", axis)]
        assert (mean.value, mean.runs) == (expected, 3)
