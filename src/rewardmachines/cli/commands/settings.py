"""The command `hrm settings`: what `--set` takes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import tyro

from rewardmachines.agents.choices import Preset
from rewardmachines.cli.domains import OptionalDomainChoice, SettingChoice
from rewardmachines.cli.shared import Command, Flag, say, write_json
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.library import domain_names


@dataclass(frozen=True)
class Settings(Command):
    """Print the settings of a preset, which --set changes, as a TOML file: values, what they can be and mean.

    Try:
      hrm settings
      hrm settings --of train --preset paper
      hrm settings waterworld --setting wod --fresh
      hrm settings --of train --agent crm --json

    Each is changed with --set, such as hrm learn craftworld --set calls.batch=64 --set "network.hidden=[128]".
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.lhrm.presets",)

    domain: OptionalDomainChoice = None
    setting: SettingChoice = None
    of: Literal["learn", "train"] = "learn"
    """Whose settings: those of hrm learn, among which are its agent's, or those of hrm train."""
    preset: Annotated[Preset, tyro.conf.EnumChoicesFromValues] = Preset.FAST
    """Whose values: fast is tuned for wall clock, paper is as published, table is between them."""
    agent: Annotated[str, tyro.conf.arg(metavar="hrl|flat-hrl|crm|NAME")] = "hrl"
    """What hrm train trains; crm has settings of its own."""
    fresh: Flag = False
    """The values for --instances fresh."""
    json: Flag = False
    """Print them as JSON."""

    def run(self) -> int:
        from rewardmachines.envs.registry import domain
        from rewardmachines.files.settings import described_settings, toml_of_settings

        name = self.domain or domain_names()[0]
        setting = domain(name).setting_name(self.setting or domain(name).default_setting)
        config = self._config(name, setting)
        if self.json:
            write_json([asdict(each) for each in described_settings(config, within="agent")])
            return 0
        fresh = ", fresh instances" if self.fresh else ""
        say(f"# hrm {self.of}: {name} {setting}, preset {self.preset.value}{fresh}. Change with --set NAME=VALUE.\n")
        if self.of == "train":
            parts = {"agent" if self.agent == "hrl" else self.agent: described_settings(config)}
        else:
            own = tuple(each for each in described_settings(config) if not each.name.startswith("agent."))
            parts = {"agent": described_settings(config.agent), "learn": own}
        say(toml_of_settings(parts))
        return 0

    def _config(self, name: str, setting: str) -> Any:
        from rewardmachines.agents.presets import preset
        from rewardmachines.lhrm.presets import lhrm_preset

        if self.of == "train":
            return preset(self.preset, name, setting, self.agent, fresh=self.fresh)
        if self.agent != "hrl":
            raise RewardMachineError(f"--agent {self.agent} is for hrm train: add --of train")
        return lhrm_preset(self.preset, name, setting, fresh=self.fresh)
