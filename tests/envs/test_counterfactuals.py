"""Counterfactual experiences are what the hierarchy itself would have done, and what CRM learns from."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rewardmachines as rm
from envs.spoken_labels import END, walk, wrapped
from rewardmachines.agents.crm.agent import CrmAgent
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.replay import Transition
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.traversal import Verdict, verdict_of
from rewardmachines.envs.gymnasium.rewards import Potential, Shaping, reward_function
from rewardmachines.envs.gymnasium.wrappers import CounterfactualMachine, Counterfactuals
from rewardmachines.lowered import lower
from strategies import PROPOSITIONS, hierarchies, labels, words

DISCOUNT = 0.9


def reward(task: float, own: float) -> float:
    return 2 * task - own


def rows_of(flat: rm.Hierarchy) -> list[str]:
    """The undecided states in the order of the rows."""
    machine = flat[flat.root]
    return [state for state in machine.states if state not in machine.accepting | machine.rejecting]


@given(hierarchy=hierarchies(), traces=st.lists(words, max_size=6), before=labels, label=labels, ends=st.booleans())
def test_experiences_are_those_of_the_hierarchy_had_it_been_led_elsewhere(
    hierarchy: rm.Hierarchy, traces: list[list[Label]], before: Label, label: Label, ends: bool
) -> None:
    """The core is the judge: it leads the hierarchy, never flattened, to a state and takes the step there."""
    flat = rm.minimize(rm.flatten(hierarchy))
    machine = CounterfactualMachine(flat, reward, Shaping(DISCOUNT))
    given = machine.of(before, label, 0.5, ends)
    states, potential = flat[flat.root].states, Potential(hierarchy)
    assert [states[i] for i in given.task.argmax(axis=1)] == rows_of(flat)
    for trace in [[], *traces]:
        *_, here = rm.traverse(hierarchy, trace)
        *_, row = rm.traverse(flat, trace)
        if verdict_of(hierarchy, here) is not Verdict.NEITHER:
            continue
        moving = [] if before == label else [label]
        *_, there = rm.traverse(hierarchy, [*trace, *moving])
        *_, moved = rm.traverse(flat, [*trace, *moving])
        verdict = verdict_of(hierarchy, there)
        is_over = ends or verdict is not Verdict.NEITHER
        shaped = DISCOUNT * (0 if is_over else potential.of(there)) - potential.of(here)
        i = rows_of(flat).index(row.state)
        assert states[given.next_task[i].argmax()] == moved.state
        assert given.terminated[i] == is_over
        assert given.reward[i] == pytest.approx(2.0 * (verdict is Verdict.ACCEPT) - 0.5 + shaped)


@given(hierarchy=hierarchies(), first=labels, taken=st.lists(st.integers(0, END), min_size=1, max_size=8))
def test_among_the_experiences_of_a_step_is_the_step_itself(
    hierarchy: rm.Hierarchy, first: Label, taken: list[int]
) -> None:
    env = wrapped(hierarchy, first=first, append_state=True, counterfactuals=True, reward=reward, shaping=DISCOUNT)
    seen = env.reset(seed=0)[0]
    if verdict_of(hierarchy, env.hierarchy_state) is not Verdict.NEITHER:
        return
    for observation, paid, terminated, _, info in walk(env, taken):
        others: Counterfactuals = info["counterfactuals"]
        width = others.task.shape[1]
        (i,) = np.flatnonzero((others.task == seen[-width:]).all(axis=1))
        assert (others.next_task[i] == observation[-width:]).all()
        assert others.reward[i] == pytest.approx(paid)
        assert others.terminated[i] == terminated
        seen = observation


@settings(max_examples=25)
@given(hierarchy=hierarchies(max_height=2), before=labels, label=labels, ends=st.booleans())
def test_experiences_are_those_that_crm_learns_from(
    hierarchy: rm.Hierarchy, before: Label, label: Label, ends: bool
) -> None:
    flat = rm.minimize(rm.flatten(hierarchy))
    lowered = lower(flat, propositions=PROPOSITIONS)
    count = len(flat[flat.root].states)
    agent = CrmAgent(config=CrmConfig(), shape=(1,), actions=1, states=count, recall=lambda world, memory: memory)
    nothing = jnp.zeros(1)
    row = Transition(
        before=nothing,
        action=jnp.uint8(0),
        after=nothing,
        label=jnp.asarray(lowered.bits.encode(label)),
        is_event=jnp.bool_(before != label),
        is_dead_end=jnp.bool_(ends),
    )
    given = CounterfactualMachine(flat, reward_function("hierarchy"), None).of(before, label, 0.5, ends)
    for i, state in enumerate(given.task.argmax(axis=1)):
        one = agent.experience(lowered.tables, jnp.int32(state), row)
        assert int(one.next_state) == given.next_task[i].argmax()
        assert (float(one.reward), bool(one.is_end)) == (given.reward[i], given.terminated[i])


def test_counterfactuals_need_the_state_in_observations() -> None:
    with pytest.raises(RewardMachineError, match="append_state=True"):
        wrapped(rm.compile_task("a"), counterfactuals=True)
