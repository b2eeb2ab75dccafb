"""The main functions of the compiled modules are called, to be run with the checks of shapes on.

Nothing is compiled: JAX traces the functions, and shapes are checked while it does. What the functions compute is the
subject of the other tests. `test_shapes.py` runs this file in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int32, PRNGKeyArray, TypeCheckError

from agents.two_rooms import CELLS, PROPOSITIONS, TwoRooms
from lhrm.toy import SMALL, TOY, TREES
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import call_q
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent, enlarged
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options import stack
from rewardmachines.agents.options.stack import OptionStack
from rewardmachines.agents.protocol import Step, Task
from rewardmachines.agents.registry import HRL, agent_kind
from rewardmachines.agents.setup import build_task, prepare
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.library import find
from rewardmachines.lowered import State, initial_state, lower, moves, step, verdict
from rewardmachines.lowered.formula import holds
from rewardmachines.rollout import interaction
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.rollout.tables import Episodes, Percept, TaskTables
from rewardmachines.rollout.training import Training
from shapes.records import check_record

N = 6
"""Environments; a number that no other axis has."""
KEY = jax.random.key(0)
TINY = NetworkConfig(Body.FLAT, hidden=(3,))


def test_hierarchies_are_lowered_and_stepped() -> None:
    lowered = lower(find("craftworld/cake+lava"))
    check_record(lowered.tables)
    state = initial_state(lowered.tables, lowered.root)
    check_record(state)
    for label in (("wheat",), (), ("sugarcane", "workbench")):
        label_bits = jnp.asarray(lowered.bits.encode(label))
        called, state = moves(lowered.tables, state, label_bits)
        check_record(called)
        check_record(state)
    verdict(lowered.tables, step(lowered.tables, state, label_bits))


ONE, TWO = jnp.zeros(1, jnp.uint32), jnp.zeros((2, 1), jnp.uint32)
ZERO_TWICE = jnp.zeros(2, jnp.int32)
WRONG_CALLS: dict[str, Callable[[], object]] = {
    "lowered": lambda: holds(TWO, TWO[:1], ONE),
    "agents.options": lambda: stack.cleared(stack.empty_stack(3, ONE), ZERO_TWICE, jnp.bool_(True)),
    "agents.hierarchical_dqn": lambda: call_q.select(ONE, ZERO_TWICE),
    "rollout.interaction": lambda: interaction.example_of(jnp.ones(3, bool), ZERO_TWICE, ZERO_TWICE),
}


@pytest.mark.parametrize("package", WRONG_CALLS)
def test_a_wrong_call_is_refused(package: str) -> None:
    with pytest.raises(TypeCheckError):
        WRONG_CALLS[package]()


def agent_with(config: HierarchicalDqnConfig, depth: int) -> HierarchicalAgent:
    return HierarchicalAgent(config, (CELLS,), TwoRooms().actions, depth, TwoRooms().recall)


@pytest.mark.parametrize("layout", Layout)
def test_the_hierarchical_agent_acts_observes_and_learns(layout: Layout) -> None:
    config = HierarchicalDqnConfig(
        environments=N,
        layout=layout,
        network=TINY,
        batch=4,
        replay_size=64,
        replay_start=1,
        calls=CallConfig(network=TINY, replay_size=32, replay_start=1),
    )
    task = build_task(prepare(TREES["all"], HRL, PROPOSITIONS), None)
    assert isinstance(task, OptionTask)
    check_record(task.options)
    states = jax.vmap(partial(initial_state, task.tables))(jnp.zeros(N, jnp.int32))
    jax.eval_shape(partial(one_round, agent_with(config, depth=2)), task, states, KEY)


def one_round(agent: HierarchicalAgent, task: OptionTask, states: State, key: PRNGKeyArray) -> AgentState:
    """A step of N environments, from the beginning of their episodes."""
    now, yes, no = jnp.zeros(N, jnp.int32), jnp.ones(N, bool), jnp.zeros(N, bool)
    observations = jax.vmap(partial(agent.recall, None))(now)
    fresh = agent.create(task, jnp.int32(0), np.random.default_rng(0))
    known = enlarged(fresh, fresh)
    stacks = agent.begin_plans(task, states, now, key)
    check_record(stacks, "N")
    for explores, guided in ((True, None), (True, no), (False, yes)):
        actions, known, stacks = agent.act(task, known, stacks, states, observations, now, explores, key, guided)
    taken = step_of(task, states, now, actions)
    agent.follow(task, stacks, taken, key)
    known, stacks = agent.observe(task, known, stacks, taken, key)
    check_record(stacks, "N")
    check_record(known.replay.rows, "R")
    check_record(known.call_replay.rows, "R")
    known, losses = agent.learn(task, known, key, jnp.bool_(True))
    check_record(losses)
    check_record(known.formulas)
    check_record(known.calls)
    agent.exploration(task, known)
    return known


def step_of(task: Task, states: State, now: Int32[Array, " N"], actions: Int32[Array, " N"]) -> Step:
    """Every environment shows the first proposition, which is new."""
    yes, no = jnp.ones(N, bool), jnp.zeros(N, bool)
    label = jnp.ones((N, 1), jnp.uint32)
    called, after = jax.vmap(partial(moves, task.tables))(states, label)
    taken = Step(
        before=now,
        action=actions,
        after=now,
        label=label,
        is_event=yes,
        from_state=states,
        called=called,
        to_state=after,
        is_over=no,
        is_dead_end=no,
        is_valid=yes,
        is_guided=no,
    )
    check_record(taken)
    return taken


def rooms(algorithm: str) -> Training | Lhrm:
    """Training or LHRM in two rooms."""
    if algorithm == "lhrm":
        return Lhrm(JaxSuite(TOY, tuple(TREES)), SMALL, Solvers(cores=1))
    kind = agent_kind(algorithm)
    plan = prepare(TREES["all"], kind, PROPOSITIONS)
    return Training(JaxSuite(TOY, ["all"], given=True), kind, plan, kind.settings(SMALL.agent))


@pytest.mark.parametrize("algorithm", ["hrl", "crm", "lhrm"])
def test_an_agent_takes_vector_steps_in_one_run_and_in_several(algorithm: str) -> None:
    run = rooms(algorithm)
    tables, driver = run.tables, run.driver
    assert isinstance(driver, JaxDriver)
    check_record(tables)
    check_record(tables.task.tables)
    if isinstance(tables.task, OptionTask):
        check_record(tables.task.options)
    if tables.exploration is not None:
        check_record(tables.exploration)
    jax.eval_shape(partial(one_vector_step, driver.interaction), tables, KEY)
    state = driver.shapes(tables)
    ready, most = jnp.ones(2, bool), jnp.ones(2, jnp.int32)
    chunk, evaluate = driver.rollout.chunk, driver.rollout.evaluate
    jax.eval_shape(chunk, tables, driver.truth, state, ready[0], most[0])
    twice = jax.eval_shape(partial(jax.tree.map, lambda x: jnp.stack([x, x])), (tables, state))
    jax.eval_shape(partial(chunk, many=True), twice[0], driver.truth, twice[1], ready, most)
    wanted = np.ones(len(run.tasks), bool)
    jax.eval_shape(evaluate, *driver.evaluation(tables, state.agent, wanted, 0))
    jax.eval_shape(partial(begun, driver), tables, KEY)


def begun(driver: JaxDriver, tables: TaskTables, key: PRNGKeyArray) -> Episodes:
    """Episodes at their beginning, with the states of their environments."""
    episodes, environments = driver.rollout.begin(tables, driver.truth, key)
    check_episodes(episodes)
    check_record(environments)
    return episodes


def one_vector_step(interaction: Interaction, tables: TaskTables, key: PRNGKeyArray) -> Episodes:
    """What the agent does in N environments, from the beginning of their episodes: exploring, then greedily."""
    zero, no = jnp.zeros(N, jnp.int32), jnp.zeros(N, bool)
    percept = Percept(memory=zero, label=jnp.zeros((N, 1), jnp.uint32), end=zero, is_cut=no)
    check_record(percept)
    episodes = interaction.begin(tables, zero, zero, percept, key)
    check_episodes(episodes)
    agent = interaction.agent.create(tables.task, jnp.int32(0), np.random.default_rng(0))
    for shown, is_resting in ((percept, None), (percept._replace(is_live=~no), no)):
        actions, agent, episodes = interaction.explore(tables, agent, episodes, key, is_resting)
        check_episodes(episodes)
        agent, episodes, endings = interaction.observe(tables, agent, episodes, actions, shown, key)
        check_record(endings)
        check_episodes(episodes)
    actions, episodes = interaction.exploit(tables, agent, episodes, key)
    episodes, _, _ = interaction.follow(tables, episodes, actions, percept, key)
    check_episodes(episodes)
    return episodes


def check_episodes(episodes: Episodes) -> None:
    check_record(episodes)
    check_record(episodes.belief, "N")
    if isinstance(episodes.plans, OptionStack):
        check_record(episodes.plans, "N")
    if episodes.search is not None:
        check_record(episodes.search)
        check_record(episodes.search.option, "N")
