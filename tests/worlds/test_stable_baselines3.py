"""Agents of Stable-Baselines3 on environments with hierarchies."""

from __future__ import annotations

from typing import Any

import pytest
from stable_baselines3.common.env_checker import check_env

import rewardmachines as rm
from envs.spoken_labels import wrapped

TASK = rm.compile_task("a ; (b & c)")


@pytest.mark.parametrize("options", [{}, {"shaping": 0.99}, {"reward": "environment"}, {"counterfactuals": True}])
def test_wrapped_environments_pass_the_checks_of_stable_baselines3(options: dict[str, Any]) -> None:
    check_env(wrapped(TASK, append_state=True, **options))
