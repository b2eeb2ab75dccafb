"""The published environments, reproduced: instances, rollouts, observations and episodes as recorded."""

from __future__ import annotations

import hashlib
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from paper import recorded
from rewardmachines.core.formula import Label
from rewardmachines.envs import craftworld, waterworld
from rewardmachines.envs.episodes import MAX_STEPS, EpisodeStep, advance, begin
from rewardmachines.envs.interface import AnyEnvironment
from rewardmachines.envs.scenarios import Scenario, scenario
from rewardmachines.lowered import Tables

AUTHORS_NAMES = {"book-and-quill": "book-quill", "milk-bucket-and-sugar": "milk-bucket-sugar"}


def test_craftworld_instances_are_the_recorded_ones_cell_by_cell() -> None:
    entries = recorded("craftworld_instances.json.gz")
    assert len(entries) == 80
    for entry in entries:
        ours = craftworld.instance(entry["setting"], entry["seed"])
        columns, rows = ours.things.shape
        walls = [
            "".join("#" if ours.things[x, y] == craftworld.Thing.WALL else "." for x in range(columns))
            for y in range(rows)
        ]
        assert walls == entry["walls"]
        assert [ours.x, ours.y, ours.direction] == [*entry["agent"], entry["direction"]]
        assert [list(c) for c in ours.cells(craftworld.Thing.LAVA)] == entry["lava"]
        for name, cells in entry["objects"].items():
            assert [list(c) for c in ours.cells(craftworld.Thing[name.upper()])] == cells


def test_waterworld_instances_are_the_recorded_ones_to_the_last_bit() -> None:
    entries = recorded("waterworld_instances.json.gz")
    assert len(entries) == 40
    for entry in entries:
        ours = waterworld.instance(entry["setting"], entry["seed"])
        assert ours.colours == tuple(ball["colour"] for ball in entry["balls"])
        assert ours.balls.tolist() == [[ball[k] for k in ("x", "y", "vx", "vy")] for ball in entry["balls"]]
        assert ours.agent == (entry["agent"]["x"], entry["agent"]["y"])


@partial(jax.jit, static_argnums=0)
def rollout(environment: AnyEnvironment, world: Any, actions: jax.Array) -> tuple[Any, jax.Array, jax.Array]:
    """States, labels and observations, those after `reset` first."""

    def seen(state: Any) -> tuple[Any, jax.Array, jax.Array]:
        return state, environment.label(world, state), environment.observe(world, state)

    def body(state: Any, action: jax.Array) -> tuple[Any, Any]:
        after = environment.step(world, state, action)
        return after, seen(after)

    start = environment.reset(world, 0)
    _, later = jax.lax.scan(body, start, actions)
    return jax.tree.map(lambda first, rest: jnp.concatenate([jnp.asarray(first)[None], rest]), seen(start), later)  # type: ignore[no-any-return]


def one(entry: dict[str, Any], domain: str) -> Scenario:
    return scenario(domain, entry["setting"], seed=entry["seed"], instances=1)


def decoded(place: Scenario, labels: jax.Array) -> list[list[str]]:
    return [sorted(place.environment.bits.decode(bits)) for bits in np.asarray(labels)]


def test_craftworld_rollouts_are_reproduced_step_by_step_with_every_observation() -> None:
    entries = recorded("craftworld_rollouts.json.gz")
    assert len(entries) == 32
    for entry in entries:
        place = one(entry, "craftworld")
        states, labels, observations = rollout(place.environment, place.world, jnp.asarray(entry["actions"]))
        assert np.stack([states.x, states.y, states.direction], axis=1).tolist() == entry["agent"]
        assert decoded(place, labels) == entry["labels"]
        digests = [
            hashlib.sha256(np.ascontiguousarray(o).astype("<f4").tobytes()).hexdigest()
            for o in np.asarray(observations)
        ]
        assert digests == entry["observation_sha256"]
        assert np.allclose(np.asarray(observations)[:5], entry["observations"], atol=1e-6)


def test_waterworld_rollouts_are_reproduced_with_equal_labels() -> None:
    entries = recorded("waterworld_rollouts.json.gz")
    assert len(entries) == 12
    for entry in entries:
        place = one(entry, "waterworld")
        states, labels, observations = rollout(place.environment, place.world, jnp.asarray(entry["actions"]))
        assert decoded(place, labels) == entry["labels"]
        agent = np.concatenate([states.position, states.velocity], axis=1)
        assert np.abs(agent - np.array(entry["agent"])).max() / 400 < 1e-5
        for time, expected in entry["states"].items():
            assert np.abs(np.asarray(observations)[int(time)] - np.array(expected)).max() < 1e-5


@partial(jax.jit, static_argnums=0)
def results(environment: AnyEnvironment, world: Any, tables: Tables, root: int, actions: jax.Array) -> EpisodeStep:
    start = begin(environment, world, tables, 0, root)
    return jax.lax.scan(lambda e, a: advance(environment, world, tables, e, a), start, actions)[1]


@cache
def together(name: str, domain: str, setting: str) -> tuple[Tables, dict[str, int]]:
    """One table for all recorded tasks, so that one program plays them, and the root of each task."""
    entries = [entry for entry in recorded(name) if (entry["domain"], entry["setting"]) == (domain, setting)]
    tasks, place = sorted({entry["task"] for entry in entries}), one(entries[0], domain)
    lowered = place.lower([place.task(AUTHORS_NAMES.get(task, task)) for task in tasks])
    return lowered.tables, dict(zip(tasks, lowered.roots, strict=True))


@pytest.mark.parametrize(("name", "count"), [("episodes.json.gz", 90), ("episodes_events.json.gz", 22)])
def test_episodes_are_rewarded_and_end_as_recorded(name: str, count: int) -> None:
    entries = recorded(name)
    assert len(entries) == count
    for entry in entries:
        place = one(entry, entry["domain"])
        tables, roots = together(name, entry["domain"], entry["setting"])
        steps = len(entry["actions"])
        padded = jnp.asarray([*entry["actions"], *([0] * (MAX_STEPS - steps))])
        seen: EpisodeStep = jax.tree.map(
            lambda field: np.asarray(field)[:steps],  # noqa: B023
            results(place.environment, place.world, tables, roots[entry["task"]], padded),
        )
        assert decoded(place, seen.label) == entry["labels"]
        assert seen.reward.tolist() == entry["rewards"]
        assert seen.terminated.astype(int).tolist() == entry["terminated"]
        assert seen.goal.astype(int).tolist() == entry["goal"]
        assert bool(seen.truncated[-1]) == (entry["end"] == "cut" and steps == MAX_STEPS)


@partial(jax.jit, static_argnums=0)
def first_label(environment: AnyEnvironment, world: Any) -> jax.Array:
    label: jax.Array = environment.label(world, environment.reset(world, 0))
    return label


def test_the_first_label_is_empty_in_every_instance() -> None:
    nothing: Label = frozenset()
    for name in ("craftworld", "waterworld"):
        for entry in recorded(f"{name}_instances.json.gz"):
            place = one(entry, name)
            assert place.environment.bits.decode(np.asarray(first_label(place.environment, place.world))) == nothing
