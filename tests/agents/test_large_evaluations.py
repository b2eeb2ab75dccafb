"""Evaluations of many episodes at once choose options for many at a time, and say the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agents.tiny import CHUNK, CONFIG, tiny_spec
from rewardmachines.agents.hierarchical_dqn import config as settings
from rewardmachines.agents.hierarchical_dqn.config import for_evaluation
from rewardmachines.agents.training.train import train

pytestmark = pytest.mark.usefixtures("shared_programs")


def test_only_large_evaluations_choose_for_more_at_a_time() -> None:
    assert for_evaluation(CONFIG, 10) == replace(CONFIG, evaluate_steps=None)
    assert for_evaluation(CONFIG, 13_000).fill_together > 500


def test_how_many_are_served_together_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train(tmp_path / "run", replace(tiny_spec(), task="milk-bucket"), steps=3 * CHUNK)
    together = run.evaluate(40, 7)
    monkeypatch.setattr(settings, "_ROUNDS", 1)
    assert run.evaluate(40, 7) == together
