"""Training in yards: runs that are quick, and what tests compare of their folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lhrm import yards
from lhrm.yards import FEW
from rewardmachines.agents.gymnasium.train import train_gymnasium
from rewardmachines.agents.gymnasium.trained import Trained
from rewardmachines.language import compile_task

TASK = compile_task("a ; b", avoid=["pit"])
STEPS = 20 * 20
"""Of a chunk."""


def train(folder: Any, steps: int | None = 16 * STEPS, **options: Any) -> Trained:
    """Trains to visit two places, in three instances."""
    if not options.get("resume"):
        usual = {"envs": yards.make_ab, "hierarchy": TASK, "config": FEW.agent, "instances": 3}
        options = {**usual, "task": "ab", "max_steps": 60, "seed": 3, **options}
    return train_gymnasium(folder=folder, steps=steps, **options)


def folder_of(trained: Trained) -> Path:
    assert trained.files is not None
    return trained.files.path


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the settings alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "policies").iterdir()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
