"""Q-functions of machines: what they learn from options that have ended, each on its own."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.compiled_agent import AGENT
from agents.formula_bank import TASK, TINY, settings
from agents.trees import same
from rewardmachines.agents.hierarchical_dqn import call_q
from rewardmachines.agents.hierarchical_dqn.config import CallConfig
from rewardmachines.agents.options.stack import Experience


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
    batch = call_q.batch_for(
        settings(calls=CallConfig(TINY, discount=0.9)), TASK.options, jnp.int32(0), rows, rows.start, rows.end
    )
    assert batch.reward.tolist() == pytest.approx([0.9**3, 0.0])
    assert batch.discount.tolist() == pytest.approx([0.0, 0.9])


def test_only_options_that_can_be_chosen_next_count_and_without_any_nothing_follows() -> None:
    allowed = np.asarray(TASK.options.allowed)[0, :, 0]
    dead = int(np.flatnonzero(~allowed.any(axis=-1))[0])
    rows = experience(next_state=jnp.array([0, dead]))
    batch = call_q.batch_for(
        settings(calls=CallConfig(TINY, discount=0.9)), TASK.options, jnp.int32(0), rows, rows.start, rows.end
    )
    assert batch.next_allowed[0].tolist() == allowed[0].tolist()
    assert batch.discount.tolist() == pytest.approx([0.9**3, 0.0])
    assert batch.next_allowed[1].all()  # something must be, or the target would be infinite


def test_a_machine_learns_alone_and_its_target_is_copied_when_it_is_time() -> None:
    config = settings(calls=CallConfig(TINY, target=2))
    now = call_q.create(config, TASK.options, (2,), np.random.default_rng(0))
    now = now._replace(owed=now.owed + 5)
    rows = experience(is_accepted=jnp.ones(2, bool), is_terminal=jnp.ones(2, bool))
    batch = call_q.batch_for(config, TASK.options, jnp.int32(1), rows, rows.start, rows.end)
    learn = jax.jit(lambda bank, is_going: call_q.learn(config, TASK.options, bank, jnp.int32(1), batch, is_going))
    for number in (1, 2):
        before = now
        counted, learned, _ = learn(now, True)
        now = call_q.put_back(counted, learned)
        assert same(call_q.select(now.online, jnp.int32(0)), call_q.select(before.online, jnp.int32(0)))
        own = [call_q.select(part, jnp.int32(1)) for part in (now.target, now.online, before.target)]
        assert same(own[0], own[1] if number == 2 else own[2])
    assert now.updates.tolist() == [0, 2]
    assert now.owed.tolist() == [5.0, 3.0]
    assert same(learn(now, False)[0], now)
    assert same(call_q.put_back(now, call_q.nothing_learned(now)), now)


def test_updates_write_networks_into_the_bank_without_a_copy_of_it() -> None:
    """Copies in every update once took more than half of the time of training."""
    state = AGENT.create(TASK, jnp.int32(0), np.random.default_rng(0))
    learn = jax.jit(AGENT.learn, donate_argnums=1)
    program = learn.lower(TASK, state, jax.random.key(0)).compile().as_text() or ""
    shape = ",".join(map(str, state.calls.online.head.layers[0].weight.shape))
    assert f"f32[{shape}]" in program
    assert not re.search(rf"f32\[{shape}\]\S* copy\(", program)


class Chosen(NamedTuple):
    """What option stacks say of where options were chosen."""

    machine: Any
    state: Any
    context: Any


def test_only_machines_that_are_ready_are_owed_updates_for_options_that_ended() -> None:
    """Two stacks of depth 2: the root's options ended twice, those of the other machine once, and one goes on."""
    bank = call_q.create(settings(), TASK.options, (2,), np.random.default_rng(0))
    stacks = Chosen(jnp.array([[0, 1], [0, 1]]), jnp.array([[0, 1], [1, 0]]), jnp.zeros((2, 2), jnp.int32))
    over = jnp.array([[True, True], [True, False]])
    for ready, owed in (([True, True], [3.0, 1.5]), ([True, False], [3.0, 0.0]), ([False, False], [0.0, 0.0])):
        counted = call_q.count_ended(bank, stacks, over, 1.5, jnp.array(ready))
        assert counted.owed.tolist() == owed
        assert [int(counted.ended[at].sum()) for at in ((0, 0), (0, 1), (1, 1), (1, 0))] == [1, 1, 1, 0]
