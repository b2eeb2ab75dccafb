"""A run of training that takes a moment, and what tests look at in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents.tiny import CHUNK
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.agents.training.train import train

STEPS = 10 * CHUNK


def metrics(folder: Path) -> bytes:
    """What the run has told, chunk by chunk."""
    return (folder / "metrics.jsonl").read_bytes()


def resumed(folder: Path, **options: Any) -> TrainRun:
    """Goes on with the run of a folder."""
    return train(folder, resume=True, **options)
