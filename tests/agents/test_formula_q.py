"""Q-functions of formulas: what rewards them, which of them learn, and when their targets are copied."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.formula_bank import ACTIONS, KEY, SLOTS, TASK, bank, settings, some_rows
from agents.trees import same
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import chosen_formulas, formula_q
from rewardmachines.agents.hierarchical_dqn.chosen_formulas import Chosen
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.networks import Body, NetworkConfig


@pytest.mark.parametrize("event_rewards", [True, False])
def test_formulas_are_rewarded_by_labels_that_satisfy_them(event_rewards: bool) -> None:
    """`b` is bit 0, `g` bit 1, `k` bit 2; the third row repeats its label, and the first one ends the episode."""
    rows = some_rows()._replace(is_dead_end=jnp.array([True, False, False, False]))
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
    config = settings(layout=Layout.SEPARATE, target=1)
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


def test_targets_of_heads_are_copied_when_it_is_time() -> None:
    config = settings(target=3)
    now, rows = bank(config), some_rows()
    first = now.online
    learn = jax.jit(lambda b: formula_q.learn_shared(config, ACTIONS, b, TASK.options, rows, rows.before, rows.after))
    for round_number in range(1, 7):
        before = now
        now, _ = learn(now)
        is_due = round_number % 3 == 0
        assert same(now.target, now.online if is_due else before.target)
        assert not same(now.online, first)


@pytest.mark.parametrize(("updates", "times", "is_due"), [(0, 2, False), (1, 2, True), (2, 1, True), (3, 2, False)])
def test_targets_of_networks_are_copied_when_a_round_passes_the_period(updates: int, times: int, is_due: bool) -> None:
    config = settings(layout=Layout.SEPARATE, target=3)
    start = bank(config)._replace(updates=jnp.full(SLOTS, updates, jnp.int32))
    slots = jnp.array([1])
    shifted = jax.tree.map(lambda x: x[slots] + 1, start.online)
    chosen = Chosen(shifted, *chosen_formulas.take_out((start.optimizer, start.updates), slots))
    after = chosen_formulas.put_back(config, start, slots, chosen, jnp.array([True]), times)
    expected = jax.tree.map(lambda old, new: old.at[1].set(new[0]), start.target, shifted) if is_due else start.target
    assert same(after.target, expected)


def by_place(network: Any) -> dict[str, Any]:
    """The arrays of a network, or of an optimizer, by their place in the tree."""
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(network)}


@pytest.mark.parametrize("hidden", [(SLOTS * ACTIONS,), (3, SLOTS * ACTIONS), (SLOTS * ACTIONS, 3)])
@pytest.mark.parametrize("rule", ["adam", "rmsprop"])
def test_renewing_a_head_changes_no_other_weight_even_if_a_hidden_layer_is_as_large_as_all_heads(
    hidden: tuple[int, ...], rule: str
) -> None:
    config = settings(network=NetworkConfig(Body.FLAT, hidden=hidden), optimizer=rule, target=1)
    rows, now = some_rows(), bank(config)
    for _ in range(2):
        now, _ = formula_q.learn_shared(config, ACTIONS, now, TASK.options, rows, rows.before, rows.after)
    renewed = formula_q.renewed(config, now, [1], (2,), ACTIONS, np.random.default_rng(1))
    own = slice(ACTIONS, 2 * ACTIONS)
    for part in ("online", "target", "optimizer"):
        before, after = by_place(getattr(now, part)), by_place(getattr(renewed, part))
        heads = {place for place in before if f".layers[{len(hidden)}]" in place}
        assert len(heads) >= 2  # weights and biases; an optimizer may have several numbers for each
        for place, old in before.items():
            changed = np.asarray(old) != np.asarray(after[place])
            if place in heads:
                assert changed[..., own].any()
                changed[..., own] = False
            assert not changed.any(), f"{part}{place}"
