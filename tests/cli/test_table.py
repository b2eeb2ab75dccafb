"""The table of commands and the package of commands agree, and the help loads none of them."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import iter_modules

import pytest

from rewardmachines.cli import commands
from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.shared import Command


def test_every_module_of_the_package_is_a_command_with_a_line_of_help() -> None:
    assert {module.name for module in iter_modules(commands.__path__)} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_the_class_with_its_name(name: str) -> None:
    command = load_command(name)
    assert issubclass(command, Command)
    assert command.__name__.lower() == name


def test_the_help_waits_for_no_large_library() -> None:
    code = (
        "import sys; from rewardmachines.cli import main; main(['--help']);"
        "sys.exit(bool({'jax', 'matplotlib', 'gymnasium'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0
