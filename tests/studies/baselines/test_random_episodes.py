from __future__ import annotations

from itertools import islice, pairwise

import pytest

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, initial_state, step, verdict_of
from rewardmachines.envs.scenarios import scenario
from rewardmachines.studies.baselines.protocol import FlatEpisode, flat_task
from rewardmachines.studies.baselines.random_episodes import RandomEpisodes
from rewardmachines.traces import Outcome
from studies.baselines.worlds import episodes_of


def taken(source: RandomEpisodes, count: int, after: int = 0) -> list[FlatEpisode]:
    return list(islice(source.after(after), count))


def verdicts_without_empty_labels(truth: Hierarchy, labels: tuple[Label, ...]) -> list[Verdict]:
    """What the truth says after each label, if it ignores those that are empty or repeat the last that was not."""
    state, heard, verdicts = initial_state(truth), frozenset[str](), []
    for label in labels:
        if label and label != heard:
            state, heard = step(truth, state, label), label
        verdicts.append(verdict_of(truth, state))
    return verdicts


def check(source: RandomEpisodes, episode: FlatEpisode) -> None:
    """Whether an episode ended when the truth says so, and is written as episodes are."""
    *before, last = verdicts_without_empty_labels(source.task.truth, episode.labels)
    assert set(before) <= {Verdict.NEITHER}
    assert episode.outcome is Outcome.of(last)
    assert all(one != other for one, other in pairwise(episode.labels))
    assert len(episode.times) == len(episode.labels) == len(episode.rewards)
    assert episode.times[0] == 0
    assert all(one < other for one, other in pairwise(episode.times))
    assert sum(episode.rewards) == episode.rewards[-1] == (episode.outcome is Outcome.GOAL)
    if episode.has_ended:
        assert episode.times[-1] == episode.steps <= source.scenario.max_steps
    else:
        assert episode.times[-1] <= episode.steps == source.scenario.max_steps


@pytest.mark.parametrize("task", ["leave", "return", "twice"])
def test_the_true_machine_decides_when_an_episode_ends(task: str) -> None:
    source = episodes_of(task)
    episodes = taken(source, 100)
    for episode in episodes:
        check(source, episode)
    assert {episode.outcome for episode in episodes} == {Outcome.GOAL, Outcome.INCOMPLETE}


def test_the_truth_ignores_empty_labels_and_the_episode_keeps_them() -> None:
    coin, nothing = frozenset({"coin"}), frozenset[str]()
    words = [episode.labels for episode in taken(episodes_of("twice"), 100)]
    assert any((coin, nothing, coin) == word[i : i + 3] for word in words for i in range(len(word) - 3))


def test_there_are_dead_ends() -> None:
    world = scenario("craftworld", "opl", instances=2, max_steps=300)
    source = RandomEpisodes(world, flat_task(world, "milk-bucket"), batch=32)
    episodes = taken(source, 32)
    for episode in episodes:
        check(source, episode)
    assert Outcome.DEAD_END in {episode.outcome for episode in episodes}


def test_labels_of_several_propositions_are_kept_whole() -> None:
    world = scenario("waterworld", "wod", instances=1, max_steps=300)
    source = RandomEpisodes(world, flat_task(world, "rg"), batch=8)
    episodes = taken(source, 8)
    for episode in episodes:
        check(source, episode)
    assert any(len(label) > 1 for episode in episodes for label in episode.labels)


def test_an_episode_depends_on_seed_and_number_alone() -> None:
    whole = taken(episodes_of("leave", batch=64), 70)
    assert [episode.number for episode in whole] == list(range(1, 71))
    assert taken(episodes_of("leave", batch=7), 70) == whole
    assert taken(episodes_of("leave", batch=5), 20, after=50) == whole[50:]
    assert taken(episodes_of("leave", seed=1), 70) != whole


def test_instances_follow_one_another() -> None:
    # The third instance of the corridor begins on the bell, the others on nothing.
    source = episodes_of("leave")
    begins = [episode.labels[0] for episode in taken(source, 9)]
    assert begins == begins[:3] * 3
    assert len(set(begins)) == 2


def episode_with(letters: str, times: tuple[int, ...], steps: int) -> FlatEpisode:
    return FlatEpisode(1, tuple(map(frozenset, letters)), times, Outcome.GOAL, steps)


def test_of_equal_labels_the_first_one_counts_with_its_reward() -> None:
    for moments in ("abbc", "abcc", "abab", "aabbb"):  # the label of each moment; the last one is rewarded
        kept = [n for n in range(len(moments)) if n == 0 or moments[n] != moments[n - 1]]
        rewards = [int(n == len(moments) - 1) for n in range(len(moments))]
        episode = episode_with("".join(moments[n] for n in kept), tuple(kept), len(moments) - 1)
        assert episode.rewards == tuple(rewards[n] for n in kept)


@pytest.mark.parametrize("moments", ["abbc", "aabc", "a", "aaaa", "ab", "aba"])
def test_an_episode_without_its_first_state_is_that_of_the_moments_after_it(moments: str) -> None:
    def compressed(first: int) -> FlatEpisode:
        kept = [n for n in range(first, len(moments)) if n == first or moments[n] != moments[n - 1]]
        return episode_with("".join(moments[n] for n in kept), tuple(kept), len(moments) - 1)

    assert compressed(0).without_first_state() == compressed(1)
