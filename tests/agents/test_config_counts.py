"""Settings that count something are whole numbers of at least 1, and no greater than indices of arrays."""

from __future__ import annotations

from typing import Any

import pytest

from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.core.errors import RewardMachineError


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"updates": 0}, "updates: at least 1, not 0"),
        ({"environments": -1}, "environments: at least 1, not -1"),
        ({"updates": 2.0}, r"updates: a whole number, not 2\.0"),
        ({"replay_size": 1e5}, r"replay size: a whole number, not 100000\.0"),
        ({"batch": "32"}, "batch: a whole number, not '32'"),
        ({"batch": 100_000_000_000}, "batch: at most 2,147,483,647, not 100,000,000,000"),
    ],
)
def test_counts_are_whole_numbers_from_one_to_what_an_array_can_hold(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RewardMachineError, match=words):
        HierarchicalDqnConfig(**changes)
