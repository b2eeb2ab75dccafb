"""What a run of LHRM begins with: nothing but its tasks, or also the machines and policies of a bank of skills."""

from __future__ import annotations

from dataclasses import replace

import jax
from jaxtyping import PRNGKeyArray

from rewardmachines.agents.bank.agent import with_calls
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, enlarged
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Chance, put_into
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.crew import Knowledge
from rewardmachines.lhrm.curriculum import Curriculum, curriculum
from rewardmachines.lhrm.machine_pool import Pool, TaskSpec
from rewardmachines.lhrm.option_registry import OPTION_ROOM, OptionRegistry, room_for
from rewardmachines.lhrm.worlds.protocol import Driver, RunState, TaskWorlds


def first_pool(worlds: TaskWorlds, bank: Bank | None) -> Pool:
    """The machines at the beginning: none for the tasks, and those of the bank, which any task may call.

    Raises:
        RewardMachineError: A task has the name of a machine of the bank.
    """
    return Pool(worlds.tasks, worlds.propositions, given=() if bank is None else bank.machines)


def first_curriculum(worlds: TaskWorlds, config: LhrmConfig) -> Curriculum:
    """The curriculum at the beginning: the first level, and returns of 0."""
    return curriculum(
        [task.level for task in worlds.tasks],
        worlds.curriculum_instances,
        weight=config.agent.curriculum_weight,
        threshold=config.threshold,
    )


def first_registry(worlds: TaskWorlds, bank: Bank | None) -> OptionRegistry:
    """The options at the beginning: none, or those of the bank, whose Q-functions keep their numbers."""
    if bank is None:
        return OptionRegistry(room=room_for(worlds.tasks, worlds.propositions))
    given = tuple(TaskSpec(name, 1) for name in bank.names)
    room, sizes = room_for((*worlds.tasks, *given), worlds.propositions), bank.sizes
    registry = OptionRegistry(
        room=replace(room, states=max(room.states, sizes.states)),
        option_room=replace(
            OPTION_ROOM, slots=max(OPTION_ROOM.slots, sizes.slots), outputs=max(OPTION_ROOM.outputs, sizes.outputs)
        ),
        contexts=bank.contexts,
        fatal=bank.fatal,
    )
    registry.tell_again(bank.changes)
    return registry


def first_state(
    driver: Driver, knowledge: Knowledge, chance: Chance, key: PRNGKeyArray, config: LhrmConfig, bank: Bank | None
) -> RunState:
    """All arrays at the beginning: the agent knows nothing, or what is in the bank.

    Args:
        driver: What acts.
        knowledge: The machines and options, as arrays.
        chance: Draws the first weights of networks.
        key: For what is left to chance while acting.
        config: The settings.
        bank: The bank, if there is one.
    """
    state = driver.create(knowledge, chance, key)
    if bank is None:
        return state
    agent = _with_formulas(state.agent, bank, config.agent)
    return state._replace(agent=_with_given_calls(agent, bank, knowledge, config.agent))


def grown_state(
    driver: Driver, knowledge: Knowledge, chance: Chance, before: RunState, config: LhrmConfig, bank: Bank | None
) -> RunState:
    """Larger arrays, with new episodes in all environments. Formulas keep their Q-functions and what is remembered.

    Args:
        driver: What acts.
        knowledge: The machines and options, as arrays of the larger sizes.
        chance: Draws the first weights of networks.
        before: The smaller arrays.
        config: The settings.
        bank: The bank, whose machines keep their policies.
    """
    fresh = driver.create(knowledge, chance, before.key)
    agent = enlarged(fresh.agent, before.agent)
    if bank is not None:
        agent = _with_given_calls(agent, bank, knowledge, config.agent)
    return fresh._replace(agent=agent)


def _with_formulas(agent: AgentState, bank: Bank, config: HierarchicalDqnConfig) -> AgentState:
    """An agent with the bank's policies of formulas, in arrays that may be larger. They explore little."""
    fresh, known = agent.formulas, bank.networks.formulas
    online = jax.tree.map(
        lambda new, old: put_into(new, tuple(slice(0, size) for size in old.shape), old), fresh.online, known
    )
    steps = put_into(fresh.steps, sorted(set(bank.formulas.values())), config.annealing_steps)
    target = jax.device_put(online, may_alias=False)
    return agent._replace(formulas=fresh._replace(online=online, target=target, steps=steps))


def _with_given_calls(agent: AgentState, bank: Bank, knowledge: Knowledge, config: HierarchicalDqnConfig) -> AgentState:
    """An agent whose machines that are given choose as in the bank; they come after those of the tasks."""
    numbers = dict(enumerate(bank.names, start=knowledge.root.shape[0]))
    return agent._replace(calls=with_calls(agent.calls, bank, numbers, config))
