"""The Gymnasium faces do exactly what the compiled functions do, and what was recorded of the published environments.

A single environment leaves its task to the core and the rest to a compiled program, a vector environment runs the whole
episode compiled: neither may differ from `advance` in a bit.
"""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from paper import recorded
from rewardmachines.envs import IDS, ScenarioEnv, ScenarioVectorEnv, advance_or_begin, begin
from rewardmachines.envs.episodes import Episode, EpisodeStep
from rewardmachines.lowered import lift, verdict
from rewardmachines.lowered.traversal import VERDICTS

STEPS = 10_000
MAX_STEPS = 400
TASKS = ["paper", "leather", "paper", "paper", "rg", "bc"]
"""Tasks that chance solves now and then, one for each id."""
AUTHORS_NAMES = {"book-and-quill": "book-quill", "milk-bucket-and-sugar": "milk-bucket-sugar"}


def rollout(env: ScenarioEnv, instances: Any, actions: Any) -> tuple[Episode, Any, EpisodeStep, Episode, Any, Any]:
    """The first episode and its observation; then, for every step, result, last moment, observation and verdict."""
    environment, world, tables, root = (
        env.scenario.environment,
        env.scenario.world,
        env.lowered.tables,
        env.lowered.root,
    )

    def body(episode: Episode, chosen: tuple[Any, Any]) -> tuple[Episode, Any]:
        action, instance = chosen
        following, result, after = advance_or_begin(
            environment, world, tables, episode, action, instance=instance, root=root, max_steps=MAX_STEPS
        )
        return following, (result, after, environment.observe(world, after.state), verdict(tables, after.task))

    @jax.jit
    def run(instances: Any, actions: Any) -> Any:
        start = begin(environment, world, tables, instances[0], root)
        _, later = jax.lax.scan(body, start, (actions, instances[1:]))
        return start, environment.observe(world, start.state), *later

    return jax.tree.map(np.asarray, run(jnp.asarray(instances), jnp.asarray(actions)))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("identifier", "task"), list(zip(IDS, TASKS, strict=True)))
def test_thousands_of_steps_are_those_of_the_compiled_functions_to_the_last_bit(identifier: str, task: str) -> None:
    env = gymnasium.make(identifier, task=task, max_steps=MAX_STEPS).unwrapped
    assert isinstance(env, ScenarioEnv)
    random = np.random.default_rng(7)
    actions = random.integers(env.scenario.environment.actions, size=STEPS)
    # One for each step, of which those are taken that follow the end of an episode.
    instances = random.integers(len(env.scenario.instances), size=STEPS + 1)
    start, first, results, after, observations, verdicts = rollout(env, instances, actions)
    observation, info = env.reset(options={"instance": instances[0]})
    assert np.array_equal(observation, first)
    assert info["label"] == env.scenario.environment.bits.decode(np.asarray(start.label))
    ends = goals = 0
    for i, action in enumerate(actions):
        observation, reward, terminated, truncated, info = env.step(action)
        episode = jax.tree.map(lambda field, i=i: field[i], after)
        assert observation.dtype == np.float32
        assert np.array_equal(observation, observations[i])
        assert (reward, terminated, truncated) == (results.reward[i], results.terminated[i], results.truncated[i])
        assert type(info) is dict
        assert info == {
            "label": env.scenario.environment.bits.decode(episode.label),
            "instance": episode.state.instance,
            "verdict": VERDICTS[verdicts[i]].value,
            "goal": results.goal[i],
        }
        assert jax.tree.all(jax.tree.map(np.array_equal, env.episode.state, episode.state))
        assert env.episode.task == lift(env.lowered, env.hierarchy, episode.task)
        if terminated or truncated:
            ends, goals = ends + 1, goals + int(info["goal"])
            env.reset(options={"instance": instances[i + 1]})
    assert ends > goals > 0, "both kinds of ends must have been seen"


def test_craftworld_rollouts_are_reproduced_with_every_observation() -> None:
    entries = recorded("craftworld_rollouts.json.gz")
    assert len(entries) == 32
    for entry in entries:
        env = ScenarioEnv("craftworld", entry["setting"], base_seed=entry["seed"], instances=1)
        observation, info = env.reset()
        observations, labels = [observation], [sorted(info["label"])]
        for action in entry["actions"]:
            observation, *_, info = env.step(action)
            observations.append(observation)
            labels.append(sorted(info["label"]))
        assert labels == entry["labels"]
        digests = [hashlib.sha256(o.astype("<f4").tobytes()).hexdigest() for o in observations]
        assert digests == entry["observation_sha256"]


@pytest.mark.parametrize("name", ["episodes.json.gz", "episodes_events.json.gz"])
def test_recorded_episodes_are_rewarded_and_end_as_recorded(name: str) -> None:
    for entry in recorded(name):
        task = AUTHORS_NAMES.get(entry["task"], entry["task"])
        env = ScenarioEnv(entry["domain"], entry["setting"], task, base_seed=entry["seed"], instances=1)
        env.reset()
        steps = [env.step(action) for action in entry["actions"]]
        assert [sorted(info["label"]) for *_, info in steps] == entry["labels"]
        assert [reward for _, reward, *_ in steps] == entry["rewards"]
        assert [int(terminated) for _, _, terminated, _, _ in steps] == entry["terminated"]
        assert [int(info["goal"]) for *_, info in steps] == entry["goal"]


def test_labels_of_many_propositions_are_decoded_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    env = ScenarioVectorEnv("craftworld", "op", num_envs=4)
    names = tuple(f"p{i}" for i in range(70))
    monkeypatch.setattr(type(env.scenario.environment), "propositions", names)
    labels = [frozenset({"p0", "p69"}), frozenset(), frozenset({"p33"}), frozenset({"p0", "p69"})]
    bits = env.scenario.environment.bits.encode_all(labels)
    assert bits.shape == (4, 3)
    assert env._decoded(bits).tolist() == labels
