"""Reads the command line, runs one command, and turns every foreseeable problem into one line and exit status 2."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, redirect_stderr
from dataclasses import fields, replace
from difflib import get_close_matches
from importlib import import_module
from io import StringIO, TextIOWrapper, UnsupportedOperation
from itertools import zip_longest
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import tyro
from rich.table import Table
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.numbers import read_number, read_whole
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


_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_INSIDE: Final = re.compile(r"[│ ] (.*?)\s*│?")  # where lines cannot be drawn, boxes have none
_RULE: Final = re.compile(r"[─-]+")
_INDENTED: Final = re.compile(r" {4}\S")
_CHOICE: Final = re.compile(
    r"invalid choice '(?P<given>.*)' for argument '(?P<name>.*?)'\. Expected one of \((?P<known>.*)\)"
)
_REWORDED: Final = (
    (re.compile(r"^Error parsing "), ""),
    (re.compile(r"^Missing value for argument '(.*?)'\. Expected .*$"), r"\1 needs a value"),
    (re.compile(r"^Unrecognized options: (.*)$"), r"nothing is known of '\1'"),
)


class UsageError(Exception):
    """Words that are not understood; the message is one line."""


# -- how arguments are read


def _one_word(kind: type, metavar: str, read: Callable[[str], object]) -> PrimitiveConstructorSpec[Any]:
    """A parser for arguments of one word, with their name in the help: a word, not a type of Python."""

    def from_words(words: Sequence[str]) -> object:
        return read(words[0])

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=from_words,
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [str(value)],
    )


_KINDS: Final[dict[Any, PrimitiveConstructorSpec[Any]]] = {
    int: _one_word(int, "NUMBER", read_whole),
    float: _one_word(float, "NUMBER", read_number),
    str: _one_word(str, "TEXT", str),
}
_RULES: Final = ConstructorRegistry()


@_RULES.primitive_rule
def _in_words(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Reads numbers as texts write them. Optional arguments are read as required ones: None is never written."""
    if info.type in _KINDS:
        return _KINDS[info.type]
    members = get_args(info.type)
    if len(members) != 2 or NoneType not in members:
        return None
    (wanted,) = (member for member in members if member is not NoneType)
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(wanted, info.markers))
    if not isinstance(spec, PrimitiveConstructorSpec):
        return None
    return replace(
        spec,
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: ["none"] if value is None else spec.str_from_instance(value),
    )


# -- words become a command


def parse(kind: type[Any], program: str, words: Sequence[str]) -> Any:
    """The arguments of a command.

    Args:
        kind: A dataclass whose fields are the arguments.
        program: The name of the command in messages, such as `hrm check`.
        words: The words after the name of the command.

    Raises:
        UsageError: They are not understood.
        SystemExit: They ask for help, which has been printed.
    """
    written = StringIO()
    try:
        _check_options(kind, words)
        with redirect_stderr(written):
            return tyro.cli(kind, prog=program, args=words, registry=_RULES)
    except SystemExit as leaving:
        if leaving.code in (None, 0):
            raise
        problem = _in_one_line(written.getvalue())
    except UsageError as found:
        problem = str(found)
    join = " See" if problem.endswith("?") else "; see"
    raise UsageError(f"{program}: {problem}{join} '{program} --help'")


def _check_options(kind: type[Any], words: Sequence[str]) -> None:
    """Finds misspelt options, for which tyro blames whatever follows, and empty names of files."""
    known = {f"--{field.name.replace('_', '-')}": field.name for field in fields(kind)}
    hints = get_type_hints(kind)
    of_files = {option for option, name in known.items() if _is_path(hints[name])} | {"-o"}
    for word, following in zip_longest(words, words[1:]):
        if word == "--":
            return
        option, equals, value = word.partition("=")
        option = option.replace("_", "-")
        if f"-{option}" in known:
            raise UsageError(f"{option} has two dashes: -{option}")
        if option.startswith("--") and option not in known and option != "--help":
            raise UsageError(f"there is no option {option}{_similar(option, known)}")
        if option in of_files and (value if equals else following) == "":
            raise UsageError(f"{option} needs the name of a file, not ''")


def _similar(option: str, known: Iterable[str]) -> str:
    """A suggestion for an unknown option, as the end of a message. All have two dashes, which make none similar."""
    close = get_close_matches(option[2:], [other[2:] for other in known], n=1)
    return f"; did you mean '--{close[0]}'?" if close else ""


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, get_args(hint)))


# -- what is wrong, in one line


def _in_one_line(box: str) -> str:
    """The message of a box, up to the rule below which it points to the help."""
    sentences: list[str] = []
    for line in _COLOUR.sub("", box).splitlines()[1:]:  # below the title
        inside = _INSIDE.fullmatch(line)
        if inside and _RULE.fullmatch(inside[1]):
            break
        sentences += [inside[1]] if inside else []
    if sentences and sentences[0].startswith("Missing from"):
        # An option with a short form is listed as "-o PATH, --output PATH".
        missing = [line.split(", ")[-1].strip() for line in sentences if _INDENTED.match(line)]
        return f"{' and '.join(missing)} must be given"
    return _reworded(" ".join(line.strip() for line in sentences).removesuffix("."))


def _reworded(message: str) -> str:
    if choice := _CHOICE.search(message):
        given, name = choice["given"], choice["name"]
        known = [word for word in re.findall(r"'(.*?)'", choice["known"]) if word != "None"]
        return f"{name} is one of {', '.join(sorted(known))}, not '{given}'{suggestion(given, known)}"
    for pattern, words in _REWORDED:
        message = pattern.sub(words, message)
    return message or "these words are not understood"
