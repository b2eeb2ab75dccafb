"""The parts of the Q-functions, by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardmachines as rm
from rewardmachines.agents import double_dqn, replay
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import Algorithm, Layout
from rewardmachines.agents.double_dqn import Batch
from rewardmachines.agents.hierarchical_dqn import call_q, chosen_formulas, formula_q
from rewardmachines.agents.hierarchical_dqn.chosen_formulas import Chosen
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options.ending import Experience
from rewardmachines.agents.protocol import Step
from rewardmachines.agents.replay import Transition
from rewardmachines.agents.setup import build_agent, build_task, prepare
from rewardmachines.lowered import initial_state

TINY = NetworkConfig(Body.FLAT, hidden=(3,))
ACTIONS = 2
KEY = jax.random.key(0)


def task_with_a_call() -> OptionTask:
    plan = prepare(rm.compile_task("first ; g", tasks={"first": "k ; b"}), Algorithm.HRL, ("b", "g", "k"))
    task = build_task(plan, None)
    assert isinstance(task, OptionTask)
    return task


TASK = task_with_a_call()
SLOTS = TASK.options.is_active.shape[0]


def settings(**changes: Any) -> HierarchicalDqnConfig:
    return HierarchicalDqnConfig(
        **{"network": TINY, "call_network": TINY, "batch": 4, "replay_size": 8, "replay_start": 1, **changes}
    )


def table(networks: Any, inputs: Any) -> Any:
    """A network that is a table of values."""
    return networks[inputs]


# -- Double DQN


def test_the_online_network_chooses_and_the_target_network_values() -> None:
    online = jnp.array([[0.0, 0.0], [1.0, 2.0], [5.0, 1.0]])
    target = jnp.array([[0.0, 0.0], [30.0, 40.0], [50.0, 60.0]])
    batch = Batch(
        inputs=jnp.array([0, 0, 0]),
        action=jnp.array([0, 1, 1]),
        reward=jnp.array([1.0, 0.5, 0.0]),
        discount=jnp.array([0.9, 0.1, 0.0]),
        next_inputs=jnp.array([1, 2, 2]),
        next_allowed=jnp.ones((1, 1), bool),
    )
    found = double_dqn.targets(table, online, table(target, batch.next_inputs), batch)
    assert found.tolist() == pytest.approx([1 + 0.9 * 40, 0.5 + 0.1 * 50, 0.0])


def test_what_is_not_allowed_is_not_chosen_next() -> None:
    online, target = jnp.array([[1.0, 9.0]]), jnp.array([[3.0, 7.0]])
    batch = Batch(
        inputs=jnp.array([0]),
        action=jnp.array([0]),
        reward=jnp.array([0.0]),
        discount=jnp.array([1.0]),
        next_inputs=jnp.array([0]),
        next_allowed=jnp.array([[True, False]]),
    )
    assert double_dqn.targets(table, online, table(target, batch.next_inputs), batch).tolist() == [3.0]


def test_the_loss_is_the_mean_square_of_what_the_action_taken_is_off() -> None:
    online = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    batch = Batch(
        inputs=jnp.array([0, 1]),
        action=jnp.array([1, 0]),
        reward=jnp.array([0.0, 1.0]),
        discount=jnp.array([0.0, 0.0]),
        next_inputs=jnp.array([0, 0]),
        next_allowed=jnp.ones((1, 1), bool),
    )
    losses, slope = double_dqn.gradient(table, online, table(online, batch.next_inputs), batch)
    assert float(losses) == pytest.approx((2**2 + 2**2) / 2)
    assert slope.tolist() == [[0.0, 2.0], [2.0, 0.0]]  # 2 (q - y) / B


def test_rmsprop_is_that_of_pytorch() -> None:
    """v ← 0.99 v + 0.01 g², w ← w - α g / (√v + 1e-8)."""
    rule = double_dqn.optimizer("rmsprop", 0.01)
    weight, square = 1.0, 0.0
    parameter = jnp.float32(weight)
    state = rule.init(parameter)
    for slope in (0.5, -2.0, 1e-4):
        step, state = rule.update(jnp.float32(slope), state)
        parameter = parameter + step
        square = 0.99 * square + 0.01 * slope**2
        weight -= 0.01 * slope / (np.sqrt(square) + 1e-8)
        assert float(parameter) == pytest.approx(weight, rel=1e-6)


def test_exploration_goes_down_in_a_line_and_stays_there() -> None:
    done = jnp.array([0, 50, 100, 10_000])
    assert double_dqn.exploration(done, 100, 1.0, 0.1).tolist() == pytest.approx([1.0, 0.55, 0.1, 0.1])


# -- formulas


@cache
def bank(config: HierarchicalDqnConfig) -> FormulaBank:
    return formula_q.create(config, SLOTS, (2,), ACTIONS, np.random.default_rng(0))


def some_rows(count: int = 4) -> Transition:
    noise = np.random.default_rng(1)
    return Transition(
        before=jnp.asarray(noise.normal(size=(count, 2)), jnp.float32),
        action=jnp.arange(count) % ACTIONS,
        after=jnp.asarray(noise.normal(size=(count, 2)), jnp.float32),
        label=jnp.asarray([[0], [1], [2], [4]], jnp.uint32),
        is_event=jnp.array([True, True, False, True]),
        is_dead_end=jnp.array([False, False, False, False]),
    )


@pytest.mark.parametrize("event_rewards", [True, False])
def test_formulas_are_rewarded_by_labels_that_satisfy_them(event_rewards: bool) -> None:
    """`b` is bit 0, `g` bit 1, `k` bit 2; the second row repeats its label."""
    rows = some_rows()._replace(is_event=jnp.array([True, True, False, True]))
    rows = rows._replace(is_dead_end=jnp.array([True, False, False, False]))
    config = settings(event_rewards=event_rewards, discount=0.5)
    batch = formula_q.batch_for(config, TASK.options, rows, rows.before, rows.after, jnp.arange(SLOTS))
    masks = np.asarray(TASK.options.slot_required)[:, 0]
    rewards = {int(mask): row for mask, row in zip(masks, np.asarray(batch.reward).tolist(), strict=True)}
    assert rewards == {1: [0, 1, 0, 0], 2: [0, 0, 0.0 if event_rewards else 1.0, 0], 4: [0, 0, 0, 1]}
    ends = (np.asarray(batch.reward) > 0) | np.array([True, False, False, False])
    assert np.asarray(batch.discount).tolist() == np.where(ends, 0.0, 0.5).tolist()


def test_formulas_that_have_learned_seldom_are_rather_chosen() -> None:
    several = bank(settings(layout=Layout.SEPARATE))._replace(
        updates=jnp.array([1000, 10, 1000]), rounds=jnp.int32(1000)
    )
    every = jnp.ones(SLOTS, bool)
    choose = jax.jit(lambda key: chosen_formulas.choose(several, every, 1, key))
    first = [int(choose(jax.random.key(i))[0]) for i in range(60)]
    assert first.count(1) > 55
    both = np.asarray(chosen_formulas.choose(several, every, 2, KEY))
    assert len(set(both.tolist())) == 2


def test_formulas_that_are_not_in_use_do_not_learn() -> None:
    config = settings(layout=Layout.SEPARATE, target_period=1)
    start = bank(config)._replace(rounds=jnp.int32(50))
    active = jnp.array([True, False, True])
    choose = jax.jit(lambda key: chosen_formulas.choose(start, active, 2, key))
    assert all(1 not in choose(jax.random.key(i)).tolist() for i in range(30))
    slots = chosen_formulas.choose(start, active, 3, KEY)
    rows = some_rows()
    batch = formula_q.batch_for(config, TASK.options, rows, rows.before, rows.after, slots)

    @jax.jit
    def learned(start: FormulaBank) -> FormulaBank:
        chosen = Chosen(*chosen_formulas.take_out((start.online, start.optimizer, start.updates), slots))
        following = formula_q.values(config.layout, ACTIONS, chosen_formulas.take_out(start.target, slots), rows.after)
        chosen, _ = chosen_formulas.learn_chosen(config, ACTIONS, chosen, batch, following, active[slots])
        return chosen_formulas.put_back(config, start, slots, chosen, active[slots], 1)

    after = learned(start)
    for part in ("online", "target"):
        pairs = zip(*(jax.tree.leaves(getattr(one, part)) for one in (start, after)), strict=True)
        changed = np.array([[bool((old[k] != new[k]).any()) for k in range(SLOTS)] for old, new in pairs])
        assert changed.any(axis=0).tolist() == active.tolist()
    assert after.updates.tolist() == [1, 0, 1]


def equal(one: Any, other: Any) -> bool:
    return all(bool((a == b).all()) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


def test_targets_of_heads_are_copied_when_it_is_time() -> None:
    config = settings(target_period=3)
    now, rows = bank(config), some_rows()
    first = now.online
    learn = jax.jit(lambda b: formula_q.learn_shared(config, ACTIONS, b, TASK.options, rows, rows.before, rows.after))
    for round_number in range(1, 7):
        before = now
        now, _ = learn(now)
        is_due = round_number % 3 == 0
        assert equal(now.target, now.online if is_due else before.target)
        assert not equal(now.online, first)


@pytest.mark.parametrize(("updates", "times", "is_due"), [(0, 2, False), (1, 2, True), (2, 1, True), (3, 2, False)])
def test_targets_of_networks_are_copied_when_a_round_passes_the_period(updates: int, times: int, is_due: bool) -> None:
    config = settings(layout=Layout.SEPARATE, target_period=3)
    start = bank(config)._replace(updates=jnp.full(SLOTS, updates, jnp.int32))
    slots = jnp.array([1])
    shifted = jax.tree.map(lambda x: x[slots] + 1, start.online)
    chosen = Chosen(shifted, *chosen_formulas.take_out((start.optimizer, start.updates), slots))
    after = chosen_formulas.put_back(config, start, slots, chosen, jnp.array([True]), times)
    expected = jax.tree.map(lambda old, new: old.at[1].set(new[0]), start.target, shifted) if is_due else start.target
    assert equal(after.target, expected)


# -- machines


def experience(**changes: Any) -> Experience:
    """Two rows of the root, which chose its first output in its first state."""
    zero, no = jnp.zeros(2, jnp.int32), jnp.zeros(2, bool)
    moments = jnp.zeros((2, 2))
    plain = Experience(
        machine=zero,
        state=zero,
        context=zero,
        output=zero,
        steps=jnp.array([3, 1]),
        start=moments,
        end=moments,
        next_state=zero,
        next_context=zero,
        is_accepted=no,
        is_terminal=no,
    )
    return plain._replace(**changes)


def test_options_are_discounted_by_the_steps_they_took() -> None:
    rows = experience(is_accepted=jnp.array([True, False]), is_terminal=jnp.array([True, False]))
    batch = call_q.batch_for(settings(call_discount=0.9), TASK.options, jnp.int32(0), rows, rows.start, rows.end)
    assert batch.reward.tolist() == pytest.approx([0.9**3, 0.0])
    assert batch.discount.tolist() == pytest.approx([0.0, 0.9])


def test_only_options_that_can_be_chosen_next_count_and_without_any_nothing_follows() -> None:
    allowed = np.asarray(TASK.options.allowed)[0, :, 0]
    dead = int(np.flatnonzero(~allowed.any(axis=-1))[0])
    rows = experience(next_state=jnp.array([0, dead]))
    batch = call_q.batch_for(settings(call_discount=0.9), TASK.options, jnp.int32(0), rows, rows.start, rows.end)
    assert batch.next_allowed[0].tolist() == allowed[0].tolist()
    assert batch.discount.tolist() == pytest.approx([0.9**3, 0.0])
    assert batch.next_allowed[1].all()  # something must be, or the target would be infinite


def test_a_machine_learns_alone_and_its_target_is_copied_when_it_is_time() -> None:
    config = settings(call_target_period=2)
    now = call_q.create(config, TASK.options, (2,), np.random.default_rng(0))
    now = now._replace(owed=now.owed + 5)
    rows = experience(is_accepted=jnp.ones(2, bool), is_terminal=jnp.ones(2, bool))
    batch = call_q.batch_for(config, TASK.options, jnp.int32(1), rows, rows.start, rows.end)
    learn = jax.jit(lambda bank, is_going: call_q.learn(config, TASK.options, bank, jnp.int32(1), batch, is_going))
    for number in (1, 2):
        before = now
        now, _ = learn(now, True)
        assert equal(call_q.select(now.online, jnp.int32(0)), call_q.select(before.online, jnp.int32(0)))
        own = [call_q.select(part, jnp.int32(1)) for part in (now.target, now.online, before.target)]
        assert equal(own[0], own[1] if number == 2 else own[2])
    assert now.updates.tolist() == [0, 2]
    assert now.owed.tolist() == [5.0, 3.0]
    assert equal(learn(now, False)[0], now)


# -- replay


@given(
    writes=st.lists(
        st.lists(st.tuples(st.integers(0, 1), st.booleans()), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
def test_rings_keep_the_last_rows_that_were_not_masked(writes: list[list[tuple[int, bool]]]) -> None:
    size = 5
    rings = replay.empty(jnp.int32(0), 2, size)
    kept: list[list[int]] = [[], []]
    number = 0
    for rows in writes:
        values = [number + i for i in range(3)]
        number += 3
        ring, when = (np.array(part) for part in zip(*rows, strict=True))
        rings = WRITE(rings, np.array(values, np.int32), ring.astype(np.int32), when)
        for value, (to, is_kept) in zip(values, rows, strict=True):
            kept[to] += [value] if is_kept else []
    assert rings.written.tolist() == [len(part) for part in kept]
    for to, part in enumerate(kept):
        stored = rings.rows[to * size : to * size + min(len(part), size)].tolist()
        assert sorted(stored) == sorted(part[-size:])


WRITE = jax.jit(replay.write)


def test_rows_are_drawn_from_what_was_written_to_the_ring() -> None:
    rings = replay.empty(jnp.int32(0), 2, 10)
    rings = WRITE(rings, np.array([7, 8, 9], np.int32), np.array([1, 1, 0], np.int32), np.ones(3, bool))
    assert set(replay.sample(rings, 1, 50, KEY).tolist()) == {7, 8}
    assert set(replay.sample(rings, 0, 50, KEY).tolist()) == {9}


# -- CRM


@pytest.mark.parametrize("layout", Layout)
def test_crm_expects_nothing_after_the_environment_has_ended_by_itself(layout: Layout) -> None:
    """Even if the machine knows nothing of it."""
    plan = prepare(rm.compile_task("g"), Algorithm.CRM, ("g",))
    agent = build_agent(plan, crm_settings(settings(layout=layout)), (2,), ACTIONS, lambda _, memory: memory)
    task = build_task(plan, None)
    state = agent.create(task, jnp.zeros(2), np.random.default_rng(0))
    state = state._replace(target=jax.tree.map(lambda x: 1000 * x, state.target))
    at = jax.vmap(lambda root: initial_state(task.tables, root))(jnp.zeros(1, jnp.int32))
    moment, no = jnp.ones((1, 2)), jnp.zeros(1, bool)

    @jax.jit
    def loss(dead: Any) -> Any:
        label = jnp.zeros((1, 1), jnp.uint32)
        step = Step(
            before=moment,
            action=jnp.zeros(1, jnp.int32),
            after=moment,
            label=label,
            is_event=no,
            from_state=at,
            called=at,
            to_state=at,
            is_over=dead,
            is_dead_end=dead,
            is_valid=~no,
        )
        seen, _ = agent.observe(task, state, agent.begin_plans(task, at, moment, KEY), step, KEY)
        return agent.learn(task, seen, KEY)[1].formulas

    assert float(loss(~no)) < 10 < float(loss(no))
