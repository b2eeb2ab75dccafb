"""Policies outside the loop that trained them: they follow the hierarchy by labels, and name their options."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.two_rooms import CELLS, DOOR, PROPOSITIONS
from rewardmachines.agents.setup import OptionPlan
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict, initial_state, move_on_event, verdict_of
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.policy import FollowedHierarchy, Policy
from rewardmachines.rollout.tables import Percept, TaskTables
from rewardmachines.runs.run import play
from rollout.conftest import Trains
from rollout.rooms import MAX_STEPS, TREE, Case, make_rooms, training


def policy_of(run: Any) -> Policy:
    """The policy of a run in the compiled rooms."""
    plan = run.plan
    followed = FollowedHierarchy(
        plan.hierarchy, plan.lowered, plan.option_set if isinstance(plan, OptionPlan) else None
    )
    encoding = run.suite.encoding
    return Policy(run.driver.interaction.agent, run.state.agent, run.tables.task, followed, encoding)


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_a_policy_follows_its_hierarchy_by_labels_until_the_task_is_over(algorithm: str) -> None:
    policy = policy_of(training("jax", algorithm, Case("jax", algorithm).settings()))
    tree, before, state = policy.hierarchy, None, initial_state(policy.hierarchy)
    assert policy.propositions == PROPOSITIONS
    with pytest.raises(RewardMachineError, match="reset the policy"):
        policy.act(np.zeros(CELLS), ())
    labels: list[frozenset[str]] = [frozenset(label) for label in ((), "k", "k", (), "b", (), "k")]
    for number, label in enumerate(labels):
        state = move_on_event(tree, state, before, label)
        before = label
        if number == 0:
            policy.reset(label)
        if number == len(labels) - 1:
            with pytest.raises(RewardMachineError, match="the task is over"):
                policy.act(np.eye(CELLS)[DOOR], label)
            break
        assert policy.act(np.eye(CELLS)[DOOR], label) in range(4)
        assert policy.state == state
        assert policy.verdict is verdict_of(tree, state) is Verdict.NEITHER
        assert bool(policy.options) is (algorithm == "hrl")
        machines = [option.split(": ")[0] for option in policy.options]
        assert set(machines) <= {machine.name for machine in tree}
        assert not any("call" in option for option in policy.options[-1:]), "the innermost option acts"
    assert policy.verdict is verdict_of(tree, state) is Verdict.ACCEPT
    policy.reset()
    with pytest.raises(RewardMachineError, match=r"observations of shape \(20,\), not \(3,\)"):
        policy.act(np.zeros(3), ())


class Stepwise:
    """The same policy by the functions of the interaction, one after the other."""

    def __init__(self, run: Any) -> None:
        self.learned, self.key = run.state.agent, jax.random.key(0)
        root, even = jnp.asarray([run.plan.lowered.root], jnp.int32), jnp.ones((1, 1), jnp.float32)
        self.tables, encoding = TaskTables(run.tables.task, root, even), run.suite.encoding
        self.interaction = Interaction(replace(run.driver.interaction.agent, recall=encoding.recall), longest=0)
        self.label, self.action = encoding.label, cast("Any", None)

    def percept(self, seen: Any, label: Any) -> Percept:
        return Percept(
            jnp.asarray(seen[None]), jnp.asarray(self.label(label)[None]), end=None, is_cut=jnp.zeros(1, bool)
        )

    def reset(self, seen: Any, label: Any) -> None:
        first = jnp.zeros(1, jnp.int32)
        self.episode = self.interaction.begin(self.tables, first, first, self.percept(seen * 0, label), self.key)

    def act(self, seen: Any, label: Any) -> int:
        percept = self.percept(seen, label)
        self.key, act_key, follow_key = jax.random.split(self.key, 3)
        before = self.episode
        self.episode = before._replace(now=percept.memory)
        if self.action is not None:
            self.episode = self.interaction.follow(self.tables, before, self.action, percept, follow_key)[0]
        self.action, self.episode = self.interaction.exploit(self.tables, self.learned, self.episode, act_key)
        return int(self.action[0])


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_a_policy_acts_as_the_interaction_does(algorithm: str) -> None:
    """Its programs are one, with packed arrays, and yet every array of the episode is the same."""
    run = training("jax", algorithm, Case("jax", algorithm).settings(), seed=3)
    policy, other, chance = policy_of(run), Stepwise(run), np.random.default_rng(0)
    labels: list[set[str]] = [set(), set(), {"k"}, {"k"}, set(), {"b"}, set(), {"b"}, set(), set()]
    policy.reset(())
    other.reset(np.zeros(CELLS, np.float32), ())
    for label in labels:
        seen = chance.uniform(-1, 1, CELLS).astype(np.float32)
        assert policy.act(seen, label) == other.act(seen, label)
        mine, theirs = jax.tree.leaves(policy._now), jax.tree.leaves(other.episode)
        assert [(x.dtype, x.shape) for x in mine] == [(x.dtype, x.shape) for x in theirs]
        assert all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(mine, theirs, strict=True))
        assert policy.verdict is Verdict.NEITHER
    assert policy.options or algorithm == "crm"


def test_equal_agents_share_their_programs() -> None:
    """What differs in seeds alone is compiled once."""
    one, other = (policy_of(training("jax", "crm", Case("jax", "crm").settings(), seed=seed)) for seed in (0, 1))
    assert one._programs is other._programs


def test_an_episode_is_played_from_its_reset_to_its_end(trains: Trains, stack: ExitStack) -> None:
    run = trains(make_rooms, steps=1)
    env = HierarchyWrapper(make_rooms(), TREE)
    stack.callback(env.close)
    returned, length = play(env, run.policy())
    assert 0 < length <= MAX_STEPS
    assert (returned, length) == play(env, run.policy()), "nothing is left to chance"
    assert play(env, run.policy(), steps=2) == (0.0, 2)
    (evaluated,) = run.evaluate()
    assert evaluated.returns == (returned,)
    assert evaluated.lengths == (length,)
