"""What a chunk of training brought: the rows of `metrics.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.runs.metrics_log import Check, read_records


@dataclass(frozen=True)
class Row:
    """What a chunk brought to one seed."""

    seed: int
    chunk: int
    steps: int
    """Taken so far, in all environments together."""
    episodes: int
    """So far."""
    goals: int
    """Of the episodes that ended in the chunk, of which there were `ended`."""
    ended: int
    formula_loss: float
    call_loss: float
    exploration: float
    returns: tuple[float, ...] | None
    """Of a greedy episode in each instance, if there was an evaluation."""
    lengths: tuple[int, ...] | None

    @property
    def mean_return(self) -> float | None:
        return None if self.returns is None else float(np.mean(self.returns))


def read_rows(path: Path, spec: TrainSpec) -> list[Row]:
    """The rows of a run with these settings."""
    return list(read_records(Row, path, row_check(spec)))


def row_check(spec: TrainSpec) -> Check:
    """What must hold of the rows of a run with these settings."""

    def problem(row: Row) -> str | None:
        if not spec.seed <= row.seed < spec.seed + spec.seeds:
            return f"there is no seed {row.seed} in this run"
        if (row.returns is None) != (row.lengths is None):
            return "returns and lengths go together"
        for name, values in (("returns", row.returns), ("lengths", row.lengths)):
            if values is not None and len(values) != spec.instances:
                return f"'{name}' must have {spec.instances} entries, not {len(values)}"
        return None

    return problem


def scalars(row: Row) -> dict[str, float]:
    """What TensorBoard shows of a row."""
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
