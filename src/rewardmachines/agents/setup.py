"""The hierarchy in the form that an agent uses: with its options, and as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import jax.numpy as jnp

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.skills import Skills
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.crm.machine import experiences_per_step
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.option_set import (
    AheadSlots,
    OptionSet,
    Slots,
    ahead_slots_for,
    power_set,
    slots_for,
    tree_for,
)
from rewardmachines.agents.options.tables import capacity_for, tabulate
from rewardmachines.agents.protocol import Task
from rewardmachines.agents.registry import AgentKind
from rewardmachines.core.errors import RewardMachineError, TooLargeError, UnknownPropositionError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import size
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered import LoweredHierarchy, lower

MOST_PROPOSITIONS = 12
"""With more propositions, their sets are too many to consider each as a label."""


@dataclass(frozen=True)
class Plan:
    """The hierarchy in the form that an agent uses, with the names of its numbers."""

    hierarchy: Hierarchy
    lowered: LoweredHierarchy


@dataclass(frozen=True)
class OptionPlan(Plan):
    """A hierarchy with the options that an agent chooses in it."""

    option_set: OptionSet
    slots: Slots | AheadSlots
    skills: Skills | None = None
    """The skills that the agent begins with, if there is a bank."""


@dataclass(frozen=True)
class GivenBank:
    """A bank of skills that an agent begins with."""

    bank: Bank
    is_trained: bool = False
    """Whether the bank's policies are trained further."""


def labels_of(scenario: Scenario) -> tuple[Label, ...]:
    """All labels that can be observed in a scenario."""
    known = scenario.domain.labels(dead_ends=scenario.dead_ends)
    return power_set(scenario.environment.propositions) if known is None else tuple(known)


def check_propositions(hierarchy: Hierarchy, known: Iterable[str], where: str) -> None:
    """Raises an error if a hierarchy has propositions that an environment does not have.

    Args:
        hierarchy: The task.
        known: The propositions of the environment.
        where: The environment's name in the error.

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
    kind: AgentKind,
    propositions: tuple[str, ...],
    labels: Iterable[Label] | None = None,
    where: str = "the environment",
    *,
    looks_ahead: bool = False,
    given: GivenBank | None = None,
) -> Plan:
    """The hierarchy itself or its smallest flat form, as the agent requires, with options if it chooses options.

    A minimal machine without calls is its own flat form, and its formulas are the options.

    Args:
        hierarchy: The task.
        kind: The agent.
        propositions: Those that the environment can observe.
        labels: The labels that can be observed; all sets of propositions, if not given.
        where: The environment's name in errors.
        looks_ahead: Whether options look ahead, so that options with different continuations differ.
        given: A bank of skills, for agents that choose options.

    Returns:
        An `OptionPlan` for agents that choose options, for others a `Plan`.

    Raises:
        UnknownPropositionError: The hierarchy has a proposition that the environment lacks.
        TooLargeError: There are too many sets of propositions.
        RewardMachineError: The task is over before it begins.
    """
    check_propositions(hierarchy, propositions, where)
    if labels is None and len(propositions) > MOST_PROPOSITIONS:
        raise TooLargeError(f"{len(propositions)} propositions make too many labels: say which can be seen")
    seen = power_set(propositions) if labels is None else tuple(labels)
    if kind.is_flat:
        hierarchy = _flat_form(hierarchy, seen)
    root = hierarchy[hierarchy.root]
    if root.is_terminal(root.initial):
        raise RewardMachineError("there is nothing to do: the initial state of the task is an end already")
    option_set = OptionSet(hierarchy, seen)
    if given is not None:
        skills = Skills(given.bank, option_set, given.is_trained)
        lowered = lower(hierarchy, propositions=propositions, capacity=skills.machine_capacity(hierarchy))
        return OptionPlan(hierarchy, lowered, option_set, skills.slots, skills)
    lowered = lower(hierarchy, propositions=propositions)
    if not kind.has_options:
        return Plan(hierarchy, lowered)
    slots = ahead_slots_for(option_set, tree_for(option_set)) if looks_ahead else slots_for(option_set)
    return OptionPlan(hierarchy, lowered, option_set, slots)


def _flat_form(hierarchy: Hierarchy, labels: tuple[Label, ...]) -> Hierarchy:
    smallest = minimize(flatten(hierarchy), labels=labels)
    is_smallest = hierarchy.height == 1 and size(hierarchy).states == size(smallest).states
    return hierarchy if is_smallest else smallest


def looks_ahead(config: AgentConfig) -> bool:
    """Whether an agent with such settings has options that look ahead."""
    return isinstance(config, HierarchicalDqnConfig) and config.lookahead > 0


def build_task(plan: Plan, world: object) -> Task:
    """The task as arrays: an `OptionTask` if the plan has options.

    Args:
        plan: The hierarchy that the agent uses.
        world: The arrays that describe the instances of the environment; None without instances.
    """
    arrays = world if world is not None else jnp.int32(0)
    if not isinstance(plan, OptionPlan):
        return Task(arrays, plan.lowered.tables)
    if plan.skills is not None:
        return OptionTask(arrays, plan.lowered.tables, plan.skills.tables(plan.lowered))
    options = tabulate(plan.option_set, plan.slots, plan.lowered, capacity_for(plan.option_set, plan.slots))
    return OptionTask(arrays, plan.lowered.tables, options)


def replay_start(config: AgentConfig, task: Task) -> int:
    """The number of steps after which learning starts.

    Args:
        config: The settings of an agent.
        task: The task: CRM counts several experiences for each step.
    """
    each = experiences_per_step(config, task.tables) if isinstance(config, CrmConfig) else 1
    return -(-config.replay_start // each)


def is_zero_shot(plan: Plan, task: Task) -> bool:
    """Whether all policies of a task come from a bank, so that nothing is left to learn."""
    if not isinstance(plan, OptionPlan) or plan.skills is None or not isinstance(task, OptionTask):
        return False
    skills = plan.skills
    return not skills.is_trained and not skills.missing and not skills.choices(plan.lowered, task.options)
