"""Target networks that are moving averages and act in greedy episodes, and learning rates that fall."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.formula_bank import ACTIONS, SLOTS, TASK, bank, settings, some_rows
from agents.trees import same
from rewardmachines.agents.config import Layout
from rewardmachines.agents.double_dqn import slowed
from rewardmachines.agents.hierarchical_dqn import chosen_formulas, formula_q
from rewardmachines.agents.hierarchical_dqn.chosen_formulas import Chosen
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import FormulaBank
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.rollout.policy import FollowedHierarchy, Policy
from rollout.rooms import CONFIG, training


def close(one: Any, other: Any) -> bool:
    return all(np.allclose(a, b, atol=1e-6) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


@partial(jax.jit, static_argnums=0)
def learned(config: HierarchicalDqnConfig, start: FormulaBank, options: Any = TASK.options) -> FormulaBank:
    rows = some_rows()
    return formula_q.learn_shared(config, ACTIONS, start, options, rows, rows.before, rows.after)[0]


def test_the_target_of_heads_goes_a_part_of_the_way() -> None:
    config = settings(target=0.25)
    now = bank(config)
    for _ in range(3):
        before, now = now, learned(config, now)
        expected = jax.tree.map(lambda old, new: 0.75 * old + 0.25 * new, before.target, now.online)
        assert close(now.target, expected)
        assert not same(now.target, now.online)


def test_what_does_not_learn_stays_bit_for_bit() -> None:
    """Policies of a bank of skills are not changed by an average with themselves."""
    config = settings(target=0.3)
    start = bank(config)
    idle = TASK.options._replace(is_active=jnp.zeros(SLOTS, bool))
    assert same(learned(config, start, idle).target, start.target)


@pytest.mark.parametrize("times", [1, 3])
def test_targets_of_networks_go_as_far_as_by_single_steps(times: int) -> None:
    config = settings(layout=Layout.SEPARATE, target=0.25)
    start, slots = bank(config), jnp.array([1])
    shifted = jax.tree.map(lambda x: x[slots] + 1, start.online)
    chosen = Chosen(shifted, *chosen_formulas.take_out((start.optimizer, start.updates), slots))
    after = chosen_formulas.put_back(config, start, slots, chosen, jnp.array([True]), times)
    expected = jax.tree.map(lambda old: old.at[1].add(1 - 0.75**times), start.target)
    assert close(after.target, expected)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=3), st.integers(1, 10**5))
def test_changes_are_halved_after_so_many_updates_and_shrink_on(updates: list[int], halving: int) -> None:
    step = {"weight": np.ones((len(updates), 2, 2), np.float32), "bias": np.ones((len(updates), 2), np.float32)}
    slower = slowed(step, jnp.asarray(updates), halving)
    for changed in slower.values():
        expected = [halving / (halving + count) for count in updates]
        assert np.allclose(changed.reshape(len(updates), -1), np.array(expected)[:, None])
    assert np.allclose(slowed(step, jnp.full(len(updates), halving), halving)["bias"], 0.5)
    assert slowed(step, jnp.asarray(updates), 0) is step


@pytest.mark.parametrize("layout", Layout)
def test_a_late_update_changes_less(layout: Layout) -> None:
    """The first update of Adam is as large as the learning rate, whatever the gradient."""
    config = settings(layout=layout, halving_updates=10)
    start = bank(config)
    late = start._replace(updates=jnp.full(SLOTS, 30, jnp.int32), rounds=jnp.int32(30))
    first, slower = (_largest_change(config, one) for one in (start, late))
    assert first == pytest.approx(config.learning_rate, rel=1e-2)
    assert slower == pytest.approx(first / 4, rel=1e-2)


def _largest_change(config: HierarchicalDqnConfig, start: FormulaBank) -> float:
    if config.layout is Layout.SHARED:
        after = learned(config, start).online
    else:
        slots, rows = jnp.arange(SLOTS), some_rows()
        batch = formula_q.batch_for(config, TASK.options, rows, rows.before, rows.after, slots)
        chosen = Chosen(*chosen_formulas.take_out((start.online, start.optimizer, start.updates), slots))
        following = formula_q.values(config.layout, ACTIONS, start.target, rows.after)
        active = jnp.ones(SLOTS, bool)
        after = chosen_formulas.learn_chosen(config, ACTIONS, chosen, batch, following, active)[0].online
    changes = jax.tree.map(lambda new, old: float(jnp.abs(new - old).max()), after, start.online)
    return float(max(jax.tree.leaves(changes)))


def _preferring(networks: Any, action: int) -> Any:
    """Networks with one head after another that value an action above all others."""
    value = np.tile(np.arange(4) == action, networks.head.layers[-1].bias.shape[-1] // 4)
    return eqx.tree_at(lambda n: n.head.layers[-1].bias, networks, jnp.asarray(100.0 * value, jnp.float32))


@pytest.mark.parametrize(("rate", "expected"), [(0.5, 3), (20, 2)])
def test_the_average_acts_in_greedy_episodes(rate: float, expected: int) -> None:
    run = training("jax", "hrl", replace(CONFIG, target=rate))
    agent = run.state.agent
    online, target = (_preferring(agent.formulas.online, action) for action in (2, 3))
    learned = agent._replace(formulas=agent.formulas._replace(online=online, target=target))
    plan = run.plan
    assert isinstance(plan, OptionPlan)
    followed = FollowedHierarchy(plan.hierarchy, plan.lowered, plan.option_set)
    encoding = run.suite.encoding
    policy = Policy(run.driver.interaction.agent, learned, run.tables.task, followed, encoding)
    policy.reset()
    assert policy.act(np.zeros(run.suite.shape, np.float32), ()) == expected


def test_settings_out_of_range_are_refused() -> None:
    for name, value in (("target", -0.1), ("target", 1.5), ("halving_updates", -1), ("halving_updates", 2.5)):
        with pytest.raises(RewardMachineError, match=name.replace("_", " ")):
            settings(**{name: value})
