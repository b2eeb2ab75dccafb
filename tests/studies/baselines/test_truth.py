from __future__ import annotations

import pytest

from rewardmachines.envs.scenarios import scenario
from rewardmachines.studies.baselines.protocol import flat_task


@pytest.mark.parametrize(
    ("domain", "setting", "task", "states"),
    [
        ("craftworld", "op", "milk-bucket", 4),
        ("craftworld", "op", "book", 8),
        ("craftworld", "op", "book-quill", 21),
        ("craftworld", "op", "cake", 15),
        ("waterworld", "wod", "rg", 3),
        ("waterworld", "wod", "rg&bc", 8),
        ("waterworld", "wod", "rgb&cmy", 12),
        ("craftworld", "opl", "milk-bucket", 5),
    ],
)
def test_the_bound_is_the_size_of_the_published_flat_machine(domain: str, setting: str, task: str, states: int) -> None:
    world = scenario(domain, setting, instances=1, max_steps=10)
    assert flat_task(world, world.domain.task_name(task)).bound == states
