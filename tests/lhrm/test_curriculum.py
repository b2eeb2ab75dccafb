"""The curriculum of the paper: its numbers, and the rules for going up and down."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.curriculum import Curriculum, curriculum

TWO = Curriculum((1, 1), 2, 0.99, 0.85, running=((0.2, 0.5), (0.9, 0.8)))


def test_the_chances_of_the_papers_example() -> None:
    chances = TWO.chances()
    assert np.allclose(chances.sum(axis=1), [0.8, 0.2])
    assert np.allclose(chances[0] / 0.8, [8 / 13, 5 / 13])
    assert np.allclose(chances[1] / 0.2, [1 / 3, 2 / 3])


def test_a_return_of_one_moves_a_running_return_by_a_hundredth_of_the_way() -> None:
    after = TWO.evaluated(np.ones((2, 2)))
    assert after.returns[0, 0] == pytest.approx(0.208)


def test_a_level_takes_as_many_perfect_evaluations_as_the_weight_demands() -> None:
    now = curriculum([1, 2], 3, weight=0.99, threshold=0.85)
    needed = 0
    while now.level == 1:
        now, needed = now.evaluated(np.ones((2, 3))), needed + 1
    assert needed == 189


def test_only_the_present_level_decides_whether_it_is_mastered() -> None:
    now = Curriculum((1, 2), 1, 0.0, 0.5, level=2, running=((0.0,), (0.0,)))
    assert now.evaluated(np.array([[0.0], [1.0]])).level == 3


def test_levels_that_are_mastered_still_are_passed_at_once() -> None:
    """After a machine of the first level was relearned, what was mastered above it need not be shown again."""
    now = Curriculum((1, 2, 3, 4), 1, 0.0, 0.5, level=1, running=((0.0,), (0.9,), (0.9,), (0.5,)))
    assert now.evaluated(np.array([[1.0], [0.0], [0.0], [1.0]])).level == 4
    assert now.evaluated(np.array([[0.5], [0.0], [0.0], [1.0]])).level == 1
    assert now.evaluated(np.array([[1.0], [0.0], [0.0], [1.0]]), unconfirmed=[1]).level == 2


def test_returns_of_tasks_that_are_not_judged_stay() -> None:
    now = Curriculum((1, 1), 1, 0.5, 0.85, running=((0.4,), (0.4,)))
    assert now.evaluated(np.ones((2, 1)), judged=np.array([True, False])).running == ((0.7,), (0.4,))


def test_a_level_rises_above_the_threshold_and_not_at_it() -> None:
    now = curriculum([1, 1, 2], 2, weight=0.0, threshold=0.5)
    above = float(np.nextafter(0.5, 1))
    at = now.evaluated(np.array([[above, above], [above, 0.5], [0.0, 0.0]]))
    assert (at.level, at.is_passed.tolist()) == (1, [True, False, False])
    assert now.evaluated(np.array([[above, above], [above, above], [0.0, 0.0]])).level == 2


def test_tasks_above_the_level_are_neither_chosen_nor_judged() -> None:
    now = curriculum([1, 2], 2, weight=0.5, threshold=0.9).evaluated(np.ones((2, 2)))
    assert now.level == 1
    assert now.returns.tolist() == [[0.5, 0.5], [0.0, 0.0]]
    assert now.chances()[1].tolist() == [0.0, 0.0]


def test_a_new_machine_begins_again_and_takes_the_level_down() -> None:
    now = Curriculum((1, 2, 3), 1, 0.0, 0.5, level=3, running=((1.0,), (1.0,), (0.2,))).relearned(1)
    assert now.level == 2
    assert now.running == ((1.0,), (0.0,), (0.2,))
    assert now.relearned(2).level == 2


def test_after_the_last_level_everything_is_mastered_and_training_goes_on() -> None:
    done = curriculum([1], 2, weight=0.0, threshold=0.5).evaluated(np.ones((1, 2)))
    assert done.level == 2
    assert done.is_mastered.all()
    assert np.allclose(done.chances(), 0.5)
    assert done.evaluated(np.ones((1, 2))).level == 2


@given(
    levels=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    rows=st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=6),
)
def test_chances_are_a_distribution_over_active_pairs(levels: list[int], rows: list[list[float]]) -> None:
    now = curriculum(levels, 2, weight=0.5, threshold=0.7)
    for row in rows:
        returns = np.resize(np.array(row), (len(levels), 2))
        if now.is_active.any():
            chances = now.chances()
            assert chances.sum() == pytest.approx(1)
            assert (chances[~now.is_active] == 0).all()
        now = now.evaluated(returns)


@pytest.mark.parametrize(("levels", "weight"), [([], 0.5), ([0], 0.5), ([1], 1.0)])
def test_a_curriculum_that_makes_no_sense_is_refused(levels: list[int], weight: float) -> None:
    with pytest.raises(RewardMachineError):
        curriculum(levels, 2, weight=weight, threshold=0.5)


def test_suspect_tasks_have_a_quarter_of_the_episodes_on_top_of_their_own() -> None:
    """Tasks above the present level are not drawn, suspect or not."""
    plan = replace(curriculum([1, 1, 2, 3], 2, weight=0.9, threshold=0.5), level=2)
    plain, mixed = plan.chances(), plan.chances(suspects=[0, 3])
    assert mixed.sum() == pytest.approx(1)
    assert mixed[0] == pytest.approx(0.75 * plain[0] + 0.125)
    assert mixed[1:] == pytest.approx(0.75 * plain[1:])
    assert plan.chances(suspects=[3]) == pytest.approx(plain)
