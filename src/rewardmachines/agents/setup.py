"""An environment, a hierarchy and an agent put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from rewardmachines.agents.bank.bank import Bank, Interface
from rewardmachines.agents.bank.skills import Skills
from rewardmachines.agents.batches import FreshInstances
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.crm.agent import CrmAgent
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.crm.machine import experiences_per_step
from rewardmachines.agents.hierarchical_dqn.agent import HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.loop import Trainer
from rewardmachines.agents.options.ahead import AheadSlots, ahead_slots_for
from rewardmachines.agents.options.menu import Menu, power_set
from rewardmachines.agents.options.tables import Slots, capacity_for, slots_for, tabulate, tree_for
from rewardmachines.agents.protocol import AnyAgent, Recall, Task
from rewardmachines.core.errors import RewardMachineError, TooLargeError, UnknownPropositionError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import size
from rewardmachines.envs.interface import RecallOf
from rewardmachines.envs.scenario import Scenario
from rewardmachines.lowered import LoweredHierarchy, lower

MOST_PROPOSITIONS = 12
"""With more propositions, their sets are too many to consider each as a label."""


@dataclass(frozen=True)
class Plan:
    """A hierarchy as an agent uses it, and what its numbers mean."""

    hierarchy: Hierarchy
    lowered: LoweredHierarchy


@dataclass(frozen=True)
class OptionPlan(Plan):
    """A hierarchy with the options that an agent chooses in it."""

    menu: Menu
    slots: Slots | AheadSlots
    skills: Skills | None = None
    """What the agent begins with, if there is a bank of skills."""


@dataclass(frozen=True)
class GivenBank:
    """A bank of skills that an agent begins with."""

    bank: Bank
    is_trained: bool = False
    """Whether its policies are trained further."""


@dataclass(frozen=True)
class Problem:
    """A task, an environment and an agent, ready to train."""

    plan: Plan
    trainer: Trainer[Any]
    task: Task


def labels_of(scenario: Scenario) -> tuple[Label, ...]:
    """All labels that can be seen in a scenario."""
    known = scenario.domain.labels(dead_ends=scenario.dead_ends)
    return power_set(scenario.environment.propositions) if known is None else tuple(known)


def check_propositions(hierarchy: Hierarchy, known: Iterable[str], where: str) -> None:
    """Raises an error if a hierarchy has propositions that an environment does not have.

    Args:
        hierarchy: What is to be done.
        known: The propositions of the environment.
        where: What the error calls the environment.

    Raises:
        UnknownPropositionError: The first such proposition.
    """
    known = tuple(known)
    used = {p: None for machine in hierarchy.reachable() for p in sorted(machine.propositions)}
    for proposition in used:
        if proposition not in known:
            hint = suggestion(proposition, known) or f"; there are {', '.join(known)}"
            raise UnknownPropositionError(f"the hierarchy speaks of '{proposition}', which {where} does not have{hint}")


def prepare(
    hierarchy: Hierarchy,
    algorithm: Algorithm,
    propositions: tuple[str, ...],
    labels: Iterable[Label] | None = None,
    where: str = "the environment",
    *,
    looks_ahead: bool = False,
    given: GivenBank | None = None,
) -> Plan:
    """The hierarchy as an algorithm uses it: itself or its smallest flat form, with options if there are any.

    A machine without calls that has no state too many is its own flat form: its formulas are the options.

    Args:
        hierarchy: What is to be done.
        algorithm: The algorithm that is to be trained.
        propositions: Those that the environment can observe.
        labels: Those that can be seen; all sets of propositions, if not given.
        where: What errors call the environment.
        looks_ahead: Whether options look ahead, so that what follows them tells them apart.
        given: A bank of skills, for algorithms that choose options.

    Returns:
        An `OptionPlan` for algorithms that choose options, for others a `Plan`.

    Raises:
        UnknownPropositionError: The hierarchy has a proposition that the environment has not.
        TooLargeError: There are too many sets of propositions.
        RewardMachineError: The task is over before it begins.
    """
    check_propositions(hierarchy, propositions, where)
    if labels is None and len(propositions) > MOST_PROPOSITIONS:
        raise TooLargeError(f"{len(propositions)} propositions make too many labels: say which can be seen")
    seen = power_set(propositions) if labels is None else tuple(labels)
    if algorithm is not Algorithm.HRL:
        hierarchy = _flat_form(hierarchy, seen)
    root = hierarchy[hierarchy.root]
    if root.is_terminal(root.initial):
        raise RewardMachineError("there is nothing to do: the initial state of the task is an end already")
    menu = Menu(hierarchy, seen)
    if given is not None:
        skills = Skills(given.bank, menu, given.is_trained)
        lowered = lower(hierarchy, propositions=propositions, capacity=skills.machine_capacity(hierarchy))
        return OptionPlan(hierarchy, lowered, menu, skills.slots, skills)
    lowered = lower(hierarchy, propositions=propositions)
    if algorithm is Algorithm.CRM:
        return Plan(hierarchy, lowered)
    slots = ahead_slots_for(menu, tree_for(menu)) if looks_ahead else slots_for(menu)
    return OptionPlan(hierarchy, lowered, menu, slots)


def _flat_form(hierarchy: Hierarchy, labels: tuple[Label, ...]) -> Hierarchy:
    smallest = minimize(flatten(hierarchy), labels=labels)
    is_smallest = hierarchy.height == 1 and size(hierarchy).states == size(smallest).states
    return hierarchy if is_smallest else smallest


def looks_ahead(config: AgentConfig) -> bool:
    """Whether an agent with such settings has options that look ahead."""
    return isinstance(config, HierarchicalDqnConfig) and config.lookahead > 0


def build_agent(plan: Plan, config: AgentConfig, shape: tuple[int, ...], actions: int, recall: Recall) -> AnyAgent:
    """The agent that has such settings.

    Args:
        plan: The hierarchy that the agent uses.
        config: The settings, which say which agent it is.
        shape: That of an observation.
        actions: How many actions the environment has.
        recall: Makes an observation of what the environment remembers of it.
    """
    if isinstance(config, CrmConfig):
        return CrmAgent(config, shape, actions, plan.lowered.capacity.states, recall)
    assert isinstance(config, HierarchicalDqnConfig), f"no agent has the settings {config}"
    return HierarchicalAgent(config, shape, actions, plan.lowered.capacity.depth + 1, recall)


def build_task(plan: Plan, world: object) -> Task:
    """The task as arrays: an `OptionTask` if the plan has options.

    Args:
        plan: The hierarchy that the agent uses.
        world: The arrays that describe the instances of the environment; None, if there are none.
    """
    arrays = world if world is not None else jnp.int32(0)
    if not isinstance(plan, OptionPlan):
        return Task(arrays, plan.lowered.tables)
    if plan.skills is not None:
        return OptionTask(arrays, plan.lowered.tables, plan.skills.tables(plan.lowered))
    options = tabulate(plan.menu, plan.slots, plan.lowered, capacity_for(plan.menu, plan.slots))
    return OptionTask(arrays, plan.lowered.tables, options)


def replay_start(config: AgentConfig, task: Task) -> int:
    """After how many steps there is enough to learn from.

    Args:
        config: The settings of an agent.
        task: What there is to do: CRM counts several experiences for each step.
    """
    each = experiences_per_step(config, task.tables) if isinstance(config, CrmConfig) else 1
    return -(-config.replay_start // each)


def problem(
    scenario: Scenario,
    hierarchy: Hierarchy,
    algorithm: Algorithm,
    config: AgentConfig,
    given: GivenBank | None = None,
) -> Problem:
    """A task in a scenario, with an agent that is to learn it.

    Args:
        scenario: The environment and its instances.
        hierarchy: What is to be done.
        algorithm: What is trained.
        config: The settings of that algorithm's agent.
        given: A bank of skills that the agent begins with.

    Raises:
        RewardMachineError: The hierarchy or the bank does not fit the scenario, or the task is over before it begins.
    """
    environment = scenario.environment
    where = f"{scenario.domain.title} {scenario.setting.upper()}"
    if given is not None:
        given.bank.check_interface(Interface.of(scenario, config.observation), where)
        given.bank.check_config(config)
    plan = prepare(
        hierarchy,
        algorithm,
        environment.propositions,
        labels_of(scenario),
        where,
        looks_ahead=looks_ahead(config),
        given=given,
    )
    agent = build_agent(plan, config, environment.observation_shape, environment.actions, RecallOf(environment))
    trainer = Trainer(agent, environment, scenario.max_steps, fresh_instances(scenario))
    return Problem(plan, trainer, build_task(plan, scenario.training_world))


def is_zero_shot(ready: Problem) -> bool:
    """Whether an agent has nothing to learn: all policies come from a bank, and nothing else leaves a choice."""
    plan, task = ready.plan, ready.task
    if not isinstance(plan, OptionPlan) or plan.skills is None or not isinstance(task, OptionTask):
        return False
    skills = plan.skills
    return not skills.is_trained and not skills.missing and not skills.choices(plan.lowered, task.options)


def fresh_instances(scenario: Scenario) -> FreshInstances | None:
    """The instances that are only trained on, if there are any; in the arrays of the world they come last."""
    return FreshInstances(len(scenario.instances), scenario.fresh) if scenario.fresh else None
