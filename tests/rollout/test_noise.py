"""Wrong labels and outcomes in compiled worlds: what happens is judged apart from what is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lhrm.toy import LABELS, TOY, quickly
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.noise import NO_NOISE, WorldNoise
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.rollout.noise import PerceptNoise
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, order_of

COUNT = 4_000
RATE = 0.2


def within(rate: float, count: int) -> Any:
    return pytest.approx(rate, abs=4 * (rate * (1 - rate) / count) ** 0.5)


def noise(**rates: float) -> PerceptNoise:
    made = PerceptNoise.of(replace(TOY, noise=WorldNoise(**rates)))
    assert made is not None
    return made


def toy_run(rates: WorldNoise) -> Lhrm:
    return Lhrm(JaxSuite(replace(TOY, noise=rates), ["fetch", "press"]), quickly(goals=(10**6,)), Solvers(cores=1))


def test_ends_are_wrong_at_the_rate_and_nothing_ends_that_has_not_ended() -> None:
    kinds = {
        "goal": (ACCEPT, False),
        "dead end": (REJECT, False),
        "cut off": (NEITHER, True),
        "going on": (NEITHER, False),
    }
    wrong = {"goal": (NEITHER, True), "dead end": (ACCEPT, False), "cut off": (ACCEPT, False)}
    for kind, (end, is_cut) in kinds.items():
        shown = noise(outcomes=RATE).outcome(
            jnp.full(COUNT, int(end), jnp.int32), jnp.full(COUNT, is_cut), jax.random.key(0)
        )
        ends = list(zip(*(np.asarray(part).tolist() for part in shown), strict=True))
        expected = wrong.get(kind, (end, is_cut))
        assert set(ends) == {(int(end), is_cut), (int(expected[0]), expected[1])}
        if kind in wrong:
            assert ends.count((int(expected[0]), expected[1])) / COUNT == within(RATE, COUNT)


def test_events_are_replaced_by_other_labels_at_the_rate_and_stay_until_the_next() -> None:
    bits = TOY.environment.bits

    def rows(label: str) -> Any:
        return jnp.tile(jnp.asarray(bits.encode(label), jnp.uint32), (COUNT, 1))

    made, key = noise(labels=RATE), jax.random.key(1)
    first = made.label(rows("k"), None, None, key)
    seen = [bits.decode(row) for row in np.asarray(first)]
    assert set(seen) == set(LABELS)
    assert sum(label != {"k"} for label in seen) / COUNT == within(RATE, COUNT)
    kept = made.label(rows("k"), rows("k"), first, jax.random.key(2))
    assert (kept == first).all()
    event = made.label(rows("b"), rows("k"), first, jax.random.key(3))
    assert sum(bits.decode(row) != {"b"} for row in np.asarray(event)) / COUNT == within(RATE, COUNT)


def test_ends_of_episodes_are_wrong_at_the_rate_while_the_agent_acts() -> None:
    """Some goals seem to be none, and some episodes that are cut off seem to reach the goal."""
    goals = {}
    for rates in (NO_NOISE, WorldNoise(outcomes=RATE)):
        config = quickly(agent=replace(quickly().agent, environments=400, chunk=70), goals=(10**6,))
        run = Lhrm(JaxSuite(replace(TOY, noise=rates), ["fetch"]), config, Solvers(cores=1))
        counts = run.driver.chunk(run.tables, run.state, learns=False, most=10**6)[1]
        assert int(counts.episodes.sum()) >= 400
        goals[rates] = int(counts.goals.sum()) / int(counts.episodes.sum())
    true, shown = goals.values()
    assert 0 < true < 0.4
    assert shown == within(true * (1 - RATE) + (1 - true) * RATE, 400)


def test_the_truth_moves_on_true_labels() -> None:
    """The agent is shown wrong labels; what it is told of ends is what the truth says of the true ones."""
    run = toy_run(WorldNoise(labels=0.4))
    driver = run.driver
    assert isinstance(driver, JaxDriver)
    assert driver.truth is not None
    rollout, world = driver.rollout, run.tables.task.world
    state, differ = run.state, 0
    true = toy_run(NO_NOISE).driver
    assert isinstance(true, JaxDriver)
    step = jax.jit(rollout._stepped)
    plain = jax.jit(true.rollout._stepped)
    hidden = state.environments
    bare = hidden._replace(label=None)
    shown = state.episodes.label
    for number in range(60):
        actions = jax.random.randint(jax.random.key(number), (16,), 0, 4)
        was = hidden.label
        hidden, percept = step(run.tables, driver.truth, hidden, shown, actions, jax.random.key(number + 100))
        bare, expected = plain(run.tables, driver.truth, bare, was, actions)
        assert (hidden.label == jax.vmap(lambda s: TOY.environment.label(world, s))(hidden.state)).all()
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), hidden.truth, bare.truth))
        assert (percept.end == expected.end).all()
        differ += int((percept.label != expected.label).any(axis=-1).sum())
        shown = percept.label
    assert differ > 0


def test_greedy_episodes_are_judged_by_the_truth() -> None:
    """Whatever is shown while the agent learns, an evaluation is that of the world without noise."""
    true, wrong = toy_run(NO_NOISE), toy_run(WorldNoise(0.4, 0.4))
    results = []
    for run in (true, wrong):
        tables = run.tables
        exploration = tables.exploration
        assert exploration is not None
        judged = tables._replace(exploration=exploration._replace(is_learned=jnp.ones(2, bool)))
        results.append(run.driver.evaluate(judged, true.state.agent, np.ones(2, bool), 5))
    (one, other) = results
    assert one is not None
    assert other is not None
    assert one[1].min() > 0
    for mine, theirs in zip(one, other, strict=True):
        assert np.array_equal(mine, theirs)


def test_noise_is_part_of_the_config_and_of_domains_alone(tmp_path: Any) -> None:
    made = order_of(
        LearnArguments("craftworld", "bucket", outcome_noise=0.01, label_noise=0.02, steps=100),
        RunFolder(tmp_path / "run"), resume=False,
    )  # fmt: skip
    place = made.config.domain
    assert isinstance(place, DomainPlace)
    assert place.noise == WorldNoise(0.02, 0.01)
    assert made.config.scenario().noise == place.noise  # type: ignore[union-attr]
    with pytest.raises(RewardMachineError, match="outcome_noise: only domains have it"):
        order_of(LearnArguments(lambda: None, outcome_noise=0.01), RunFolder(tmp_path / "other"), resume=False)
    with pytest.raises(RewardMachineError, match=r"below 0\.5"):
        DomainPlace("craftworld", "op", noise=WorldNoise(outcomes=1))
