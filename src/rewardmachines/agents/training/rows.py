"""The rows of `metrics.jsonl` in training: the metrics of a chunk for one seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rewardmachines.runs.metrics_log import Check, read_records


@dataclass(frozen=True)
class Row:
    """The metrics of a chunk for one seed."""

    seed: int
    chunk: int
    """The number of the chunk, from 1."""
    steps: int
    """Steps that were taken in all environments so far."""
    episodes: int
    """Episodes that have ended so far."""
    goals: int
    """Episodes that reached the goal in the chunk."""
    ended: int
    """Episodes that ended in the chunk."""
    formula_loss: float
    """The mean loss of the Q-functions of formulas; in CRM, of the only Q-function."""
    call_loss: float
    """The mean loss of the Q-functions that choose among calls."""
    exploration: float
    """The exploration rate after the chunk."""
    returns: tuple[float, ...] | None
    """The return of a greedy episode in each instance, if there was an evaluation."""
    lengths: tuple[int, ...] | None
    """The length of each of these episodes."""

    @property
    def mean_return(self) -> float | None:
        """The mean return over instances, if there was an evaluation."""
        return None if self.returns is None else float(np.mean(self.returns))


def read_rows(path: Path, seeds: range, instances: int) -> list[Row]:
    """Reads the rows of a run.

    Args:
        path: The file of rows.
        seeds: The seeds of the run.
        instances: The number of its instances, or of the episodes of an evaluation.

    Raises:
        SyntaxProblem: A row is damaged, or does not belong to such a run.
    """
    return list(read_records(Row, path, row_check(seeds, instances)))


def row_check(seeds: range, instances: int) -> Check:
    """A check of the rows of a run. Arguments as for `read_rows`."""

    def problem(row: Row) -> str | None:
        if row.seed not in seeds:
            return f"there is no seed {row.seed} in this run"
        if (row.returns is None) != (row.lengths is None):
            return "returns and lengths go together"
        for name, values in (("returns", row.returns), ("lengths", row.lengths)):
            if values is not None and len(values) != instances:
                return f"'{name}' must have {instances} entries, not {len(values)}"
        return None

    return problem


def scalars(row: Row) -> dict[str, float]:
    """The values of a row that TensorBoard shows, by the names of their curves."""
    shown = {
        "episodes": row.episodes,
        "exploration": row.exploration,
        "loss of formulas": row.formula_loss,
        "loss of calls": row.call_loss,
    }
    if row.ended:
        shown["goals while exploring"] = row.goals / row.ended
    if row.mean_return is not None and row.lengths is not None:
        shown["greedy return"] = row.mean_return
        shown["greedy length"] = sum(row.lengths) / len(row.lengths)
    return {f"{name}/seed {row.seed}": value for name, value in shown.items()}
