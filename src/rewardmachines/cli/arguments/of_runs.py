"""Arguments of all commands that make runs: where to act, how, and where to keep it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import tyro

from rewardmachines.agents.choices import Preset
from rewardmachines.cli.domains import OptionalDomainChoice, SettingChoice
from rewardmachines.cli.shared import Flag, Quiet

Device: TypeAlias = Literal["gpu", "cpu"]
"""Where to compute."""


@dataclass(frozen=True)
class RunArguments:
    """Arguments of a command that makes a run; those without a text have theirs in `rewardmachines.cli.domains`."""

    domain: OptionalDomainChoice = None
    setting: SettingChoice = None
    preset: Annotated[Preset, tyro.conf.EnumChoicesFromValues] = Preset.FAST
    """fast is tuned for wall clock, paper is as published; table has the agents of fast and learns machines by the
    rules of paper."""
    seed: int = 0
    """The seed of everything that is left to chance; with several seeds, the first of them."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Change a setting of the preset, such as batch=64 or network.hidden=[128]; repeat for more."""
    instances: Annotated[str | None, tyro.conf.arg(metavar="NUMBER|fresh")] = None
    """How many grids or boxes there are to learn in; ten if not given. With fresh, every episode takes place in one of
    very many, and policies are evaluated in others that are held out: learn to act anywhere. With --env, how many fixed
    beginnings there are, reset(seed=0) and so on; any if not given."""
    instance_seed: int | None = None
    """The seed of the first instance, or of the first that is held out; that of the paper's first run if not given, or
    one that is none of its instances."""
    max_steps: Annotated[int, tyro.conf.arg(metavar="STEPS")] = 1000
    """After how many steps an episode is cut off."""
    budget: Annotated[str | None, tyro.conf.arg(metavar="STEPS|TIME")] = None
    """How long it may take: a number of steps, such as 500000 or 1e6, or a time, such as 90s, 30m or 2h."""
    episodes: int | None = None
    """How many episodes it may take; with the preset paper, as many as published if no limit is given."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Where to keep the run; a folder in runs/ with a name made of what is asked for if not given."""
    resume: Flag = False
    """Go on with the run in the folder; nothing else needs to be said."""
    quiet: Quiet = False
