"""The command `hrm completion`: a script by which a shell completes words."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from rewardmachines.cli.commands import COMMANDS, load_arguments
from rewardmachines.cli.completions import arguments, bash, fish, zsh
from rewardmachines.cli.shared import Command


@dataclass(frozen=True)
class Completion(Command):
    """Print a script by which a shell completes commands, options and names.

    Try:
      hrm completion bash > ~/.local/share/bash-completion/completions/hrm
      hrm completion zsh > ~/.hrm.zsh
      hrm completion fish > ~/.config/fish/completions/hrm.fish

    bash and fish find the script there by themselves; for zsh, write "source ~/.hrm.zsh" in ~/.zshrc.
    """

    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]
    """Which shell."""

    def run(self) -> int:
        commands = {name: arguments(load_arguments(name)) for name in COMMANDS}
        if self.shell == "fish":
            script = fish(commands, COMMANDS)
        else:
            script = zsh(commands) if self.shell == "zsh" else bash(commands)
        sys.stdout.write(script)
        return 0
