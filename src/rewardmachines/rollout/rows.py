"""The metrics of a run: a row for each chunk, and the totals of the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from rewardmachines.agents.config import AgentConfig
from rewardmachines.rollout.tables import Counts


class Trigger(Enum):
    """The reason for which a machine was learned, or a task given up.

    GOALS: enough goal traces were collected. COUNTEREXAMPLE: the earlier machine misclassified a trace. CALLEE: a
    machine that it calls is new. PROBLEM: none was found, and the task was given up.
    """

    GOALS = "goals"
    COUNTEREXAMPLE = "counterexample"
    CALLEE = "callee"
    PROBLEM = "problem"


@dataclass(frozen=True)
class MachineUpdate:
    """A new machine, or a task that was given up."""

    task: str
    cause: Trigger
    states: int
    """The number of states of the machine. The rejecting state counts only if an edge leads to it."""
    edges: int
    calls: int
    """The number of solver calls for the task, from the beginning of the run."""
    goals: int
    """The number of examples that are goal traces."""
    dead_ends: int
    """The number of examples that are dead ends."""
    incompletes: int
    """The number of examples that are incomplete traces."""
    message: str | None = None
    """The reason for which the task was given up, in words."""


@dataclass(frozen=True)
class Row:
    """The metrics of a chunk. By task means in the order of the run's tasks."""

    chunk: int
    """The number of the chunk, from 1."""
    steps: int
    """Steps of all environments, from the beginning of the run."""
    episodes: int
    """Episodes that have ended, from the beginning of the run."""
    level: int
    """The level of the curriculum after the chunk; 1 where hierarchies are given."""
    goals: tuple[int, ...]
    """Episodes that reached the goal in the chunk, by task."""
    ended: tuple[int, ...]
    """Episodes that ended in the chunk, by task."""
    collected: tuple[int, ...]
    """Traces that are kept: goal traces before there is a machine, its examples afterwards; by task."""
    running: tuple[float, ...]
    """Running returns of the curriculum, as means over the instances; by task."""
    formula_loss: float
    """The mean loss of the Q-functions of formulas, over the chunk; in CRM, of the only Q-function."""
    call_loss: float
    """The mean loss of the Q-functions of calls."""
    exploration: float
    """The probability of a random action after the chunk, on average."""
    learned: tuple[MachineUpdate, ...]
    """The machines that were learned from the chunk's traces, and the tasks that were given up."""
    returns: tuple[tuple[float, ...], ...] | None
    """Returns of greedy episodes by task and instance, if there was an evaluation after the chunk."""
    lengths: tuple[tuple[float, ...], ...] | None
    """The lengths of these episodes."""

    @property
    def mean_return(self) -> float | None:
        """The mean of all returns, if there was an evaluation; tasks that have not begun count as 0."""
        return None if self.returns is None else float(np.mean(self.returns))


@dataclass
class Counters:
    """The totals of a run so far."""

    steps: int = 0
    chunks: int = 0
    episodes: int = 0
    evaluated_at: int = 0
    """The number of episodes that had ended at the last evaluation."""

    def add(self, counts: Counts) -> None:
        """Adds the counts of a chunk."""
        self.steps += int(counts.steps)
        self.chunks += 1
        self.episodes += int(counts.episodes.sum())

    def is_due(self, config: AgentConfig) -> bool:
        """Whether an evaluation is due: after a multiple of a number of chunks, or past one of a number of episodes."""
        if (chunks := config.chunks_between_evaluations) is not None:
            return self.chunks % chunks == 0
        episodes = config.episodes_between_evaluations
        assert episodes is not None
        return self.episodes // episodes > self.evaluated_at // episodes


def whole_numbers(numbers: Any) -> tuple[int, ...]:
    """An array of whole numbers as a tuple."""
    return tuple(map(int, np.asarray(numbers)))


def by_task_and_instance(numbers: Any) -> tuple[tuple[float, ...], ...] | None:
    """An array [T, I] as tuples; None stays None."""
    return None if numbers is None else tuple(tuple(map(float, row)) for row in numbers)


def row_check(tasks: tuple[str, ...], instances: int) -> Callable[[Row], str | None]:
    """A check of the rows of a run with these tasks and instances, which returns what is wrong in words, or None."""

    def problem(row: Row) -> str | None:
        by_task = {"goals": row.goals, "ended": row.ended, "collected": row.collected, "running": row.running}
        greedy = {"returns": row.returns, "lengths": row.lengths}
        if (row.returns is None) != (row.lengths is None):
            return "returns and lengths go together"
        for name, values in {**by_task, **({} if row.returns is None else greedy)}.items():
            if len(values or ()) != len(tasks):
                return f"'{name}' must have {len(tasks)} entries, not {len(values or ())}"
        for name, table in greedy.items():
            for values in table or ():
                if len(values) != instances:
                    return f"'{name}' must have {instances} entries for each task, not {len(values)}"
        return next((f"there is no task '{e.task}' in this run" for e in row.learned if e.task not in tasks), None)

    return problem


def scalars(row: Row, tasks: tuple[str, ...]) -> dict[str, float]:
    """The values of a row that TensorBoard shows, by the names of their curves."""
    shown: dict[str, float] = {
        "episodes": row.episodes,
        "level": row.level,
        "exploration": row.exploration,
        "loss of formulas": row.formula_loss,
        "loss of calls": row.call_loss,
    }
    for name, ended, goals in zip(tasks, row.ended, row.goals, strict=True):
        if ended:
            shown[f"goals while exploring/{name}"] = goals / ended
    for name, returns, lengths in zip(tasks, row.returns or (), row.lengths or (), strict=False):
        shown[f"greedy return/{name}"] = float(np.mean(returns))
        shown[f"greedy length/{name}"] = float(np.mean(lengths))
    return shown
