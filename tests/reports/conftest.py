"""Tiny runs of every kind, which tests look at and do not change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from envs import painted
from reports import ending_field
from rewardmachines.files.overrides import changed
from rewardmachines.runs.run import Run
from rewardmachines.runs.verbs import learn, train

SMALL = ("environments=8", "chunk=50", "replay_start=200", "replay_size=4000", "batch=32", "evaluate_every=2")
PICTURES = ("network.hidden=[32]", "network.filters=[8]", "calls.network.hidden=[16]", "calls.network.filters=[8]")
FEW = ("goals=[2]", "examples=2")
"""A machine is learned from the first two goal traces."""
LIMITS: dict[str, Any] = {"max_steps": 100, "stop_at": 0}
DOMAIN: dict[str, Any] = {**LIMITS, "setting": "op", "instances": 2}


def _settings(*settings: str, within: str | None = None) -> Any:
    return lambda usual: changed(usual, (*SMALL, *settings), within=within)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="session")
def trained(folder: Path) -> Run:
    options = {**DOMAIN, "settings": _settings(), "steps": 1600, "folder": folder / "trained"}
    return train("craftworld", "bucket", seeds=None, agent="crm", **options)


@pytest.fixture(scope="session")
def learned(folder: Path) -> Run:
    options = {**DOMAIN, "settings": _settings(*FEW, within="agent"), "steps": 2000, "folder": folder / "learned"}
    return learn("craftworld", ["sugar"], seeds=None, **options)


@pytest.fixture(scope="session")
def trained_in_gym(folder: Path) -> Run:
    options = {**LIMITS, "settings": _settings(*PICTURES), "steps": 1600, "folder": folder / "trained-in-gym"}
    return train(painted.make, "left ; right", seeds=None, instances=3, **options)


@pytest.fixture(scope="session")
def learned_in_gym(folder: Path) -> Run:
    settings = _settings(*PICTURES, *FEW, within="agent")
    options = {**LIMITS, "settings": settings, "steps": 1200, "folder": folder / "learned-in-gym"}
    return learn({"arrive": ending_field.make}, seeds=None, **options)
