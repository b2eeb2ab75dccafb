"""Laws that every built-in environment keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import craftworld, waterworld
from rewardmachines.envs.craftworld.things import OBJECTS, Thing, proposition
from rewardmachines.envs.episodes import Episode, advance, advance_or_begin, begin
from rewardmachines.envs.registry import BUILT_IN
from rewardmachines.envs.scenarios import Scenario, scenario

PLACES = [(name, setting) for name, known in BUILT_IN.items() for setting in known.settings]
every_place = pytest.mark.parametrize(("name", "setting"), PLACES)


@settings(max_examples=40)
@given(st.sampled_from(list(craftworld.CraftSetting)), st.integers(0, 2**31))
def test_things_never_overlap_and_stand_where_they_may(setting: craftworld.CraftSetting, seed: int) -> None:
    grid = craftworld.instance(setting, seed)
    walls = craftworld.instance(setting, seed + 1).things == Thing.WALL
    assert np.array_equal(grid.things == Thing.WALL, walls), "walls do not depend on the seed"
    assert grid.things[grid.x, grid.y] == Thing.EMPTY
    for thing in OBJECTS:
        assert len(grid.cells(thing)) in ((1, 2) if setting.has_rooms else (1,))
    assert len(grid.cells(Thing.LAVA)) == {"op": 0, "opl": 1, "fr": 0, "frl": 4}[setting.value]
    if setting.has_rooms:
        doors = [(2, 6), (9, 7), (6, 3), (6, 10)]
        assert all(grid.things[door] == Thing.EMPTY for door in doors)


@settings(max_examples=20)
@given(st.integers(0, 2**31))
def test_open_plan_with_lava_is_open_plan_and_one_cell_of_lava(seed: int) -> None:
    plain, hot = craftworld.instance("op", seed), craftworld.instance("opl", seed)
    different = np.argwhere(plain.things != hot.things)
    assert len(different) == 1
    assert hot.things[tuple(different[0])] == Thing.LAVA


@settings(max_examples=20)
@given(st.sampled_from(list(waterworld.WaterSetting)), st.integers(0, 2**31))
def test_balls_start_apart_and_stay_in_the_box(setting: waterworld.WaterSetting, seed: int) -> None:
    from rewardmachines.envs.waterworld.instances import BALL_SPEED, ball_paths

    box = waterworld.instance(setting, seed)
    centres = box.balls[:, :2]
    assert (np.linalg.norm(centres - np.array(box.agent), axis=1) > 60).all()
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1) + 1000 * np.eye(len(centres))
    assert gaps.min() >= 30
    paths = ball_paths(box, 200)
    assert paths[1:, :, :2].min() >= 15
    assert paths[1:, :, :2].max() <= 385
    assert np.allclose(np.linalg.norm(paths[..., 2:], axis=-1), BALL_SPEED)


def test_seeds_make_the_instance_and_different_seeds_different_ones() -> None:
    settings: Any = {craftworld: craftworld.CraftSetting, waterworld: waterworld.WaterSetting}
    for module, every in settings.items():
        setting = next(iter(every))
        a, b, c = (module.instance(setting, seed) for seed in (7, 7, 8))
        same: Any = "things" if module is craftworld else "balls"
        assert np.array_equal(getattr(a, same), getattr(b, same))
        assert not np.array_equal(getattr(a, same), getattr(c, same))


def _random_states(place: Scenario, key: int, count: int) -> Any:
    """States that random walks lead to, as a batch."""
    environment, world = place.environment, place.world

    def walk(key: Any) -> Any:
        instance, actions = jax.random.split(key)
        start = environment.reset(world, jax.random.randint(instance, (), 0, len(place.instances)))
        chosen = jax.random.randint(actions, (60,), 0, environment.actions)
        return jax.lax.scan(lambda s, a: (environment.step(world, s, a), None), start, chosen)[0]

    return jax.jit(jax.vmap(walk))(jax.random.split(jax.random.key(key), count))


@every_place
def test_labels_agree_with_positions(name: str, setting: str) -> None:
    place = scenario(name, setting)
    states = _random_states(place, 0, 200)
    labels = jax.jit(jax.vmap(lambda s: place.environment.label(place.world, s)))(states)
    seen: set[str] = set()
    for i in range(200):
        state = jax.tree.map(lambda field: np.asarray(field)[i], states)  # noqa: B023
        label = place.environment.bits.decode(np.asarray(labels)[i])
        assert label == _label_by_hand(place, state)
        seen |= label
    assert len(seen) >= 4, "the walks met something"


def _label_by_hand(place: Scenario, state: Any) -> frozenset[str]:
    instance = place.instances[int(state.instance)]
    if isinstance(instance, craftworld.CraftInstance):
        thing = Thing(int(instance.things[int(state.x), int(state.y)]))
        return frozenset({proposition(thing)} if thing not in (Thing.EMPTY, Thing.WALL) else ())
    balls = np.asarray(place.world.balls)[int(state.instance), int(state.time), :, :2]
    near = np.linalg.norm(balls.astype(float) - np.asarray(state.position, float), axis=1) <= 30
    return frozenset(colour for colour, touches in zip(instance.colours, near, strict=True) if touches)


@every_place
def test_what_is_remembered_recalls_the_observation(name: str, setting: str) -> None:
    for observation in ("published", "one-hot", "egocentric") if name == "craftworld" else ("published",):
        place = scenario(name, setting, observation=observation)
        environment, world = place.environment, place.world
        states = _random_states(place, 1, 50)
        memories = jax.jit(jax.vmap(environment.remember))(states)
        observed = np.asarray(jax.jit(jax.vmap(environment.observe, in_axes=(None, 0)))(world, states))
        recalled = np.asarray(jax.jit(jax.vmap(environment.recall, in_axes=(None, 0)))(world, memories))
        assert np.array_equal(observed, recalled)
        assert observed.shape[1:] == environment.observation_shape
        low, high = environment.observation_bounds
        assert low <= float(observed.min())
        assert float(observed.max()) <= high
        size = sum(np.asarray(part).nbytes for part in memories) / 50
        assert size <= 24, "a replay buffer holds half a million"


def test_the_one_hot_observation_shows_the_thing_under_the_agent() -> None:
    place = scenario("craftworld", "frl", observation="one-hot")
    states = _random_states(place, 2, 30)
    observed = np.asarray(jax.jit(jax.vmap(lambda s: place.environment.observe(place.world, s)))(states))
    for i in range(30):
        instance = place.instances[int(states.instance[i])]
        x, y, direction = (int(part[i]) for part in (states.x, states.y, states.direction))
        assert observed[i, :12].sum() == (instance.things != Thing.EMPTY).sum()
        assert observed[i, 12:].sum() == 1
        assert observed[i, 12 + direction, x, y] == 1
        for plane, thing in enumerate((Thing.WALL, Thing.LAVA, *OBJECTS)):
            assert np.array_equal(observed[i, plane], instance.things == thing)


def _episode_runs(place: Scenario, task: str, keys: Sequence[int], *, batch: int, steps: int) -> list[Any]:
    """Episodes with random actions, all made by one program: for each key, what happened, and the actions."""
    lowered = place.lower(place.task(task))
    environment, world, tables = place.environment, place.world, lowered.tables
    instances = np.arange(batch, dtype=np.int32) % len(place.instances)

    def body(episodes: Episode, some: Any) -> Any:
        following, outcome, _ = jax.vmap(
            lambda e, a, i: advance_or_begin(
                environment, world, tables, e, a, instance=i, root=lowered.root, max_steps=place.max_steps
            )
        )(episodes, some, instances)
        return following, (outcome, following)

    @jax.jit
    def run(key: Any) -> Any:
        actions = jax.random.randint(key, (steps, batch), 0, environment.actions)
        start = jax.vmap(lambda i: begin(environment, world, tables, i, lowered.root))(instances)
        return jax.lax.scan(body, start, actions)[1], actions

    return [jax.tree.map(np.asarray, run(jax.random.key(key))) for key in keys]


@every_place
def test_a_batch_is_so_many_single_ones_compiled_or_not(name: str, setting: str) -> None:
    place = scenario(name, setting, max_steps=15)
    task = "bucket" if name == "craftworld" else "rg"
    (((outcomes, followings), actions),) = _episode_runs(place, task, [3], batch=3, steps=40)
    lowered = place.lower(place.task(task))
    environment, world, tables = place.environment, place.world, lowered.tables
    with jax.disable_jit():
        for b in range(2):
            episode = begin(environment, world, tables, b, lowered.root)
            for t in range(20):
                episode, outcome = advance(environment, world, tables, episode, int(actions[t, b]), max_steps=15)
                for ours, theirs in zip(outcome, outcomes, strict=True):
                    assert np.array_equal(np.asarray(ours), theirs[t, b])
                if outcome.done:
                    episode = begin(environment, world, tables, b, lowered.root)
                for ours, theirs in zip(jax.tree.leaves(episode), jax.tree.leaves(followings), strict=True):
                    assert np.allclose(np.asarray(ours), theirs[t, b], atol=1e-4)


@every_place
def test_episodes_are_cut_off_but_not_ended_when_the_steps_are_used_up(name: str, setting: str) -> None:
    place = scenario(name, setting, max_steps=10)
    task = "cake" if name == "craftworld" else "rgb&cmy"
    (((outcomes, followings), _),) = _episode_runs(place, task, [4], batch=4, steps=30)
    assert outcomes.truncated.any()
    assert not (outcomes.truncated & outcomes.terminated).any()
    assert followings.steps.max() < 10
    assert (followings.steps[outcomes.done] == 0).all()


@every_place
def test_the_same_actions_give_the_same_run_and_others_another(name: str, setting: str) -> None:
    place = scenario(name, setting)
    task = "paper" if name == "craftworld" else "bc"
    leaves = [jax.tree.leaves(run) for run, _ in _episode_runs(place, task, (5, 5, 6), batch=4, steps=50)]
    assert all(np.array_equal(a, b) for a, b in zip(leaves[0], leaves[1], strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(leaves[0], leaves[2], strict=True))


def test_a_batch_may_mix_tasks_and_instances() -> None:
    place = scenario("craftworld", "opl")
    trees = [place.task(name) for name in place.domain.tasks]
    lowered = place.lower(trees)
    roots = jnp.asarray(lowered.roots)
    instances = jnp.arange(len(trees)) % 10
    start = jax.vmap(lambda i, r: begin(place.environment, place.world, lowered.tables, i, r))
    episodes = jax.jit(start)(instances, roots)
    assert episodes.task.machine.tolist() == list(lowered.roots)
    assert episodes.state.instance.tolist() == instances.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("craftworld", "opp"), "CraftWorld has no setting 'opp'; did you mean 'op'"),
        (("waterworld", "x"), "there are wod, wd"),
        (("minecraft", "op"), "there is no domain 'minecraft'"),
    ],
)
def test_unknown_places_are_refused(arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(RewardMachineError, match=message):
        scenario(*arguments)
    with pytest.raises(RewardMachineError, match="the observation is one of published, one-hot, egocentric, not"):
        scenario("craftworld", "op", observation="pixels")
    with pytest.raises(RewardMachineError, match="at least one instance"):
        scenario("craftworld", "op", instances=0)
    with pytest.raises(RewardMachineError, match="there can be 65,536 instances at most, not 65,537"):
        scenario("craftworld", "op", instances=65_537)
    with pytest.raises(RewardMachineError, match="negative"):
        scenario("craftworld", "op", seed=-1)
