"""The agent at the hardest task that it has a machine for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.sizes import size
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.reports.film import Take, take
from rewardmachines.reports.run_view import Progress, RunView

FILM: Final = "hardest.gif"


@dataclass(frozen=True)
class Film:
    """What is to be seen in it."""

    task: str
    instance: int
    steps: int
    end: str
    succeeds: bool
    tried: int
    """Instances; if it does not succeed, in none of them."""


def hardest_task(run: RunView) -> str | None:
    """Of the highest level with a machine that was not given up; there, whose hierarchy is the largest."""
    learned, learnings = run.hierarchies(), run.learnings()
    known = [t for t in run.worlds.tasks if t.name in learned and learnings[t.name].problem is None]
    if not known:
        return None

    def hardness(name: str, level: int) -> tuple[int, int, int]:
        tree = learned[name].rooted(name)
        return level, len(tree.machines), size(tree).states

    return max(known, key=lambda task: hardness(task.name, task.level)).name


def write_film(run: RunView, folder: Path, progress: Progress) -> Film | str:
    """Of an instance in which it succeeds, or else of the first that was tried; or why there is nothing to film."""
    task = hardest_task(run)
    if task is None:
        return "there is no machine yet"
    instances = _promising(run, task, run.rows())
    taken: list[Take] = []
    try:
        policy = run.policy(task)
        for instance in instances:
            progress(f"{FILM}: {task}, instance {instance}")
            taken.append(take(run.environment(task, instance), policy, task))
            if taken[-1].succeeds:
                break
    except RewardMachineError as problem:  # networks are written now and then, and may be older than the machine
        return str(problem)
    chosen = next((number for number, one in enumerate(taken) if one.succeeds), 0)
    best = taken[chosen]
    best.save(folder / FILM)
    return Film(task, instances[chosen], best.steps, best.end, best.succeeds, len(taken))


def _promising(run: RunView, task: str, rows: Sequence[Row]) -> list[int]:
    """Instances, first those in which it succeeded when it was last evaluated."""
    number = [one.name for one in run.worlds.tasks].index(task)
    last = next((row.returns[number] for row in reversed(rows) if row.returns is not None), None)
    every = list(range(run.spec.instances))
    return every if last is None else sorted(every, key=lambda instance: -last[instance])
