"""What `hrm train` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.agents.choices import Algorithm
from rewardmachines.cli.arguments.of_runs import RunArguments
from rewardmachines.cli.shared import Flag


@dataclass(frozen=True)
class TrainArguments(RunArguments):
    """Learn policies for a task, at every level of its hierarchy, and keep them in a folder.

    Try:
      hrm train craftworld --setting op --task cake
      hrm train waterworld --setting wod --task rgb --seeds 5 -o runs/rgb
      hrm train craftworld --hierarchy mine.yaml --algorithm crm --steps 500000
      hrm train craftworld --task cake --instances fresh
      hrm train --bank skills --task "bucket ; sugarcane"
      hrm train --resume -o runs/rgb
      hrm train --env my_lake:make --task "lookout ; goal"

    It ends after so many steps, or when it is good enough; Ctrl-C stops it at any time, --resume goes on. The folder
    holds config.json, metrics.jsonl, timing.jsonl, events/ (tensorboard --logdir FOLDER), machines/, policies/ and a
    checkpoint. See also: hrm evaluate FOLDER, hrm plot FOLDER -o curve.png.
    """

    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """What to do: a task of the domain, such as cake (hrm library lists them); with --env, a task expression, such as
    "lookout ; goal" (hrm compile), or the name of the task that --hierarchy describes."""
    env: Annotated[str | None, tyro.conf.arg(metavar="MODULE:FUNCTION")] = None
    """Train in an environment of your own instead of a domain: a function that makes it, wrapped in LabelingWrapper.
    Modules in the present folder are found."""
    encode: Annotated[str | None, tyro.conf.arg(metavar="channels-first|MODULE:FUNCTION")] = None
    """With --env, what makes observations arrays that a network takes: channels-first for pictures with channels last,
    or a function of one observation. Boxes of numbers and discrete spaces need none."""
    hierarchy: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """A hierarchy of your own instead of the library's: a machine file, such as `hrm induce` writes."""
    bank: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Begin with a bank of skills (hrm bank save): only what is not in it is learned. --task is then any expression
    over propositions, machines of the bank and tasks of the domain. Domain and setting are the bank's if not given."""
    train_bank: Flag = False
    """Train the policies of the bank further, too; otherwise they stay as they are."""
    algorithm: Annotated[Algorithm, tyro.conf.EnumChoicesFromValues] = Algorithm.HRL
    """hrl uses the hierarchy as it is, flat-hrl its smallest flat form; crm is one Q-function on the flat form."""
    seeds: int = 1
    """How many agents learn side by side."""
    own_instances: Flag = False
    """Each seed learns in instances of its own, as in the paper's five runs: seed 0 in those of the first run, and so
    on."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="STEPS")] = None
    """How many steps each seed may take, the same as --budget; 2,000,000 if there is no limit, with the preset fast."""
    stop_at: float | None = None
    """End when the mean return of three evaluations in a row is at least this, for every seed; 0.95 if not given, 0
    for never."""
    no_report: Flag = False
    """Do not write a report in the end; without --env, none is written (hrm report does)."""
