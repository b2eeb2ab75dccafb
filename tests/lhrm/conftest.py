"""Runs that several tests look at."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lhrm.room_runs import SPEC
from lhrm.stored_yards import folder_of
from lhrm.toy import two_rooms_registered
from lhrm.yards import learn as learn_in_yards
from rewardmachines.lhrm.learn import learn
from rewardmachines.lhrm.learn_gymnasium import LearnedTasks
from rewardmachines.lhrm.run import LearnRun


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> LearnedTasks:
    """Tasks of yards, learned without a break. The folder is not to be changed."""
    learned = learn_in_yards(tmp_path_factory.mktemp("runs") / "whole")
    assert set(learned.hierarchies) == {"ab", "bc"}
    return learned


@pytest.fixture
def copy(whole: LearnedTasks, tmp_path: Path) -> Path:
    """The folder of the tasks of yards, to be changed."""
    return Path(shutil.copytree(folder_of(whole), tmp_path / "copy"))


@pytest.fixture(scope="session")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> LearnRun:
    """All tasks of two rooms, learned without a break. The folder is not to be changed."""
    with two_rooms_registered():
        return learn(tmp_path_factory.mktemp("runs") / "rooms", SPEC)


@pytest.fixture
def copied_rooms(rooms: LearnRun, tmp_path: Path) -> Path:
    """The folder of the tasks of two rooms, to be changed."""
    return Path(shutil.copytree(rooms.folder, tmp_path / "copy"))
