"""The command `hrm train`: policies for a task, at every level of its hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import tyro

from rewardmachines.cli.domains import Where
from rewardmachines.cli.run_command import RunCommand, folder_name
from rewardmachines.cli.shared import Flag, log, read_hierarchy
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.overrides import changed

if TYPE_CHECKING:
    from rewardmachines.core.hierarchy import Hierarchy
    from rewardmachines.runs.config import RunConfig
    from rewardmachines.runs.orders import RunOrder, TrainArguments


@dataclass(frozen=True)
class Train(RunCommand):
    """Learn policies for a task, at every level of its hierarchy, and keep them in a folder.

    Try:
      hrm train craftworld cake --setting op
      hrm train waterworld rgb --setting wod --seeds 5 -o runs/rgb
      hrm train craftworld --hierarchy mine.yaml --agent crm --steps 500000
      hrm train craftworld cake --instances fresh
      hrm train my_lake:make "lookout ; goal"
      hrm train "bucket ; sugarcane" --bank skills
      hrm train --resume -o runs/rgb

    It ends when it is good enough, or when the budget is spent; Ctrl-C stops it at any time, --resume goes on. The
    folder holds config.json, metrics.jsonl, timing.jsonl, events/ (tensorboard --logdir FOLDER), machines/,
    policies.safetensors, a checkpoint and, in the end, report/index.html. See also: hrm show FOLDER, hrm evaluate
    FOLDER, hrm plot FOLDER -o curve.png.
    """

    aim: ClassVar[str] = "to train"

    where: Where = None
    task: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")] = None
    """The task: a task of the domain, such as cake (hrm library lists them); in an environment of your own, a task
    expression, such as "lookout ; goal" (hrm compile); with --bank, an expression over propositions, machines of the
    bank and tasks of the domain; with --hierarchy, its name."""
    hierarchy: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """A hierarchy of your own instead of TASK: a machine file, such as `hrm induce` writes."""
    agent: Annotated[str | None, tyro.conf.arg(metavar="hrl|flat-hrl|crm|NAME")] = None
    """hrl, the default, uses the hierarchy as it is; flat-hrl its smallest flat form; crm is one Q-function on the flat
    form. Further agents can be registered."""
    train_bank: Flag = False
    """Train the policies of the bank further, too; otherwise only skills that are not in it are learned."""

    def _asked(self) -> TrainArguments:
        from rewardmachines.runs.orders import TrainArguments

        where, task = self._where_and_task()
        if not self.resume and where is None and self.bank is None:
            raise RewardMachineError("say where to act (hrm train craftworld cake), or --resume -o FOLDER")
        tree = None if self.hierarchy is None else read_hierarchy(self.hierarchy)
        if not self.resume and task is None and tree is None:
            raise RewardMachineError(
                "say what to learn after where to act: a task (hrm library lists those of domains), or --hierarchy FILE"
            )
        return TrainArguments(
            where=where,
            task=task if tree is None else tree,
            name=task if tree is not None else None,
            agent=self.agent,
            settings=partial(changed, changes=self.set) if self.set else None,
            trains_bank=self.train_bank or None,
            **self._common(),
        )

    def _where_and_task(self) -> tuple[str | None, str | None]:
        """The place and the task. With a bank, which has a place, the only word is the task."""
        from rewardmachines.runs.places import is_domain

        if self.bank is not None and self.task is None and self.where is not None and not is_domain(self.where):
            return None, self.where
        return self.where, self.task

    def _name(self, config: RunConfig) -> str:
        if (place := config.domain) is None:
            return folder_name((self.where or "").partition(":")[0], config.task, config.agent)
        return folder_name(place.domain, place.setting, config.task, config.agent, "fresh" if place.fresh else "")

    def _announce(self, order: RunOrder) -> None:
        if order.given.bank is not None and not self.resume and not self.quiet:
            _tell_skills(order)


def _tell_skills(order: RunOrder) -> None:
    """Prints the skills that a new task takes from a bank, those that are missing, and those that are left to learn.

    Raises:
        RewardMachineError: The bank does not fit the task.
    """
    from rewardmachines.agents.hierarchical_dqn.task import OptionTask
    from rewardmachines.agents.setup import OptionPlan
    from rewardmachines.rollout.training import Training
    from rewardmachines.runs.session import Session

    place = order.config.domain
    assert place is not None, "a bank belongs to a domain"
    config = replace(order.config, domain=place.with_instances())
    run = Session(config, order.hierarchies, order.given).algorithm
    assert isinstance(run, Training)
    plan, task = run.plan, run.tables.task
    assert isinstance(plan, OptionPlan), "an agent with a bank has options"
    assert isinstance(task, OptionTask)
    skills = plan.skills
    assert skills is not None, "there is a bank"
    if called := _called(plan.hierarchy, skills):
        log(f"machines of the bank: {', '.join(called)}")
    if skills.missing:
        log(f"not in the bank, so learned as usual: {', '.join(map(str, skills.missing))}")
    if run.is_exhausted:
        log("there is nothing to choose: the bank does it without any step of training")
    elif choices := skills.choices(plan.lowered, task.options):
        log(f"to be learned: what to choose in {', '.join(choices)}")


def _called(tree: Hierarchy, skills: Any) -> list[str]:
    return [machine.name for machine in tree.reachable() if skills.is_known(machine.name)]
