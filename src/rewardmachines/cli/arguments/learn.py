"""What `hrm learn` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.arguments.of_runs import RunArguments
from rewardmachines.cli.shared import Flag
from rewardmachines.lhrm.choices import EXACT, Callables, Exploration


@dataclass(frozen=True)
class LearnArguments(RunArguments):
    """Learn the machines and the policies of all tasks of a domain, from interaction alone, easy ones first.

    The environments show labels and say how episodes end, no more. Machines are learned from traces, call those learned
    before them, and are learned again when an episode shows that they are wrong.

    Try:
      hrm learn craftworld --setting op
      hrm learn craftworld --quick
      hrm learn waterworld --setting wod --tasks rg bc "rg&bc" --budget 2h
      hrm learn craftworld --setting op --instances fresh
      hrm learn --bank skills --tasks cake
      hrm learn --resume -o runs/learn-craftworld-op-0
      hrm learn craftworld --setting frl --seeds 5 --own-instances
      hrm learn --resume -o runs/learn-craftworld-frl
      hrm learn --env my_lake:make_hut my_lake:make_buoy round=my_lake:make_round@2

    It ends when all tasks are learned, or when the budget is spent; Ctrl-C stops it at any time, --resume goes on. The
    folder holds config.json, metrics.jsonl, timing.jsonl, events/ (tensorboard --logdir FOLDER), machines/ (hrm draw),
    examples/ (hrm induce), policies.safetensors, a checkpoint and, in the end, report/index.html. Exit status 1 if a
    task is not learned in the end, with a line that says what is missing.
    """

    tasks: Annotated[tuple[str, ...], tyro.conf.arg(metavar="TASK")] = ()
    """What to learn; all tasks of the domain if not given (hrm library lists them)."""
    env: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[TASK=]MODULE:FUNCTION[@LEVEL]")] = ()
    """Learn in environments of your own instead of a domain: functions that make them, wrapped in LabelingWrapper, one
    for each task. Without a name the task is called as the function, without make_; without a level it is on the first.
    Modules in the present folder are found."""
    encode: Annotated[str | None, tyro.conf.arg(metavar="channels-first|MODULE:FUNCTION")] = None
    """With --env, what makes observations arrays that a network takes: channels-first for pictures with channels last,
    or a function of one observation. Boxes of numbers and discrete spaces need none."""
    quick: Flag = False
    """Three tasks on two levels, in three instances, with fewer traces to begin with: a minute or two."""
    stop_at: float | None = None
    """End when the mean return of three evaluations in a row is at least this, for every task; what the domain calls
    solved if not given, such as 0.95, and 0 for never."""
    explore: Annotated[Exploration | None, tyro.conf.EnumChoicesFromValues] = None
    """Where no machine says what to do: actions at random, also options that are mastered, or also every proposition
    that was seen; what the preset says if not given."""
    callables: Annotated[Callables, tyro.conf.EnumChoicesFromValues] = Callables.LOWER
    """What machines may call: all of lower levels, only those that the true one calls, or none."""
    learner: Annotated[str, tyro.conf.arg(metavar="NAME")] = EXACT
    """Who learns machines: exact finds those with the fewest states; others are registered, or those of a package."""
    single_trace: Flag = False
    """Learn the first machine of a task from the first goal trace."""
    seeds: int = 1
    """How many runs learn side by side, each in a folder of its own whose name ends with its seed."""
    own_instances: Flag = False
    """Each run learns in instances of its own, as the paper's five runs: seed 0 in those of the first, and so on."""
    bank: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Begin with a bank of skills (hrm bank save): any task may call its machines. Domain and setting are the bank's if
    not given, and the tasks are those of the domain that are not in the bank."""
    no_report: Flag = False
    """Do not write a report in the end."""
