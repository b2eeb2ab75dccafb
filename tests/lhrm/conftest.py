"""Runs that several tests look at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lhrm.stored_yards import folder_of
from lhrm.yards import learn
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LearnedTasks:
    """Learned without a break."""
    learned = learn(tmp_path_factory.mktemp("runs") / "whole")
    assert set(learned.hierarchies) == {"ab", "bc"}
    return learned


@pytest.fixture
def copy(whole: LearnedTasks, tmp_path: Path) -> Path:
    """To be changed."""
    return Path(shutil.copytree(folder_of(whole), tmp_path / "copy"))
