"""Runs of LHRM in two rooms, in which everything is learned within seconds, and what tests compare of them."""

from __future__ import annotations

from pathlib import Path

from lhrm.toy import MAX_STEPS, TREES, TWO_ROOMS, quickly
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.spec import LearnSpec

CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)
SPEC = LearnSpec(TWO_ROOMS.name, "plain", tuple(TREES), CONFIG, instances=1, max_steps=MAX_STEPS)
STEPS = CONFIG.agent.chunk * CONFIG.agent.environments
"""Of a chunk."""


def kept(folder: Path) -> dict[str, bytes]:
    """What depends on the spec alone."""
    files = [folder / "metrics.jsonl", *(folder / "machines").iterdir(), *(folder / "examples").iterdir()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def fresh() -> Lhrm:
    """The algorithm at its beginning."""
    return Lhrm(SPEC.worlds(), CONFIG, Solvers(), seed=SPEC.seed)
