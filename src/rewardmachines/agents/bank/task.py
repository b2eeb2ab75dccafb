"""A new task for a bank: an expression over the bank's propositions and machines and the tasks of the domain."""

from __future__ import annotations

from typing import Final

from rewardmachines.agents.bank.bank import Bank, BankInterface
from rewardmachines.core.formula import quote
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.language import compile_task

ROOT: Final = "task"
"""The default name of the root of a task."""


def task_with_bank(bank: Bank, scenario: Scenario, text: str) -> Hierarchy:
    """The hierarchy of a task that uses a bank.

    A name in the task is that of a proposition, of a machine of the bank, or of a task of the domain, which is then
    compiled as the domain writes it. If the bank has a machine with the name of a task, the name means that machine, as
    it was learned. Where the setting has dead ends, the task must be done without ever seeing their proposition.

    Args:
        bank: The bank.
        scenario: The domain in its setting.
        text: A task expression, or a name.

    Raises:
        RewardMachineError: The expression makes no sense, or the bank does not fit the scenario.
    """
    where = f"{scenario.domain.title} {scenario.setting.upper()}"
    bank.check_interface(BankInterface.of(scenario, bank.interface.observation), where)
    tasks = {name: body for name, body in scenario.domain.tasks.items() if name not in bank.names}
    dead_end = scenario.domain.task_set.dead_end
    root = ROOT
    while root in tasks or root in bank.names:
        root += "'"
    return compile_task(
        _expression(bank, scenario, text),
        tasks,
        avoid=(dead_end,) if scenario.dead_ends and dead_end is not None else (),
        propositions=scenario.environment.propositions,
        name=root,
        machines=bank.hierarchy(),
    )


def _expression(bank: Bank, scenario: Scenario, text: str) -> str:
    """The task expression. A name of a machine or of a task that is the whole expression needs no quotes."""
    names = {name.casefold(): name for name in (*scenario.domain.tasks, *bank.names)}
    return quote(names[text.casefold()]) if text.casefold() in names else text
