"""Episodes in Gymnasium environments are replayed only if everything that was seen on the way is seen again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lhrm.yards import Yard, labelled
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.rollout.gym_environments import Environments, EpisodeRecord

LEFT = 2


class Fickle(Yard):
    """A yard in which every episode begins in a cell that no seed decides."""

    start = 4

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = Fickle.start
        return self.cell, {}


def environments() -> Environments:
    tasks = [GymTask("ab", 1, lambda: labelled(Fickle("ab")))]
    return GymSuite(tasks)._made_environments(1, 60, 0)


@pytest.fixture
def record() -> EpisodeRecord:
    """An episode that leads from cell 4 to cell 3, where the next step to the left changes nothing."""
    first = environments()
    first.begin([0], np.zeros(1, int), np.zeros(1, int))
    for _ in range(2):
        first.step([0], np.array([LEFT]))
    (kept,) = first.records()
    first.close()
    return kept


@pytest.mark.parametrize(("start", "is_lost"), [(4, False), (5, True), (3, True), (7, True)])
def test_another_history_with_the_same_last_moment_is_not_the_same_episode(
    record: EpisodeRecord, monkeypatch: pytest.MonkeyPatch, start: int, is_lost: bool
) -> None:
    """From cells 5 and 3, the same actions lead to the same cell; from cell 7 to another."""
    monkeypatch.setattr(Fickle, "start", start)
    again = environments()
    assert again.replay([record]).tolist() == [is_lost]
    again.close()
