"""Means over runs, curves of several runs, and when a return was reached."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.made_up import event, finished, row
from rewardmachines.rollout.rows import Trigger
from rewardmachines.studies.aggregate import POINTS, WINDOW, decays, kept, mean_curve, mean_of, reached_at
from rewardmachines.studies.results import ReturnCurve
from rewardmachines.studies.summaries import _learned_curves, _learned_tasks


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_means_have_the_standard_error_of_the_mean(values: list[float]) -> None:
    mean = mean_of([*values, None])
    assert mean is not None
    assert mean.runs == len(values)
    assert mean.value == pytest.approx(np.mean(values), abs=1e-6)
    assert mean.error == pytest.approx(np.std(values, ddof=1) / sqrt(len(values)), abs=1e-6)


def test_nothing_has_no_mean_and_one_run_no_error() -> None:
    assert mean_of([None]) is None
    assert str(mean_of([1234.5])) == "1,234 (0)"
    assert str(mean_of([2.25])) == "2.2 (0.0)"


def curve(returns: list[float]) -> ReturnCurve:
    episodes = tuple(range(100, 100 * len(returns) + 1, 100))
    return ReturnCurve("task", episodes, tuple(10 * e for e in episodes), tuple(returns))


def test_a_mean_curve_begins_at_zero_and_lies_between_its_runs() -> None:
    mean = mean_curve([curve([1.0] * 5), curve([0.0] * 5)], "episodes")
    assert (mean.x[0], mean.x[-1], mean.mean[0], mean.runs) == (0, 500, 0, 2)
    assert mean.mean[-1] == pytest.approx(0.5)
    assert (mean.low <= mean.mean).all()
    assert (mean.mean <= mean.high).all()
    assert mean.high[-1] == pytest.approx(1.0)


def test_runs_that_have_ended_keep_the_last_return() -> None:
    mean = mean_curve([curve([1.0] * 2), curve([1.0] * 8)], "steps")
    assert mean.x[-1] == 8000
    assert mean.mean[-1] == pytest.approx(1.0)


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=12), st.sampled_from([0.4, 0.9]))
def test_a_return_is_reached_with_the_first_three_evaluations_that_have_it(returns: list[float], at: float) -> None:
    reached = reached_at(curve(returns), at, "episodes")
    good = [i for i in range(3, len(returns) + 1) if sum(returns[i - 3 : i]) / 3 >= at]
    assert reached == (100 * good[0] if good else None)


@given(st.integers(POINTS + 1, 3_000), st.randoms(use_true_random=False))
def test_of_many_evaluations_the_moving_mean_of_the_paper_is_kept(count: int, random: Random) -> None:
    whole = replace(curve([random.random() for _ in range(count)]), learned_episodes=(150,), learned_steps=(1500,))
    few = kept(whole)
    assert (len(few.returns), few.window) == (POINTS, WINDOW)
    assert (few.episodes[0], few.episodes[-1]) == (whole.episodes[0], whole.episodes[-1])
    for episodes, steps, mean in zip(few.episodes, few.steps, few.returns, strict=True):
        at = whole.episodes.index(episodes)
        last = whole.returns[: at + 1][-20:]
        assert mean == pytest.approx(sum(last) / len(last), abs=1e-4)
        assert steps == whole.steps[at]
    assert (few.learned_episodes, few.learned_steps) == ((150,), (1500,))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=POINTS))
def test_few_evaluations_are_kept_as_they_are(returns: list[float]) -> None:
    assert kept(curve(returns)) == curve(returns)
    assert curve(returns).window == 1


def test_a_decay_is_a_fall_after_a_machine_was_learned_and_a_rise_is_none() -> None:
    returns = curve([0.0, 0.8, 0.9, 0.0, 0.0, 0.7, 0.9, 1.0])
    assert decays(returns, [150]) == (0, 0), "it returned nothing before"
    assert decays(returns, [350]) == (1, 1)
    assert decays(returns, [301, 650]) == (2, 1)
    assert decays(returns, [900]) == (0, 0), "nothing was evaluated thereafter"


@pytest.mark.parametrize(("level", "fallen"), [(2, 0), (1, 1)])
def test_an_evaluation_that_leaves_a_task_out_is_no_decay(level: int, fallen: int) -> None:
    """Its machine has changed in the chunk. While its level is not active, a return of 0 is one, as in the paper."""
    good, nothing = [[0.9, 0.9]] * 3, [[0.9, 0.9], [0.9, 0.9], [0.0, 0.0]]
    seen, again = row(1, 2, good), row(3, 2, good)
    left_out = row(2, level, nothing, learned=[event("bucket", Trigger.COUNTEREXAMPLE)])
    left_out = replace(left_out, lengths=((5.0, 5.0), (5.0, 5.0), (0.0, 0.0)))
    run = finished(rows=[seen, left_out, again])
    full = _learned_curves(run, run.rows)
    task = next(each for each in _learned_tasks(run, run.rows, full) if each.task == "milk-bucket")
    assert (task.number("relearned_below"), task.number("decays")) == (1, fallen)
