"""Two ways to run LHRM: `paper`, as published, and `fast`, tuned for wall clock. Both are settings of the same code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from rewardmachines.agents.presets import LARGE_GRIDS, Preset, preset, published_episodes
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.library import CRAFTWORLD

THRESHOLDS: Final = {CRAFTWORLD: 0.85}
OTHERWISE: Final = 0.75
TWO_HOURS: Final = 7200.0


def lhrm_preset(name: Preset | str, domain: str, setting: str) -> LhrmConfig:
    """The settings for a domain in one of its settings."""
    agent = preset(name, domain, setting)
    threshold = THRESHOLDS.get(domain, OTHERWISE)
    if Preset(name) is Preset.PAPER:
        return LhrmConfig(agent, threshold, learner_seconds=TWO_HOURS)
    agent = replace(agent, chunk=100, evaluate_every=5, call_annealing=100, curriculum_weight=0.5)
    return LhrmConfig(
        replace(agent, **_sizes(domain, setting)), threshold, goals=50, explores_with=Exploration.PROPOSITIONS
    )


def published_learning_episodes(setting: str) -> int:
    """For how many episodes the paper learns hierarchies, of all tasks together.

    >>> published_learning_episodes("op"), published_learning_episodes("frl")
    (150000, 300000)
    """
    return 3 * published_episodes(setting) // 2


def _sizes(domain: str, setting: str) -> dict[str, Any]:
    """What a CPU manages where grids are small; otherwise what a GPU wants, many environments above all."""
    if domain != CRAFTWORLD:
        return {"environments": 128, "annealing_steps": 400_000}
    if setting in LARGE_GRIDS:
        return {"evaluate_steps": 400}
    return {"environments": 32, "evaluate_steps": 200}
