"""What `hrm evaluate` is told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rewardmachines.cli.shared import Flag, Quiet


@dataclass(frozen=True)
class EvaluateArguments:
    """Let the policies of a run act greedily, once in every instance.

    Try:
      hrm evaluate runs/craftworld-op-cake-hrl-0
      hrm evaluate runs/craftworld-op-cake-hrl-0 -o cake.gif --instance 3
      hrm evaluate runs/learn-craftworld-op-0 -o map.html --task map
      hrm evaluate runs/learn-craftworld-op-0 --instances 100 --instance-seed 910000000

    Of a run of hrm learn, every task is judged that there is a machine for: by the environment, not by the machine. For
    a run in environments of your own, the modules of its environments are imported, from the present folder, too. They
    are filmed if the functions that make them take render_mode.
    """

    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The folder of the run."""
    gif: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="PATH")] = None
    """Also write a film of one episode, with the hierarchy drawn beside it and the options below: a .gif, an .html that
    can be paused, or with FFmpeg an .mp4 or .webm."""
    instance: int = 0
    """Which instance is filmed."""
    instances: int | None = None
    """In how many instances to act; in those of the run if neither this nor --instance-seed is given."""
    instance_seed: int | None = None
    """The seed of the first instance to act in, to see how policies do where they have never been."""
    task: Annotated[str | None, tyro.conf.arg(metavar="TASK")] = None
    """Which task, of a run that learned several; all if not given, and the hardest is filmed."""
    seed: int | None = None
    """Whose policy is filmed, of a run with several; the first one's if not given."""
    best: Flag = False
    """Let the best policies so far act, not the last ones; runs in environments of your own keep them."""
    json: Flag = False
    """Print returns and lengths as JSON."""
    quiet: Quiet = False
