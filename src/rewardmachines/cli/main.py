"""Reads the command line, runs one command, and turns every foreseeable problem into one line and exit status 2."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from io import TextIOWrapper, UnsupportedOperation
from typing import Final

from rich.table import Table

from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.parsing import UsageError, parse
from rewardmachines.cli.shared import Command, PipedConsole, escaped, loading, log
from rewardmachines.core.errors import MissingExtraError, RewardMachineError, shortened
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.files.extras import explain_missing
from rewardmachines.files.version import package_version
from rewardmachines.runs.interrupt import INTERRUPTED, end_on_interrupt, hear_interrupt


def open_streams() -> None:
    """Makes sure that there are streams, whatever the command was started with.

    A stream that was closed from the beginning leads nowhere from now on. What an encoding cannot spell, such as a name
    that is no text, is written as an escape and does not end the command.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115, it stays open
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def give_up_output() -> bool:
    """Whether standard output cannot be written to any longer; then nothing more is.

    Without that, Python would try once more at its end and complain.
    """
    try:
        descriptor = sys.stdout.fileno()
    except UnsupportedOperation:  # it is kept in memory
        return False
    if _is_writable(descriptor):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    return True


def _is_writable(descriptor: int) -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return not _has_no_reader(descriptor)


def _has_no_reader(descriptor: int) -> bool:
    """Whether the other end of a pipe is closed, which is known before anything is written to it."""
    if not hasattr(select, "poll"):  # not on Unix
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are always reported
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


_OUT_OF_MEMORY: Final = (
    "out of memory: what is asked for needs more than there is; training takes less with a lower batch, environments "
    "or replay_size (--set NAME=VALUE, hrm settings); delete the folder of the run first, or choose another with -o"
)

_BEFORE: Final = """[bold]hrm[/bold] COMMAND …

Hierarchies of reward machines: learn, write, run, draw, flatten, minimize and compare them.
"""
_AFTER: Final = """
[bold]FILE[/bold] is a machine file (YAML or JSON), a flat automaton (.hoa), or a name from the library. Try:

  hrm learn craftworld --quick
  hrm train craftworld cake
  hrm draw craftworld/book -o book.svg
  hrm run craftworld/book --trace "sugarcane workbench {} rabbit workbench table"
  hrm compile "(wheat & chicken) ; table" -o batter.yaml

[bold]hrm COMMAND --help[/bold] explains a command, [bold]hrm --version[/bold] prints the version.
Exit status: 0 fine, 1 the answer is no, 2 something is wrong with the input."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `hrm` and returns its exit status.

    Args:
        arguments: The words of the command line; without any, those of this process, which is then a program.
    """
    if arguments is None:
        end_on_interrupt()
    open_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(words)
        sys.stdout.flush()
    except (UsageError, MissingExtraError) as problem:
        return _fail(str(problem))
    except RewardMachineError as problem:
        return _fail(f"hrm: {problem}")
    except OSError as problem:
        return _fail_on_system(problem)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (MemoryError, RuntimeError) as problem:
        if not _is_out_of_memory(problem):
            raise
        return _fail(f"hrm: {_OUT_OF_MEMORY}")
    return status


def _is_out_of_memory(problem: Exception) -> bool:
    """Whether memory ran out, also that of a device: JAX has an error of its own for it, not imported here."""
    return isinstance(problem, MemoryError) or "RESOURCE_EXHAUSTED" in str(problem)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        _print_help()
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        print(f"rewardmachines {package_version()}")
        return 0
    with explain_missing(f"hrm {words[0]}"):
        try:
            command = _read(words)
        except SystemExit:  # the help of a command was asked for, and printed
            return 0
        with nullcontext() if command.hears_interrupt else hear_interrupt(defers=False):
            return command.run()


def _read(words: list[str]) -> Command:
    """The command that the words ask for, with the modules that it needs: they are loaded only if it is understood."""
    name, *rest = words
    if name not in COMMANDS:
        raise RewardMachineError(f"there is no command '{name}'{_meant(name)}")
    command: Command = parse(load_command(name), f"hrm {name}", rest)
    with loading(f"hrm {name}: loading …", quiet=getattr(command, "quiet", False)):
        for module in command.loads:
            import_module(module)
    return command


def _meant(name: str) -> str:
    """A suggestion for a word that is no command, as the end of a message."""
    return suggestion(name, [*COMMANDS, "--help", "--version"]) or "; see hrm --help"


def _print_help() -> None:
    console = PipedConsole(highlight=False, soft_wrap=True)
    console.print(_BEFORE)
    table = Table.grid(padding=(0, 3, 0, 2))
    for name, summary in COMMANDS.items():
        table.add_row(f"[bold cyan]{name}[/bold cyan]", summary)
    console.print(table)
    console.print(_AFTER)


def _fail_on_system(problem: OSError) -> int:
    """Only if standard output itself has lost its reader, all is well: the reader has read enough."""
    output_is_lost = give_up_output()
    if problem.filename:
        return _fail(f"hrm: {problem.filename}: {problem.strerror}")
    if not output_is_lost:
        return _fail(f"hrm: {problem.strerror or problem}")
    return 0 if isinstance(problem, BrokenPipeError) else _fail(f"hrm: standard output: {problem.strerror}")


def _fail(message: str) -> int:
    """Tells what is wrong, in one line even where a name in it is very long, or has line breaks."""
    log(shortened(escaped(message)))
    return 2
