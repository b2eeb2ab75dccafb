"""What `hrm settings` is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from rewardmachines.agents.choices import Algorithm, Preset
from rewardmachines.cli.domains import OptionalDomainChoice, SettingChoice
from rewardmachines.cli.shared import Flag


@dataclass(frozen=True)
class SettingsArguments:
    """List what --set takes: the settings of a preset, what they can be, their values and what they mean.

    Try:
      hrm settings
      hrm settings --of train --preset paper
      hrm settings waterworld --setting wod --fresh
      hrm settings --of train --algorithm crm --json

    Each is changed with --set NAME=VALUE, such as hrm learn craftworld --set batch=64 --set "network.hidden=[128]".
    """

    domain: OptionalDomainChoice = None
    setting: SettingChoice = None
    of: Literal["learn", "train"] = "learn"
    """Whose settings: those of hrm learn, among which are its agent's, or those of hrm train."""
    preset: Annotated[Preset, tyro.conf.EnumChoicesFromValues] = Preset.FAST
    """Whose values: fast is tuned for wall clock, paper is as published, table is between them."""
    algorithm: Annotated[Algorithm, tyro.conf.EnumChoicesFromValues] = Algorithm.HRL
    """What hrm train trains; crm has settings of its own."""
    fresh: Flag = False
    """The values for --instances fresh."""
    json: Flag = False
    """Print them as JSON."""
