"""What claims are judged by: means over runs and over seeds, neither the best nor the worst of them."""

from __future__ import annotations

from typing import Any

from rewardmachines.experiments.evidence import Axis
from rewardmachines.experiments.results import Curve, Made, Number, Result, TaskResult
from rewardmachines.experiments.run_evidence import RunEvidence
from rewardmachines.library.published import PublishedTable


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
        "tasks": tuple(
            TaskResult(name, True, True, tuple(Number(column, value) for column, value in numbers.items()))
            for name, numbers in tasks.items()
        ),
        "curves": (),
        "made": Made("", "", "", "", "", ""),
    }
    return Result(**{**values, **changes})


def test_what_tasks_take_together_is_the_mean_over_completed_runs() -> None:
    runs = [result({"book": {"calls": calls}, "map": {"calls": 1.0}}, seed=int(calls)) for calls in (2.0, 3.0, 10.0)]
    runs.append(result({"book": {"calls": 1_000.0}}, is_complete=False))
    mean = RunEvidence(runs).total(PublishedTable.DEFAULT, "op", "calls")
    assert mean is not None
    assert mean.value == 6.0


def test_first_episodes_are_means_over_runs_for_each_task() -> None:
    runs = [
        result({name: {"level": 2.0, "first_hrm_episodes": value} for name, value in (("book", book), ("map", found))})
        for book, found in ((100.0, 7.0), (200.0, 7.0), (600.0, 10.0))
    ]
    tasks = RunEvidence(runs).tasks(PublishedTable.DEFAULT, "op")
    means = {name: task.numbers["first_hrm_episodes"].value for name, task in tasks.items()}
    assert means == {"book": 300.0, "map": 8.0}


def test_what_a_return_takes_is_the_mean_over_seeds_and_who_never_had_it_counts_with_everything() -> None:
    curves = tuple(Curve("book", seed, (500, 900), (5_000, 9_000), (0.0, 0.5)) for seed in range(3))
    reached = {"episodes_to_0.9_seed_0": 100.0, "episodes_to_0.9_seed_1": 200.0}
    run = result({"book": reached}, command="train", what="hrl", setting="frl", curves=curves)
    axes: dict[Axis, float] = {"episodes": 400.0, "steps": 9_000.0}
    for axis, expected in axes.items():
        mean = RunEvidence([run]).reached("frl", "book", "hrl", "ours", axis)
        assert mean is not None
        assert mean.value == expected
