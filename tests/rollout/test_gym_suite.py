"""Suites of Gymnasium environments: what moves in them, and what is asked of tasks and environments."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from lhrm.yards import PROPOSITIONS, STARTS, Yard, labels, maker
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import LabelingWrapper
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.rollout.gym_driver import GymSuite, GymTask


def test_an_instance_is_a_seed_and_without_instances_every_beginning_is_another() -> None:
    tasks = [GymTask("fixed", 1, maker("ab"), instances=7), GymTask("free", 1, maker("ab"))]
    suite = GymSuite(tasks, max_steps=60)
    assert suite.instances == 7
    environments = suite._made_environments(3, 60, 0)
    indices, task = range(3), np.array([0, 0, 1])
    begun = []
    for _ in range(20):
        environments.begin(indices, task, np.array([2, 9, 5]))
        begun.append(environments.memory.tolist())
    yard = Yard("ab")
    cell, _ = yard.reset(seed=2)
    assert {tuple(cells[:2]) for cells in begun} == {(cell, cell)}
    assert {cells[2] for cells in begun} == set(STARTS)
    yard.close()
    environments.close()
    assert Yard.open == 0


def test_only_environments_that_are_acted_in_move_and_ends_are_said() -> None:
    suite = GymSuite([GymTask("a", 1, maker("a")), GymTask("b", 1, maker("b"))])
    environments = suite._made_environments(4, 2, 0)
    environments.begin(range(4), np.array([0, 0, 1, 0]), np.zeros(4))
    for i, cell in enumerate((3, 5, 4, 3)):
        environments._envs[i, int(environments.task[i])].env.unwrapped.cell = cell  # type: ignore[attr-defined]
    before = environments.memory
    ends = environments.step([0, 1, 2], np.array([0, 1, 2, 0]))
    assert environments.memory.tolist() == [0, 8, 3, before[3]]
    assert ends.end.tolist() == [ACCEPT, REJECT, NEITHER, NEITHER]
    assert environments.labels[:3] == [{"a"}, {"pit"}, set()]
    assert ends.is_cut.tolist() == [False] * 4
    assert environments.step([2], np.zeros(4)).is_cut.tolist() == [False, False, True, False]
    environments.close()


class Wide(Yard):
    def __init__(self) -> None:
        super().__init__("a")
        self.observation_space = spaces.Discrete(10)


class Steered(Yard):
    def __init__(self) -> None:
        super().__init__("a")
        self.action_space = spaces.Box(-1, 1)


def labelled(env: gymnasium.Env[Any, Any], propositions: tuple[str, ...] = PROPOSITIONS) -> Any:
    return LabelingWrapper(env, labels=labels, propositions=propositions)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: labelled(Wide()), "the same observations: those of 'ab' are Discrete(9), those of 'other'"),
        (lambda: labelled(Steered()), "the same actions: those of 'ab' are Discrete(4, start=1), those of 'other' Box"),
        (lambda: labelled(Yard("a"), ("a", "b")), "the same propositions: those of 'ab' are ('a', 'b', 'c', 'pit')"),
        (lambda: Yard("a"), "the environment of 'other' is not labelled: wrap it: LabelingWrapper(env, labels="),
    ],
)  # fmt: skip
def test_tasks_must_have_the_same_interface(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RewardMachineError, match=re.escape(message)):
        GymSuite([GymTask("ab", 1, maker("ab")), GymTask("other", 1, make)])
    assert Yard.open == 0


def test_tasks_are_checked() -> None:
    with pytest.raises(RewardMachineError, match="there is no task to learn"):
        GymSuite([])
    with pytest.raises(RewardMachineError, match="two tasks are called 'ab'"):
        GymSuite([GymTask("ab", 1, maker("ab")), GymTask("ab", 2, maker("ab"))])
    with pytest.raises(RewardMachineError, match="'ab': levels count from 1, not 0"):
        GymTask("ab", 0, maker("ab"))
    with pytest.raises(RewardMachineError, match="'ab': at least one instance, not 0"):
        GymTask("ab", 1, maker("ab"), instances=0)
    with pytest.raises(RewardMachineError, match="actions must be discrete"):
        GymSuite([GymTask("ab", 1, lambda: labelled(Steered()))])


def test_an_end_without_outcome_and_a_moment_without_label_are_errors() -> None:
    class Silent(Yard):
        propositions = PROPOSITIONS
        label: tuple[str, ...] = ()

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            cell, _ = super().reset(**options)
            return cell, dict.fromkeys(self.label, frozenset[str]())

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return 0, 0.0, True, False, {"label": frozenset[str]()}

    class Talking(Silent):
        label = ("label",)

    zero = np.zeros(1, np.int32)
    silent = GymSuite([GymTask("ab", 1, lambda: Silent("ab"))])._made_environments(1, 60, 0)
    said = "task 'ab': Silent, reset of episode 1: there is no label in info: wrap the environment in LabelingWrapper"
    with pytest.raises(RewardMachineError, match=said), closing(silent):
        silent.begin([0], zero, zero)
    with closing(GymSuite([GymTask("ab", 1, lambda: Talking("ab"))])._made_environments(1, 60, 0)) as environments:
        environments.begin([0], zero, zero)
        with pytest.raises(RewardMachineError, match="'ab' ended, but does not say whether at its goal"):
            environments.step([0], zero)
    assert Yard.open == 0
