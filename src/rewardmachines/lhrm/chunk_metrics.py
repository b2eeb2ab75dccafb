"""What a run counts: a row for each chunk, and the totals of the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.examples import Examples
from rewardmachines.lhrm.setbacks import Event
from rewardmachines.lhrm.worlds.protocol import Counts
from rewardmachines.runs.metrics_log import Check


@dataclass(frozen=True)
class Row:
    """What a chunk brought. By task means in the order of the run's tasks."""

    chunk: int
    """The number of the chunk, from 1."""
    steps: int
    """Steps of all environments, from the beginning of the run."""
    episodes: int
    """Episodes that have ended, from the beginning of the run."""
    level: int
    """The level of the curriculum after the chunk."""
    goals: tuple[int, ...]
    """Episodes that reached the goal in the chunk, by task."""
    ended: tuple[int, ...]
    """Episodes that ended in the chunk, by task."""
    collected: tuple[int, ...]
    """Traces that are kept: goal traces before there is a machine, its examples afterwards; by task."""
    running: tuple[float, ...]
    """Running returns of the curriculum, as means over the instances; by task."""
    formula_loss: float
    """The mean loss of the Q-functions of formulas, over the chunk."""
    call_loss: float
    """The same for the Q-functions of calls."""
    learned: tuple[Event, ...]
    """The machines that were learned from the chunk's traces, and the tasks that were given up."""
    returns: tuple[tuple[float, ...], ...] | None
    """Returns of greedy episodes by task and instance, if there was an evaluation after the chunk."""

    @property
    def mean_return(self) -> float | None:
        """The mean of all returns; tasks that have not begun count as 0."""
        return None if self.returns is None else float(np.mean(self.returns))


@dataclass
class Tally:
    """The totals of a run so far."""

    steps: int = 0
    chunks: int = 0
    episodes: int = 0
    evaluated_at: int = 0
    """How many episodes had ended at the last evaluation."""

    def add(self, counts: Counts) -> None:
        """Adds what was counted in one more chunk."""
        self.steps += int(counts.steps)
        self.chunks += 1
        self.episodes += int(counts.episodes.sum())


def row_of(
    tally: Tally,
    curriculum: Curriculum,
    counts: Counts,
    *,
    examples: Iterable[Examples],
    events: Sequence[Event],
    returns: Any,
) -> Row:
    """The row of the chunk that was counted last.

    Args:
        tally: The totals, this chunk included.
        curriculum: As it is after the chunk.
        counts: What was counted in the chunk.
        examples: Those of every task.
        events: What was learned from the chunk.
        returns: Of the evaluation after the chunk, by task and instance, if there was one.
    """
    return Row(
        chunk=tally.chunks,
        steps=tally.steps,
        episodes=tally.episodes,
        level=curriculum.level,
        goals=_whole(counts.goals),
        ended=_whole(counts.episodes),
        collected=tuple(len(e.traces) if e.has_begun else len(e.goals) for e in examples),
        running=tuple(map(float, curriculum.returns.mean(axis=1))),
        formula_loss=float(counts.losses.formulas),
        call_loss=float(counts.losses.calls),
        learned=tuple(events),
        returns=None if returns is None else tuple(tuple(map(float, row)) for row in returns),
    )


def _whole(numbers: Any) -> tuple[int, ...]:
    return tuple(map(int, np.asarray(numbers)))


def row_check(tasks: tuple[str, ...], instances: int) -> Check:
    """What must hold of the rows of a run with these tasks and so many instances."""

    def problem(row: Row) -> str | None:
        by_task = {"goals": row.goals, "ended": row.ended, "collected": row.collected, "running": row.running}
        for name, values in (by_task if row.returns is None else {**by_task, "returns": row.returns}).items():
            if len(values) != len(tasks):
                return f"'{name}' must have {len(tasks)} entries, not {len(values)}"
        for returns in row.returns or ():
            if len(returns) != instances:
                return f"'returns' must have {instances} entries for each task, not {len(returns)}"
        return next((f"there is no task '{e.task}' in this run" for e in row.learned if e.task not in tasks), None)

    return problem


def scalars(row: Row, tasks: tuple[str, ...]) -> dict[str, float]:
    """What TensorBoard shows of a row."""
    shown: dict[str, float] = {
        "episodes": row.episodes,
        "level": row.level,
        "loss of formulas": row.formula_loss,
        "loss of calls": row.call_loss,
    }
    for name, ended, goals in zip(tasks, row.ended, row.goals, strict=True):
        if ended:
            shown[f"goals while exploring/{name}"] = goals / ended
    for name, returns in zip(tasks, row.returns or (), strict=False):
        shown[f"greedy return/{name}"] = float(np.mean(returns))
    return shown
