"""The command `hrm settings`: what `--set` takes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rich.table import Table

from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.presets import preset
from rewardmachines.cli.arguments.settings import SettingsArguments
from rewardmachines.cli.shared import Command, console, say, write_json
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.library import domain_names
from rewardmachines.runs.settings import Setting, described_settings


@dataclass(frozen=True)
class Settings(SettingsArguments, Command):
    """List what --set takes: the settings of a preset, what they can be, their values and what they mean."""

    def run(self) -> int:
        name = self.domain or domain_names()[0]
        setting = domain(name).setting_name(self.setting or domain(name).default_setting)
        settings = described_settings(self._config(name, setting), within="agent")
        if self.json:
            write_json([asdict(each) for each in settings])
            return 0
        fresh = ", fresh instances" if self.fresh else ""
        say(f"hrm {self.of}: {name} {setting}, preset {self.preset.value}{fresh}. Change with --set NAME=VALUE.\n")
        console().print(_table(settings))
        return 0

    def _config(self, name: str, setting: str) -> AgentConfig | LhrmConfig:
        if self.of == "train":
            return preset(self.preset, name, setting, self.algorithm, fresh=self.fresh)
        if self.algorithm is not Algorithm.HRL:
            raise RewardMachineError(f"--algorithm {self.algorithm.value} is for hrm train: add --of train")
        return lhrm_preset(self.preset, name, setting, fresh=self.fresh)


def _table(settings: tuple[Setting, ...]) -> Table:
    table = Table("name", "value", "can be", "meaning", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for each in settings:
        table.add_row(each.name, _shown(each.value), each.kind, each.meaning)
    return table


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
