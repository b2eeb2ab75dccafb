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
from agents.two_rooms import PROPOSITIONS, TwoRooms
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.chunk_metrics import Assignments
from rewardmachines.agents.config import Algorithm, Layout
from rewardmachines.agents.crm.agent import CrmAgent, Inputs
from rewardmachines.agents.crm.config import CrmConfig, earlier_crm_settings
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig, earlier_hierarchical_settings
from rewardmachines.agents.loop import Limits, Trainer
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options.menu import power_set
from rewardmachines.agents.presets import crm_preset, preset
from rewardmachines.agents.protocol import Step
from rewardmachines.agents.replay import Transition, size_of
from rewardmachines.agents.setup import Plan, build_agent, build_task, prepare, replay_start
from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.core.formula import TRUE, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, step
from rewardmachines.lowered import Tables, initial_state
from rewardmachines.runs.records import from_plain, to_plain

ALPHABET = ("a", "b", "c", "lava")
TASKS = {
    "sequence": rm.compile_task("a ; b ; c", avoid=["lava"]),
    "twice": rm.compile_task("a ; a ; b"),
    "any order": rm.compile_task("(a & b) ; c", avoid=["lava"]),
    "calls": rm.compile_task("first ; c", tasks={"first": "a ; b"}),
}
NETWORK = NetworkConfig(Body.FLAT, hidden=(8,))
PUBLISHED = CrmConfig(
    environments=4, updates=4, batch=8, layout=Layout.SEPARATE, network=NETWORK, counts_experiences=True,
    event_rewards=False, replay_size=1000, replay_start=100, chunk=25, evaluate_episodes=100,
)  # fmt: skip


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
    plan = prepare(TASKS[name], Algorithm.CRM, ALPHABET)
    return plan, plan.lowered.tables


def agent_of(plan: Plan, config: CrmConfig) -> CrmAgent:
    environment = TwoRooms()
    agent = build_agent(plan, config, environment.observation_shape, 4, environment.recall)
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
        config = crm_preset("paper", domain, setting)
        assert config.counts_experiences
        assert not config.event_rewards
        assert (config.replay_size, config.replay_start, config.batch) == (1_000_000, 100_000, 32)
        assert (config.annealing_steps, config.target_period, config.discount) == (annealing, 1500, 0.99)
        assert config.updates == config.environments
        fast = crm_preset("fast", domain, setting)
        assert (fast.counts_experiences, fast.event_rewards) == (False, True)
        assert (config, fast) == tuple(preset(name, domain, setting, Algorithm.CRM) for name in ("paper", "fast"))


def test_crm_discounts_with_its_own_discount() -> None:
    assert crm_preset("fast", "craftworld", "op").discount == 0.99
    assert crm_preset("fast", "craftworld", "frl").discount == 0.97
    plan, tables = flat("sequence")
    row = stored(plan, [(frozenset(), False, False)])
    agent = agent_of(plan, replace(PUBLISHED, discount=0.5))
    inputs = Inputs(jnp.zeros((1, 1)), jnp.zeros(1, jnp.int32))
    assert np.unique(agent._batch(agent.experiences(tables, row), row, inputs, inputs.observation).discount)[-1] == 0.5


def test_settings_of_earlier_versions_become_those_of_one_agent() -> None:
    """They had the settings of all agents in one record; CRM's discount was that of calls."""
    today = to_plain(replace(PUBLISHED, discount=0.97))
    earlier = {**to_plain(HierarchicalDqnConfig()), **today, "discount": 0.9, "call_discount": 0.97}
    with pytest.raises(SyntaxProblem, match="means nothing there"):
        from_plain(CrmConfig, earlier, "config")
    assert from_plain(CrmConfig, earlier_crm_settings(earlier), "config") == replace(PUBLISHED, discount=0.97)
    assert earlier["discount"] == 0.9, "what was read is left as it was"
    assert earlier_crm_settings(today) == today
    hierarchical = HierarchicalDqnConfig(batch=7)
    earlier = {**to_plain(hierarchical), "counts_experiences": False}
    assert from_plain(HierarchicalDqnConfig, earlier_hierarchical_settings(earlier), "config") == hierarchical


# -- how much there is to learn from

ROOMS = rm.compile_task("k ; b ; g")
"""With three states that are not terminal."""
LABELS: list[Label] = [frozenset(), *(frozenset({p}) for p in PROPOSITIONS)]


class Rooms:
    """An agent in two rooms, and all that a chunk needs."""

    def __init__(self, config: CrmConfig) -> None:
        self.plan, environment = prepare(ROOMS, Algorithm.CRM, PROPOSITIONS, LABELS), TwoRooms()
        self.trainer, self.task = Trainer(agent_of(self.plan, config), environment, 30), build_task(self.plan, None)
        self.everywhere = Assignments(jnp.asarray(self.plan.lowered.roots, jnp.int32), jnp.ones((1, 1)))
        self.start = replay_start(config, self.task)
        self.state = self.trainer.begin(self.task, self.everywhere, 0)
        self._chunk = jax.jit(self.trainer.chunk_until)

    def advance(self, steps: int) -> None:
        """One chunk, after so many steps."""
        limits = Limits(jnp.int32(10**6), jnp.int32(self.start - steps))
        self.state, _ = self._chunk(self.task, self.everywhere, self.state, limits)


@pytest.mark.parametrize(("start", "first_steps"), [(100, 34), (99, 33), (90, 30), (1, 1)])
def test_learning_starts_when_there_are_so_many_experiences(start: int, first_steps: int) -> None:
    rooms = Rooms(replace(PUBLISHED, replay_start=start))
    assert rooms.start == first_steps
    rooms.advance(0)  # 25 vector steps of four environments
    idle = -(-first_steps // 4) - 1
    """Vector steps after which there is not enough yet."""
    assert int(rooms.state.agent.steps) == int(rooms.state.agent.replay.written[0]) == 100
    assert int(rooms.state.agent.updates) == 4 * (25 - idle)


def test_a_chunk_later_there_is_an_update_for_every_step() -> None:
    rooms = Rooms(replace(PUBLISHED, replay_start=600))
    assert rooms.start == 200
    updates = []
    for chunk in range(4):
        rooms.advance(100 * chunk)
        updates.append(int(rooms.state.agent.updates))
    assert updates == [0, 4, 104, 204]  # the step that completes the 600 experiences is learned from


def test_the_memory_holds_so_many_experiences() -> None:
    rooms, ours = Rooms(PUBLISHED), Rooms(replace(PUBLISHED, counts_experiences=False))
    assert size_of(rooms.state.agent.replay) == 333  # of three experiences each
    assert (size_of(ours.state.agent.replay), ours.start) == (1000, 100)


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
