"""What tests of agents use."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agents.room_bank import saved_bank
from agents.tiny import programs_shared, tiny_spec
from agents.tiny_runs import STEPS
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.training.run import TrainRun
from rewardmachines.agents.training.train import train

pytest.register_assert_rewrite("agents.walks")  # it compares, for several tests


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    """The bank of two rooms, in the folder `skills`."""
    return saved_bank(tmp_path / "skills")


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TrainRun:
    """A run of training without a break. Its folder is not to be changed."""
    with programs_shared():
        return train(tmp_path_factory.mktemp("runs") / "whole", tiny_spec(), None, STEPS)


@pytest.fixture
def copy(whole: TrainRun, tmp_path: Path) -> Path:
    """The folder of the whole run, to be changed."""
    return Path(shutil.copytree(whole.folder, tmp_path / "copy"))
