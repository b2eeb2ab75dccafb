"""What `hrm labels` is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import tyro

from rewardmachines.cli.shared import Flag

_ENV_HELP: Final = (
    "A Gymnasium id, such as rewardmachines/CraftWorld-OP-v0, or MODULE:FUNCTION that makes the environment."
)


@dataclass(frozen=True)
class LabelsArguments:
    """Run random episodes and report which propositions and labels occur, and how often.

    The environment must be labelled: built in, or wrapped in LabelingWrapper. A proposition that a hierarchy needs and
    that no episode showed is pointed out.
    """

    name: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="ENV", help=_ENV_HELP)] = None
    env: Annotated[str | None, tyro.conf.arg(metavar="MODULE:FUNCTION")] = None
    """The function that makes an environment of your own, as for hrm train and hrm learn. Modules in the present folder
    are found."""
    episodes: int = 20
    """How many to run."""
    max_steps: Annotated[int, tyro.conf.arg(metavar="STEPS")] = 1000
    """Where to cut an episode that does not end."""
    hierarchy: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Whose propositions to look for; those of the environment's task if it has one."""
    seed: int = 0
    """The seed of the first episode; the others have the seeds that follow."""
    json: Flag = False
    """Print JSON."""
