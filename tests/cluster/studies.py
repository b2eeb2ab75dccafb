"""Small studies, and what of their results does not depend on when and where they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rewardmachines.studies.execution import Outcome
from rewardmachines.studies.plan import PlannedRun, planned_runs
from rewardmachines.studies.results import Made, Result
from rewardmachines.studies.study import read_study
from rewardmachines.studies.sweep.local import sweep

SIZES = """
instances = 2
max_steps = 50
set = ["environments=4", "batch=8", "chunk=50", "evaluate_every=4", "replay_size=1000", "replay_start=100",
       "network.body=flat", "network.filters=[]", "network.hidden=[8]", "calls.network.body=flat",
       "calls.network.filters=[]", "calls.network.hidden=[8]", "calls.replay_size=100", "calls.replay_start=5"]
"""
POLICIES = f"""
[[runs]]
name = "policies"
command = "train"
settings = ["op"]
tasks = ["bucket", "sugar"]
seeds = 1
stop_at = 0
steps = STEPS
{SIZES}
"""
FLAT = """
[[runs]]
name = "flat"
command = "flat"
settings = ["op"]
tasks = ["bucket"]
methods = ["jirp"]
seeds = 1
instances = 2
max_steps = 50
episodes = 60
learner_seconds = 5
"""
CHUNK = 200
"""Steps of a chunk of the policies."""


def policies(steps: int) -> str:
    return POLICIES.replace("STEPS", str(steps))


def runs_of(text: str) -> tuple[PlannedRun, ...]:
    return planned_runs(read_study(text, "tiny", "tiny.toml"))


def timeless(outcomes: Mapping[str, Outcome]) -> dict[str, Result]:
    """Results without times and places, by key. All runs must have one."""
    nothing = Made(command="", commit="", device="", jax="", rewardmachines="", date="")
    results = {}
    for key, result in outcomes.items():
        assert isinstance(result, Result), result
        tasks = tuple(replace(task, numbers={**task.numbers, "time_s": 0.0}) for task in result.tasks)
        results[key] = replace(result, seconds=0.0, learner_seconds=0.0, made=nothing, tasks=tasks)
    return results


def locally(runs: tuple[PlannedRun, ...], root: Path) -> dict[str, Result]:
    """What the same runs bring on this machine alone."""
    return timeless({run.key: outcome for run, outcome in sweep(runs, root)})
