"""Both agents are agents by the protocol: mypy checks the types of this file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import rewardmachines as rm
from agents.two_rooms import CELLS, PROPOSITIONS, TwoRooms
from rewardmachines.agents.config import Layout
from rewardmachines.agents.crm.agent import CrmAgent, CrmState
from rewardmachines.agents.crm.config import crm_settings
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options.stack import OptionStack
from rewardmachines.agents.protocol import Agent, AnyAgent, Step, Task
from rewardmachines.agents.registry import (
    FLAT_HRL,
    HRL,
    AgentKind,
    agent_kind,
    agent_names,
    register_agent,
    unregister_agent,
)
from rewardmachines.agents.setup import OptionPlan, build_task, prepare
from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.lowered import initial_state, moves
from rewardmachines.traces import singletons

TREE = rm.compile_task("first ; g", tasks={"first": "k ; b"})
NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
CONFIG = HierarchicalDqnConfig(
    environments=4,
    batch=8,
    layout=Layout.SHARED,
    network=NETWORK,
    replay_size=64,
    replay_start=8,
    chunk=5,
    evaluate_steps=10,
    calls=CallConfig(network=NETWORK, replay_size=32),
)
ENVIRONMENT = TwoRooms()
N = CONFIG.environments

# mypy compares every method of both agents with the protocol here.
HIERARCHICAL: Agent[OptionTask, AgentState, OptionStack] = HierarchicalAgent(
    CONFIG, (CELLS,), ENVIRONMENT.actions, 2, ENVIRONMENT.recall
)
CRM: Agent[Task, CrmState, Array] = CrmAgent(
    crm_settings(CONFIG), (CELLS,), ENVIRONMENT.actions, 4, ENVIRONMENT.recall
)  # fmt: skip
AGENTS: dict[str, AnyAgent] = {"hrl": HIERARCHICAL, "crm": CRM}


def prepared(agent: str) -> tuple[Task, int]:
    """The task and the number of its root machine."""
    plan = prepare(TREE, agent_kind(agent), PROPOSITIONS)
    return build_task(plan, None), plan.lowered.root


def test_only_the_hierarchical_agent_is_given_options() -> None:
    crm = prepare(TREE, agent_kind("crm"), PROPOSITIONS)
    assert not isinstance(crm, OptionPlan)
    assert type(build_task(crm, None)) is Task
    for kind in (HRL, FLAT_HRL):
        plan = prepare(TREE, kind, PROPOSITIONS)
        assert isinstance(plan, OptionPlan)
        assert isinstance(build_task(plan, None), OptionTask)


def test_a_machine_without_calls_that_has_no_state_too_many_is_its_own_flat_form() -> None:
    first, second = PROPOSITIONS[:2]
    guarded = machine("t", [("u0", "u1", f"{first} & !{second}"), ("u1", "uA", second)])
    ends = [("u1", "uA", second), ("u2", "uA", second)]  # the same for two states, of which one is too many
    twice = machine("t", [("u0", "u1", f"{first} & !{second}"), ("u0", "u2", second), *ends])
    labels = singletons(PROPOSITIONS)
    for kind in (FLAT_HRL, agent_kind("crm")):
        own = Hierarchy("t", (guarded,), PROPOSITIONS)
        assert prepare(own, kind, PROPOSITIONS, labels).hierarchy == own
        smaller = prepare(Hierarchy("t", (twice,), PROPOSITIONS), kind, PROPOSITIONS, labels).hierarchy
        assert len(smaller["t"].states) == len(twice.states) - 1


@pytest.mark.parametrize("name", AGENTS)
def test_where_it_is_guided_an_agent_leaves_nothing_to_chance(name: str) -> None:
    """Exploration is certain in the beginning: without guidance, all actions occur."""
    (task, root), agent = prepared(name), AGENTS[name]
    now = jnp.zeros(N, jnp.int32)
    states = jax.vmap(lambda _: initial_state(task.tables, root))(now)
    seen = jax.vmap(lambda moment: ENVIRONMENT.recall(None, moment))(now)
    fresh = agent.create(task, jnp.int32(0), np.random.default_rng(0))
    plans = agent.begin_plans(task, states, now, jax.random.key(0))

    @jax.jit
    def actions(key: Any, guided: Any) -> Any:
        return agent.act(task, fresh, plans, states, seen, now, True, key, guided)[0]

    half = np.array([True, True, False, False])
    drawn = np.stack([actions(jax.random.key(seed), half) for seed in range(40)])
    assert set(drawn[:, 2:].flat) == set(range(ENVIRONMENT.actions))
    assert len(set(drawn[:, :2].flat)) == 1


def test_crm_does_not_count_steps_of_a_guide_as_explored() -> None:
    task, root = prepared("crm")
    now, label = jnp.zeros(N, jnp.int32), jnp.ones((N, 1), jnp.uint32)
    states = jax.vmap(lambda _: initial_state(task.tables, root))(now)
    called, after = jax.vmap(lambda state, bits: moves(task.tables, state, bits))(states, label)
    yes = jnp.ones(N, bool)
    step = Step(
        before=now, action=now, after=now, label=label, is_event=yes, from_state=states, called=called, to_state=after,
        is_over=~yes, is_dead_end=~yes, is_valid=yes, is_guided=jnp.array([True, False, False, False]),
    )  # fmt: skip
    state = CRM.create(task, jnp.int32(0), np.random.default_rng(0))
    state, _ = CRM.observe(task, state, CRM.begin_plans(task, states, now, jax.random.key(0)), step, jax.random.key(0))
    assert (int(state.steps), int(state.replay.written[0])) == (3, 4)


def test_agents_are_found_by_their_names() -> None:
    kind = AgentKind("other", type(CONFIG), HRL.build, lambda usual: usual)
    with pytest.raises(RewardMachineError, match="there is no agent 'other'; there are hrl, flat-hrl, crm"):
        agent_kind("other")
    register_agent(kind)
    register_agent(kind)  # again, as when a module is loaded twice
    try:
        assert agent_kind("other") is kind
        assert agent_names() == ("hrl", "flat-hrl", "crm", "other")
        with pytest.raises(DuplicateNameError, match="there is another agent called 'hrl'"):
            register_agent(replace(kind, name="hrl"))
        with pytest.raises(RewardMachineError, match="did you mean 'flat-hrl'"):
            agent_kind("flat-hlr")
    finally:
        unregister_agent("other")
    unregister_agent("hrl")
    assert agent_names() == ("hrl", "flat-hrl", "crm")
