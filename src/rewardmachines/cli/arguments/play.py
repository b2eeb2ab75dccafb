"""What `hrm play` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.domains import DomainChoice, SettingChoice
from rewardmachines.cli.shared import Flag


@dataclass(frozen=True)
class PlayArguments:
    """Act in a domain and watch the hierarchy move.

    Type keys to act, r to start again, q to leave; --random lets chance act. The screen says which keys there are and
    what its signs mean. Without a terminal, chance acts and the steps are printed.
    """

    domain: DomainChoice
    setting: SettingChoice = None
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """What to do: a task of the domain, such as book, or a machine file."""
    instance: int = 0
    """Which of the ten instances."""
    seed: int | None = None
    """The seed of the first instance; that of the paper's first run if not given."""
    random: Flag = False
    """Let chance act."""
    steps: Annotated[int, tyro.conf.arg(metavar="STEPS")] = 200
    """How long chance acts at most."""
    gif: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = None
    """Write what happened as a film: a .gif, an .html that can be paused, or with FFmpeg an .mp4 or .webm."""
    png: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write a picture of the first moment, and do nothing else."""
