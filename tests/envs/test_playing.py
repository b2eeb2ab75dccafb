"""Episodes are played action by action, by hand or at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import rewardmachines as rm
from envs.corridor import CORRIDOR
from rewardmachines.envs import ScenarioEnv, registry
from rewardmachines.envs.gymnasium.playing import PlayedEpisode, keys_for
from rewardmachines.envs.label_statistics import make_by_id, random_episodes

LEFT, RIGHT = 0, 1


@pytest.fixture(autouse=True)
def corridor() -> Iterator[None]:
    rm.register_domain(CORRIDOR)
    yield
    registry.unregister_domain("corridor")


@pytest.fixture
def env() -> ScenarioEnv:
    """Five cells, from the first, where the coin is, to the last, where the door is; it begins in the second."""
    return ScenarioEnv("corridor", "short", "leave", base_seed=0)


def test_the_hierarchy_follows_and_the_episode_ends(env: ScenarioEnv) -> None:
    episode = PlayedEpisode(env, 0, is_filmed=True)
    assert (episode.steps, episode.label, episode.verdict) == (0, frozenset(), "neither")
    assert [episode.act(LEFT), episode.act(LEFT)] == [True, False]
    assert episode.label == {"coin"}
    assert episode.hierarchy_state.state == "u1"
    assert [episode.act(RIGHT) for _ in range(4)] == [True, False, True, True]
    assert (episode.steps, episode.is_over, episode.verdict) == (6, True, "accept")
    assert len(episode.film.shots) == 7
    episode.restart()
    assert (episode.steps, episode.is_over, episode.verdict) == (0, False, "neither")
    assert len(episode.film.shots) == 8


def test_the_screen_has_the_hierarchy_to_the_right(env: ScenarioEnv) -> None:
    episode = PlayedEpisode(env, 0)
    episode.act(LEFT)
    first, *others = episode.screen().splitlines()
    assert first.endswith("    task: leave")
    assert len({len(line) - len(line.lstrip()) for line in others if line.strip().startswith(("label", "step"))}) == 1
    assert others[-1].strip() == "step 1"
    assert not episode.film.shots


def test_digits_are_the_keys_of_a_domain_without_any(env: ScenarioEnv) -> None:
    assert keys_for(env.scenario) is CORRIDOR.keys
    keys = keys_for(replace(env.scenario, domain=replace(CORRIDOR, keys=None)))
    assert keys.actions == {"0": LEFT, "1": RIGHT}
    assert keys.help == "0 left, 1 right"


def test_random_episodes_are_cut_off_and_repeat_with_their_seeds() -> None:
    runs = []
    for _ in range(2):
        env = make_by_id("rewardmachines/Corridor-LONG-v0")
        env.action_space.seed(3)
        runs.append(list(random_episodes(env, range(4), 6)))
    assert runs[0] == runs[1]
    assert all(2 <= len(labels) <= 7 for labels in runs[0])
    assert any(len(labels) == 7 for labels in runs[0])
