"""Rewards of hierarchies and environments, and the laws of shaping."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardmachines as rm
from envs.spoken_labels import END, walk, wrapped
from rewardmachines.core.distances import Distances
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs import EnvironmentFault, Shaping
from rewardmachines.envs.gymnasium.rewards import Potential
from strategies import ALL_LABELS, hierarchies, labels

discounts = st.sampled_from([0.5, 0.9, 0.99, 1.0])
actions = st.lists(st.integers(0, END), min_size=1, max_size=12)
TASK = rm.compile_task("a ; (b & c)")
A, B, C = (ALL_LABELS.index(frozenset(p)) for p in "abc")


def discounted(rewards: list[float], discount: float) -> float:
    return sum(discount**t * reward for t, reward in enumerate(rewards))


# -- whose reward


@given(hierarchy=hierarchies(), first=labels, taken=actions)
def test_a_reward_is_the_hierarchys_the_environments_or_a_function_of_both(
    hierarchy: rm.Hierarchy, first: Label, taken: list[int]
) -> None:
    plain, own, both = (
        walk(wrapped(hierarchy, first=first, reward=reward), taken)
        for reward in ("hierarchy", "environment", lambda task, own: 10 * task - own)
    )
    assert len(plain) == len(own) == len(both), "the reward does not change when episodes end"
    for action, (_, task, _, _, info), (_, paid, *_), (_, mixed, *_) in zip(taken, plain, own, both, strict=False):
        assert task == float(info["verdict"] == "accept")
        assert paid == info["environment_reward"] == action / 10
        assert mixed == 10 * task - paid


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        (lambda task, own: None, r"the reward function returned None, no finite number \(hierarchy: 0.0, env"),
        (lambda task, own: float("nan"), "the reward function returned nan, no finite number"),
        (lambda task, own: own / task, "the reward function failed with ZeroDivisionError"),
    ],
)
def test_reward_functions_that_fail_are_named(reward: Any, message: str) -> None:
    with pytest.raises(EnvironmentFault, match=message):
        walk(wrapped(TASK, reward=reward), [A])


def test_unknown_rewards_and_wrong_shaping_are_refused() -> None:
    with pytest.raises(RewardMachineError, match=r"not 'environmnt'; did you mean 'environment'"):
        wrapped(TASK, reward="environmnt")
    for discount in (0, 1.1, float("nan")):
        with pytest.raises(RewardMachineError, match="shaping needs the discount of the agent"):
            wrapped(TASK, shaping=discount)
    with pytest.raises(RewardMachineError, match="the weight of shaping"):
        Shaping(0.9, weight=-1)


# -- the potential


@given(hierarchy=hierarchies(), trace=st.lists(labels, max_size=12))
def test_the_potential_is_0_where_a_hierarchy_has_decided_and_in_the_beginning(
    hierarchy: rm.Hierarchy, trace: list[Label]
) -> None:
    potential = Potential(hierarchy)
    for state in rm.traverse(hierarchy, trace):
        assert verdict_of(hierarchy, state) is Verdict.NEITHER or potential.of(state) == 0
        assert -1 <= potential.of(state) < 1
    if Distances(hierarchy).start is not None:
        assert potential.of(initial_state(hierarchy)) == 0


@given(hierarchy=hierarchies(), traces=st.tuples(st.lists(labels, max_size=8), st.lists(labels, max_size=8)))
def test_of_two_undecided_states_the_nearer_one_has_the_greater_potential(
    hierarchy: rm.Hierarchy, traces: tuple[list[Label], list[Label]]
) -> None:
    potential, distances = Potential(hierarchy), Distances(hierarchy)
    one, other = ([*rm.traverse(hierarchy, trace)][-1] for trace in traces)
    if any(verdict_of(hierarchy, state) is not Verdict.NEITHER for state in (one, other)):
        return
    near, far = distances.of(one), distances.of(other)
    if near is not None and (far is None or near < far):
        assert potential.of(one) >= potential.of(other)
        # Beyond twice the way it is least, everywhere.
        assert potential.of(one) > potential.of(other) or near >= 2 * (distances.start or 1)


# -- shaping


@given(
    hierarchy=hierarchies(), first=labels, taken=actions, discount=discounts, weight=st.sampled_from([0.0, 1.0, 3.0])
)
def test_shaping_adds_up_to_the_potentials_of_the_first_and_the_last_state(
    hierarchy: rm.Hierarchy, first: Label, taken: list[int], discount: float, weight: float
) -> None:
    shaping = Shaping(discount, weight=weight)
    plain = walk(wrapped(hierarchy, first=first), taken)
    shaped = walk(wrapped(hierarchy, first=first, shaping=shaping), taken)
    added = [more - reward for (_, reward, *_), (_, more, *_) in zip(plain, shaped, strict=True)]
    potential = Potential(hierarchy, weight=weight)
    state, before = initial_state(hierarchy), None
    visited = []
    for label in (first, *(step[4]["label"] for step in plain)):
        state, before = move_on_event(hierarchy, state, before, label), label
        visited.append(state)
    last = 0.0 if plain[-1][2] else discount ** len(plain) * potential.of(visited[-1])
    assert discounted(added, discount) == pytest.approx(last - potential.of(visited[0]))


@given(hierarchy=hierarchies(max_height=2), first=labels, discount=discounts)
def test_whatever_is_done_shaping_adds_the_same_to_the_return_of_an_episode_that_ends(
    hierarchy: rm.Hierarchy, first: Label, discount: float
) -> None:
    """All behaviours of three steps: their order by return is the same, so policies that were optimal still are."""
    plain = wrapped(hierarchy, first=first, reward=lambda task, own: task + own)
    shaped = wrapped(hierarchy, first=first, reward=lambda task, own: task + own, shaping=discount)
    differences = set()
    for taken in product((A, B, END), repeat=3):
        without, with_it = walk(plain, taken), walk(shaped, taken)
        assert [step[2:4] for step in without] == [step[2:4] for step in with_it]
        if without[-1][2]:
            returns = [discounted([step[1] for step in steps], discount) for steps in (without, with_it)]
            differences.add(round(returns[1] - returns[0], 9) + 0.0)
    assert len(differences) == 1


def test_progress_is_rewarded_at_once_and_losing_it_costs() -> None:
    env = wrapped(TASK, shaping=1.0)
    assert [round(step[1], 9) for step in walk(env, [A, C, B])] == [round(x, 9) for x in (1 / 3, 1 / 3, 1 - 2 / 3)]
    assert sum(step[1] for step in walk(env, [A, C, END])) == pytest.approx(0)


def test_where_an_episode_is_cut_off_the_potential_stays() -> None:
    steps = walk(wrapped(TASK, shaping=1.0, most_steps=2), [A, C])
    assert steps[-1][2:4] == (False, True)
    assert sum(step[1] for step in steps) == pytest.approx(2 / 3)


def test_labels_that_never_occur_do_not_shorten_the_way() -> None:
    task = rm.compile_task("a | (b ; c)")
    steps = walk(wrapped(task, shaping=Shaping(1.0, labels=[{"b"}, {"c"}])), [B, C])
    assert [step[1] for step in steps] == [0.5, 0.5]
    assert [step[1] for step in walk(wrapped(task, shaping=1.0), [B, C])] == [0.0, 1.0]
