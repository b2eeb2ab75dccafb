"""The command `hrm learn`: the machines and policies of all tasks together, from interaction alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

import tyro

from rewardmachines.cli.run_command import RunCommand, folder_name
from rewardmachines.cli.shared import Flag
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.overrides import changed
from rewardmachines.lhrm.choices import Callables, Exploration

if TYPE_CHECKING:
    from rewardmachines.lhrm.config import LhrmConfig
    from rewardmachines.runs.config import RunConfig
    from rewardmachines.runs.orders import LearnArguments

QUICK_INSTANCES: Final = 3
QUICK_STEPS: Final = 1_000_000
"""The steps that quick runs may take, unless a budget is given."""
_TASK: Final = re.compile(r"(?:(?P<task>[^=]+)=)?(?P<env>[^=@]+)(?:@(?P<level>\d{1,3}))?")
_MAKE: Final = "make_"
"""The usual prefix of the names of functions that make environments."""


@dataclass(frozen=True)
class Learn(RunCommand):
    """Learn the machines and the policies of all tasks of a domain, from interaction alone, easy ones first.

    The environments give labels and the ends of episodes, no more. Machines are learned from traces, call machines that
    were learned before, and are relearned after counterexamples.

    Try:
      hrm learn craftworld --setting op
      hrm learn craftworld --quick
      hrm learn waterworld --setting wod --tasks rg bc "rg&bc" --budget 2h
      hrm learn craftworld --setting op --instances fresh
      hrm learn craftworld --setting frl --seeds 5 --own-instances
      hrm learn my_lake:make_hut my_lake:make_buoy round=my_lake:make_round@2
      hrm learn craftworld --setting op --outcome-noise 0.01 --noise 0.01
      hrm learn --bank skills --tasks cake
      hrm learn --resume -o runs/learn-craftworld-op-0

    It ends when all tasks are learned, or when the budget is spent; Ctrl-C stops it at any time, --resume goes on. The
    folder holds config.json, metrics.jsonl, timing.jsonl, events/ (tensorboard --logdir FOLDER), machines/ (hrm draw),
    examples/ (hrm induce), policies.safetensors, a checkpoint and, in the end, report/index.html. Exit status 1 if a
    task is not learned in the end, with a line that says what is missing.
    """

    aim: ClassVar[str] = "to learn"

    where: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="WHERE")] = ()
    """The place: a domain, such as craftworld; or an environment for each task, [TASK=]MODULE:FUNCTION[@LEVEL], by the
    function that makes it, wrapped in LabelingWrapper. Without a name the task is called as the function, without
    make_; without a level it is on the first. Modules in the present folder are found."""
    tasks: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TASK")] = ()
    """The tasks to learn in a domain; all of its tasks if not given (hrm library lists them), or all that are not in
    the bank, whose machines any task may call."""
    quick: Flag = False
    """Three tasks on two levels, in three instances (or fresh ones, if asked for), with fewer traces to begin with: a
    minute or two."""
    explore: Annotated[Exploration | None, tyro.conf.EnumChoicesFromValues] = None
    """The exploration where no machine has an option: random actions, also mastered options, or also an option for
    every proposition that was seen; that of the preset if not given."""
    callables: Annotated[Callables | None, tyro.conf.EnumChoicesFromValues] = None
    """The machines that a machine may call: all of lower levels (the default), only those that the true machine calls,
    or none."""
    noise: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """The share of episodes whose trace may be wrong, such as 0.01. Counterexamples then refute a machine together, and
    not one by one; 0, the default, if every trace is right."""
    outcome_noise: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """The share of episodes of a domain whose outcome is shown wrongly while machines are learned, such as 0.01: a goal
    as incomplete, any other as the goal. Greedy episodes are judged by the truth."""
    label_noise: Annotated[float | None, tyro.conf.arg(metavar="SHARE")] = None
    """The share of label events of a domain that are shown wrongly while machines are learned."""
    learner: Annotated[str | None, tyro.conf.arg(metavar="NAME")] = None
    """The learner of machines: exact, the default, finds machines with the fewest states; further learners are
    registered, or those of a package."""
    single_trace: Flag = False
    """Learn the first machine of a task from the first goal trace."""

    def _asked(self) -> LearnArguments:
        from rewardmachines.runs.orders import LearnArguments

        if not self.where and not self.resume and self.bank is None:
            raise RewardMachineError("say where to act (hrm learn craftworld), or --resume -o FOLDER")
        if self.quick and self.tasks:
            raise RewardMachineError("--quick chooses the tasks by itself: leave out --tasks")
        where, changes = self._where(), (self.set, self.explore, self.callables, self.single_trace, self.quick)
        asked = LearnArguments(
            where=where,
            tasks=self._tasks(where if isinstance(where, str) else None),
            settings=self._settings if any(changes) else None,
            learner=self.learner,
            noise=self.noise,
            label_noise=self.label_noise,
            outcome_noise=self.outcome_noise,
            **self._common(),
        )
        if not self.quick:
            return asked
        if isinstance(asked.instances, int):
            asked = replace(asked, instances=min(asked.instances, QUICK_INSTANCES))
        elif asked.instances is None and not self.resume:
            asked = replace(asked, instances=QUICK_INSTANCES)
        if not self.resume and not asked.budget.is_limited:
            asked = replace(asked, steps=QUICK_STEPS)
        return asked

    def _where(self) -> str | dict[str, tuple[str, int]] | None:
        """The domain, or the environment and the level of each task.

        Raises:
            RewardMachineError: There are domains among several, or two tasks have one name.
        """
        from rewardmachines.runs.places import is_domain

        if not self.where:
            return None
        if any(map(is_domain, self.where)):
            if len(self.where) > 1:
                raise RewardMachineError(f"a domain stands alone, not among {len(self.where)}; --tasks chooses tasks")
            return self.where[0]
        tasks: dict[str, tuple[str, int]] = {}
        for name, level, env in map(read_task, self.where):
            if name in tasks:
                raise RewardMachineError(f"two tasks are called '{name}': write NAME=MODULE:FUNCTION")
            tasks[name] = env, level
        return tasks

    def _tasks(self, domain: str | None) -> tuple[str, ...] | None:
        """The tasks that are asked for. A run that goes on has all of a domain's, if the domain is named again."""
        from rewardmachines.envs.registry import domain as find_domain

        if self.quick:
            return find_domain(domain or self._begun_domain()).quick_tasks
        if not self.tasks and self.resume and domain is not None and self.bank is None:
            return tuple(find_domain(domain).tasks)
        return self.tasks or None

    def _begun_domain(self) -> str:
        """The domain of the run that goes on, or of the bank.

        Raises:
            RewardMachineError: It is in environments, which have no quick tasks.
        """
        from rewardmachines.agents.bank.files import load_bank
        from rewardmachines.runs.run import open_run

        if self.output is not None and self.resume and (place := open_run(self.output).config.domain) is not None:
            return place.domain
        if self.bank is None:
            raise RewardMachineError("--quick: only domains have quick tasks")
        return load_bank(self.bank).domain

    def _settings(self, usual: LhrmConfig) -> LhrmConfig:
        """The usual settings with the changes that are asked for."""
        config = replace(usual, explores_with=self.explore or usual.explores_with)
        config = replace(config, callables=self.callables or usual.callables)
        if self.quick:
            config = replace(config, goals=config.goals[:1])
        if self.single_trace:
            config = replace(config, goals=(1,), examples=1)
        return changed(config, self.set, within="agent")

    def _name(self, config: RunConfig) -> str:
        if (place := config.domain) is None:
            return folder_name("learn", read_task(self.where[0])[2].partition(":")[0])
        # Quick runs have folders of their own, which patterns such as runs/learn-* do not match either.
        first = "quick" if self.quick else "learn"
        return folder_name(first, place.domain, place.setting, "fresh" if place.fresh else "")


def read_task(text: str) -> tuple[str, int, str]:
    """Reads `[TASK=]ENVIRONMENT[@LEVEL]`: the name of the task, its level, and that of its environment.

    >>> read_task("my_lake:make_hut"), read_task("round trip=my_lake:make@2")
    (('hut', 1, 'my_lake:make_hut'), ('round trip', 2, 'my_lake:make'))
    """
    found = _TASK.fullmatch(text)
    if found is None:
        raise RewardMachineError(f"{text}: write [TASK=]MODULE:FUNCTION[@LEVEL], such as hut=my_lake:make_hut@1")
    own = found["env"].rpartition(":")[2].rpartition(".")[2]
    return found["task"] or own.removeprefix(_MAKE) or own, int(found["level"] or 1), found["env"]
