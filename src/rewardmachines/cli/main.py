"""Reads the command line, runs one command, and turns every foreseeable problem into one line and exit status 2."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import tyro

from rewardmachines.cli.analysis import Check, Equivalent, Stats
from rewardmachines.cli.command import Command
from rewardmachines.cli.making import Compile, Flatten, Library, Minimize
from rewardmachines.cli.running import Run
from rewardmachines.cli.showing import Draw, Export
from rewardmachines.core.errors import RewardMachineError

_COMMANDS: dict[str, type[Command]] = {
    "compile": Compile,
    "check": Check,
    "run": Run,
    "draw": Draw,
    "flatten": Flatten,
    "minimize": Minimize,
    "equivalent": Equivalent,
    "stats": Stats,
    "export": Export,
    "library": Library,
}

_DESCRIPTION = """Hierarchies of reward machines: write, run, draw, flatten, minimize and compare them.

FILE is a machine file (YAML or JSON), a flat automaton in HOA format (.hoa), or a name from the library
such as craftworld/book. Try:

  hrm draw craftworld/book -o book.svg
  hrm run craftworld/book --trace "sugarcane workbench {} rabbit workbench table"
  hrm compile "(wheat & chicken) ; table" -o batter.yaml

Exit status: 0 fine, 1 the answer is no, 2 something is wrong with the input.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `hrm` and returns its exit status."""
    try:
        command = tyro.extras.subcommand_cli_from_dict(
            dict(_COMMANDS), prog="hrm", description=_DESCRIPTION, args=arguments, sort_subcommands=False
        )
        assert isinstance(command, Command)
        status = command.run()
        sys.stdout.flush()
    except RewardMachineError as problem:
        return _fail(str(problem))
    except BrokenPipeError:
        # Whoever reads has read enough; nothing may be written when Python closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as problem:
        return _fail(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem))
    except KeyboardInterrupt:
        return 130
    return status


def _fail(message: str) -> int:
    print(f"hrm: {message}", file=sys.stderr)
    return 2
