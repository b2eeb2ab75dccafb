"""What tests of agents use."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.room_bank import saved_bank
from rewardmachines.agents.bank.bank import Bank

pytest.register_assert_rewrite("agents.walks")  # it compares, for several tests


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    """The bank of two rooms, in the folder `skills`."""
    return saved_bank(tmp_path / "skills")
