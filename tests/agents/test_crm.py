"""CRM as published: what a step means in every state of the machine, and when learning from it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.formula_bank import ACTIONS, KEY, settings
from agents.two_rooms import TwoRooms
from rewardmachines.agents.config import Layout
from rewardmachines.agents.crm.agent import CrmAgent, CrmInputs
from rewardmachines.agents.crm.config import CrmConfig, crm_settings
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options.option_set import power_set
from rewardmachines.agents.presets import preset
from rewardmachines.agents.protocol import Step
from rewardmachines.agents.registry import CRM
from rewardmachines.agents.replay import Transition, size_of
from rewardmachines.agents.setup import Plan, build_task, prepare, replay_start
from rewardmachines.core.formula import TRUE, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, step
from rewardmachines.lowered import Tables, initial_state
from rollout.rooms import training

ALPHABET = ("a", "b", "c", "lava")
TASKS = {
    "sequence": rm.compile_task("a ; b ; c", avoid=["lava"]),
    "twice": rm.compile_task("a ; a ; b"),
    "any order": rm.compile_task("(a & b) ; c", avoid=["lava"]),
    "calls": rm.compile_task("first ; c", tasks={"first": "a ; b"}),
}
NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
PUBLISHED = CrmConfig(
    environments=4,
    updates=4,
    batch=8,
    layout=Layout.SEPARATE,
    network=NETWORK,
    counts_experiences=True,
    event_rewards=False,
    replay_size=1000,
    replay_start=100,
    chunk=25,
    evaluate_every="100 episodes",
)


class Expected(NamedTuple):
    """An experience, as the published algorithm stores it."""

    next_state: str
    reward: float
    is_end: bool


def experiences(
    tree: Hierarchy, label: Label, *, is_event: bool, knows_events: bool, is_dead_end: bool
) -> dict[str, Expected]:
    """What one step brings, by state: in plain words, and by the definitions of `core` alone."""
    machine, found = tree[tree.root], {}
    for state in machine.states:
        if machine.is_terminal(state):
            continue
        moved = state
        if is_event or not knows_events:
            moved = step(tree, HierarchyState(tree.root, state, TRUE, ()), label).state
        accepts = moved in machine.accepting
        found[state] = Expected(moved, float(accepts), machine.is_terminal(moved) or is_dead_end)
    return found


def flat(name: str) -> tuple[Plan, Tables]:
    plan = prepare(TASKS[name], CRM, ALPHABET)
    return plan, plan.lowered.tables


def agent_of(plan: Plan, config: CrmConfig) -> CrmAgent:
    environment = TwoRooms()
    agent = CRM.build(config, plan.lowered.capacity, environment.observation_shape, 4, environment.recall)
    assert isinstance(agent, CrmAgent)
    return agent


def stored(plan: Plan, steps: Sequence[tuple[Label, bool, bool]]) -> Transition:
    """Steps as the replay memory holds them: label, whether it is an event, whether the environment ended by itself."""
    labels, is_event, is_dead_end = zip(*steps, strict=True)
    nothing = jnp.zeros(len(steps), jnp.int32)
    bits = jnp.stack([jnp.asarray(plan.lowered.bits.encode(label)) for label in labels])
    return Transition(
        before=nothing,
        action=nothing,
        after=nothing,
        label=bits,
        is_event=jnp.asarray(is_event),
        is_dead_end=jnp.asarray(is_dead_end),
    )


@pytest.mark.parametrize("knows_events", [False, True])
@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_step_brings_the_published_experience_for_every_state(name: str, knows_events: bool) -> None:
    """All steps that there are: each label, changed or not, where the environment ends by itself or does not."""
    plan, tables = flat(name)
    agent = agent_of(plan, replace(PUBLISHED, event_rewards=knows_events))
    steps = list(product(power_set(ALPHABET), (False, True), (False, True)))
    found = jax.tree.map(np.asarray, jax.jit(agent.experiences)(tables, stored(plan, steps)))
    names = plan.lowered.states[plan.hierarchy.root]
    for number, (label, is_event, is_dead_end) in enumerate(steps):
        expected = experiences(
            plan.hierarchy, label, is_event=is_event, knows_events=knows_events, is_dead_end=is_dead_end
        )
        told = {
            state: Expected(
                names[found.next_state[i, number]], float(found.reward[i, number]), bool(found.is_end[i, number])
            )
            for i, state in enumerate(names)
            if state in expected
        }
        assert told == expected


def test_a_label_that_stays_counts_in_experiences_as_published_and_not_with_events() -> None:
    """Standing on `a` leads on from the second state of `a ; a ; b`, though the machine that acts waits there."""
    plan, tables = flat("twice")
    a = frozenset({"a"})
    expected = [
        experiences(plan.hierarchy, a, is_event=False, knows_events=k, is_dead_end=False) for k in (False, True)
    ]
    assert expected[0] != expected[1]
    row = jax.tree.map(lambda x: x[0], stored(plan, [(a, False, False)]))
    moved = [
        int(agent_of(plan, replace(PUBLISHED, event_rewards=knows)).experience(tables, jnp.int32(0), row).next_state)
        for knows in (False, True)
    ]
    assert moved[0] != moved[1] == 0


def test_the_preset_paper_is_the_published_crm() -> None:
    for domain, setting, annealing in (("craftworld", "frl", 100_000_000), ("waterworld", "wod", 2_000_000)):
        config, fast = (preset(name, domain, setting, "crm") for name in ("paper", "fast"))
        assert isinstance(config, CrmConfig)
        assert isinstance(fast, CrmConfig)
        assert config.counts_experiences
        assert not config.event_rewards
        assert (config.replay_size, config.replay_start, config.batch) == (1_000_000, 100_000, 32)
        assert (config.exploration.steps, config.target, config.discount) == (annealing, 1500, 0.99)
        assert config.updates == config.environments
        assert (fast.counts_experiences, fast.event_rewards) == (False, True)


def test_crm_discounts_with_its_own_discount() -> None:
    assert preset("fast", "craftworld", "op", "crm").discount == 0.99
    assert preset("fast", "craftworld", "frl", "crm").discount == 0.97
    plan, tables = flat("sequence")
    row = stored(plan, [(frozenset(), False, False)])
    agent = agent_of(plan, replace(PUBLISHED, discount=0.5))
    inputs = CrmInputs(jnp.zeros((1, 1)), jnp.zeros(1, jnp.int32))
    assert np.unique(agent._batch(agent.experiences(tables, row), row, inputs, inputs.observation).discount)[-1] == 0.5


# -- how much there is to learn from

ROOMS = rm.compile_task("k ; b ; g")
"""With three states that are not terminal."""


@pytest.mark.parametrize(("start", "first_steps"), [(100, 34), (99, 33), (90, 30), (1, 1)])
def test_learning_starts_when_the_memory_holds_enough_experiences(start: int, first_steps: int) -> None:
    """Three for each step."""
    plan = prepare(ROOMS, CRM, ("k", "b", "g"))
    config = replace(PUBLISHED, replay_start=start)
    assert replay_start(config, build_task(plan, None)) == first_steps
    assert replay_start(replace(config, counts_experiences=False), build_task(plan, None)) == start


def test_from_the_first_chunk_with_enough_experiences_on_there_is_an_update_for_every_step() -> None:
    run = training("jax", "crm", replace(PUBLISHED, replay_start=600), tree=ROOMS)
    updates = []
    for _ in range(4):  # chunks of 100 steps: the third begins with 600 experiences
        run.advance()
        updates.append(int(run.state.agent.updates))
    assert updates == [0, 0, 100, 200]
    assert int(run.state.agent.steps) == int(run.state.agent.replay.written[0]) == 400


def test_the_memory_holds_as_many_experiences_as_the_settings_say() -> None:
    sizes = [
        size_of(training("jax", "crm", replace(PUBLISHED, counts_experiences=counts), tree=ROOMS).state.agent.replay)
        for counts in (True, False)
    ]
    assert sizes == [333, 1000]  # of three experiences each, and of steps


@pytest.mark.parametrize("layout", Layout)
def test_crm_expects_nothing_after_the_environment_has_ended_by_itself(layout: Layout) -> None:
    """Even if the machine knows nothing of it."""
    plan = prepare(rm.compile_task("g"), CRM, ("g",))
    config = crm_settings(settings(layout=layout))
    agent: Any = CRM.build(config, plan.lowered.capacity, (2,), ACTIONS, lambda _, memory: memory)
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
