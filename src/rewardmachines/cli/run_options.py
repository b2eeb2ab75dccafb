"""What commands that make runs have in common: where to act, how, and where to keep it."""

from __future__ import annotations

import os
from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro

from rewardmachines.agents.presets import Preset
from rewardmachines.cli.domains import OptionalDomainChoice, SettingChoice
from rewardmachines.cli.shared import Command, Flag
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES


@dataclass(frozen=True)
class RunCommand(Command, ABC):
    domain: OptionalDomainChoice = None
    """Where to act: craftworld, waterworld, or a domain of another package."""
    setting: SettingChoice = None
    """One of the domain's settings, such as op, opl, fr and frl, or wod and wd; its first if not given."""
    preset: Annotated[Preset, tyro.conf.EnumChoicesFromValues] = Preset.FAST
    """fast is tuned for wall clock, paper is as published."""
    seed: int = 0
    """Of everything that is left to chance; with several seeds, the first of them."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """Change a setting of the preset, such as batch=64 or network.hidden=[128]; repeat for more."""
    instances: int = INSTANCES
    """How many grids or boxes there are to learn in."""
    instance_seed: int = BASE_SEED
    """Of the first instance; the paper's first run if not given."""
    max_steps: int = 1000
    """Of an episode."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")] = None
    """Where to keep the run; a folder in runs/ with a name made of what is asked for if not given."""
    resume: Flag = False
    """Go on with the run in the folder; nothing else needs to be said."""

    def _setting(self) -> str:
        """The domain's default, if none is given."""
        assert self.domain is not None
        return self.setting or domain(self.domain).default_setting


def keep_compiled() -> None:
    """Programs are compiled once on a machine, not once in a process; whoever has chosen a place keeps it."""
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None:
        return
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    settings.update("jax_compilation_cache_dir", str(Path(caches) / "rewardmachines" / "jax"))
