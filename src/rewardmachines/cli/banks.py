"""What commands say of a bank of skills that a run begins with."""

from __future__ import annotations

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.setup import OptionPlan, is_zero_shot
from rewardmachines.agents.training.session import Session
from rewardmachines.agents.training.spec import TrainSpec
from rewardmachines.cli.shared import tell
from rewardmachines.core.hierarchy import Hierarchy


def tell_skills(spec: TrainSpec, hierarchy: Hierarchy, bank: Bank) -> None:
    """Says what a new task takes from a bank, what is missing there, and what is left to learn.

    Args:
        spec: What is trained.
        hierarchy: The hierarchy of the task.
        bank: The bank.

    Raises:
        RewardMachineError: The bank does not fit the task.
    """
    problem = Session(spec.of_seed(spec.seed).elsewhere(), hierarchy, bank=bank).problem
    plan, task = problem.plan, problem.task
    assert isinstance(plan, OptionPlan), "whoever has a bank has options"
    assert isinstance(task, OptionTask), "and so has the task"
    skills = plan.skills
    assert skills is not None, "there is a bank"
    called = [machine.name for machine in plan.hierarchy.reachable() if skills.is_known(machine.name)]
    if called:
        tell(f"machines of the bank: {', '.join(called)}")
    if skills.missing:
        tell(f"not in the bank, so learned as usual: {', '.join(map(str, skills.missing))}")
    choices = skills.choices(plan.lowered, task.options)
    if is_zero_shot(problem):
        tell("there is nothing to choose: the bank does it without any step of training")
    elif choices:
        tell(f"to be learned: what to choose in {', '.join(choices)}")
