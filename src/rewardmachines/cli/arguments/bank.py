"""What `hrm bank` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from rewardmachines.cli.shared import Flag, Output


@dataclass(frozen=True)
class BankArguments:
    """Keep what a run of hrm learn has learned as a bank of skills, for new tasks.

    A bank holds the policies of formulas, and machines with the policies of their calls. It is a folder: networks
    (safetensors), machine files, and bank.json. Nothing in it runs code.

    Try:
      hrm bank save runs/learn-craftworld-op-0 -o skills
      hrm bank list skills
      hrm bank draw skills -o pictures
      hrm bank check skills
      hrm train --bank skills --task "bucket ; sugarcane"
      hrm learn --bank skills --tasks cake
    """

    action: Annotated[Literal["save", "list", "draw", "check"], tyro.conf.Positional]
    """What to do: save a run as a bank, list what is in a bank, draw its machines, or check its files."""
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN|BANK")]
    """The folder of a run (save), or of a bank."""
    output: Output = None
    """The folder of the new bank (save), or of the pictures (draw)."""
    json: Flag = False
    """Print what list and check find as JSON."""
