"""The lines of the logs of a baseline's run."""

from __future__ import annotations

from dataclasses import dataclass

from rewardmachines.runs.metrics_log import Moment


@dataclass(frozen=True)
class FlatRow:
    """The metrics of a chunk: a line of `metrics.jsonl`."""

    chunk: int
    """The number of the chunk, from 1."""
    steps: int
    """Environment steps that were taken so far."""
    episodes: int
    """Episodes that were taken so far."""
    goals: int
    """Episodes that reached the goal in the chunk."""
    calls: int
    """Searches that were done so far."""
    states: int | None
    """States of the present machine, counted as published; None before there is one."""
    edges: int | None
    """Edges of the present machine, counted as published; None before there is one."""
    failed: bool
    """Whether there is no machine within the bounds of the method, which ended the run."""


def row_problem(row: FlatRow) -> str | None:
    """What is wrong with a row, in words; None if nothing is."""
    return None if (row.states is None) == (row.edges is None) else "states and edges go together"


@dataclass(frozen=True)
class FlatMoment(Moment):
    """The moment at which a chunk was done: a line of `timing.jsonl`."""

    learner_seconds: float
    """The seconds that searches have taken so far."""
    interrupted: bool
    """Whether the time for searches was up before the chunk was done. Such a chunk has no row: the run stands where it
    stood before, and goes on from there if it is resumed with more time."""
