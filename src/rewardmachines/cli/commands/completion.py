"""The command `hrm completion`: a script by which a shell completes words, made of the arguments of all commands.

tyro's own scripts start Python for every word, and offer neither domains nor machines.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.shared import Command, File
from rewardmachines.files.settings import field_texts
from rewardmachines.library import domain_names, names


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
    """The shell."""

    def run(self) -> int:
        commands = {name: arguments(load_command(name)) for name in COMMANDS}
        if self.shell == "fish":
            script = fish(commands, COMMANDS)
        else:
            script = zsh(commands) if self.shell == "zsh" else bash(commands)
        sys.stdout.write(script)
        return 0


# -- what can be typed


@dataclass(frozen=True)
class Argument:
    """An argument of a command, as a shell sees it."""

    names: tuple[str, ...]
    """Its names, such as `-o` and `--output`; empty, if it stands alone."""
    text: str
    """Its purpose, in a sentence."""
    takes_value: bool
    values: tuple[str, ...] = ()
    """Its possible values, if they are known."""
    is_file: bool = False


def arguments(kind: type[Any]) -> tuple[Argument, ...]:
    """The arguments of a command."""
    hints, texts = get_type_hints(kind, include_extras=True), field_texts(kind)
    return tuple(_argument(field.name, hints[field.name], texts.get(field.name, "")) for field in fields(kind))


def _argument(name: str, hint: Any, text: str) -> Argument:
    members = tuple(_members(hint))
    is_alone = get_origin(hint) is Annotated and tyro.conf.Positional in hint.__metadata__
    option = f"--{name.replace('_', '-')}"
    options = () if is_alone else ("-o", option) if name == "output" else (option,)
    is_machine = hint == File
    is_place = name in ("domain", "where")
    values = domain_names() if is_place else names() if is_machine else tuple(_values(members))
    return Argument(options, text.partition(".")[0], bool not in members, tuple(values), is_machine or Path in members)


def _members(hint: Any) -> Iterator[Any]:
    """The plain types of which a hint is made."""
    inside = get_args(hint)
    if get_origin(hint) is Annotated:
        yield from _members(inside[0])
    elif get_origin(hint) is Literal or not inside:
        yield hint
    else:
        for member in inside:
            yield from _members(member)


def _values(members: Sequence[Any]) -> Iterator[str]:
    for member in members:
        if get_origin(member) is Literal:
            yield from get_args(member)
        elif isinstance(member, type) and issubclass(member, Enum):
            yield from (each.value for each in member)


def bash(commands: Mapping[str, Sequence[Argument]]) -> str:
    """The script for bash."""
    first = " ".join((*commands, "--help", "--version"))
    return "\n".join(
        [
            "# Completes the words of hrm in bash.",
            "_hrm() {",
            '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="${COMP_WORDS[1]}"',
            "  COMPREPLY=()",
            f'  if [ "$COMP_CWORD" -eq 1 ]; then {_bash_reply(first.split())}; return; fi',
            '  case "$cmd $prev" in',
            *(line for name, known in commands.items() for line in _bash_values(name, known)),
            "  esac",
            '  case "$cmd" in',
            *(line for name, known in commands.items() for line in _bash_words(name, known)),
            "  esac",
            "}",
            "complete -o filenames -F _hrm hrm",
            "",
        ]
    )


def _bash_reply(words: Sequence[str], *, with_files: bool = False) -> str:
    files = ' $(compgen -f -- "$cur")' if with_files else ""
    listed = f'$(compgen -W {shlex.quote(" ".join(words))} -- "$cur")' if words else ""
    return f"COMPREPLY=({listed}{files})"


def _bash_values(command: str, known: Sequence[Argument]) -> Iterator[str]:
    """The possible values of each option that takes one."""
    for each in known:
        if each.names and each.takes_value:
            pattern = "|".join(shlex.quote(f"{command} {name}") for name in each.names)
            yield f"    {pattern}) {_bash_reply(each.values, with_files=each.is_file)}; return;;"


def _bash_words(command: str, known: Sequence[Argument]) -> Iterator[str]:
    """The options of a command, or what stands alone."""
    options = [name for each in known for name in each.names if name.startswith("--")]
    alone = [each for each in known if not each.names]
    values = [value for each in alone for value in each.values]
    yield f"    {command})"
    yield f'      if [[ "$cur" == -* ]]; then {_bash_reply([*options, "--help"])}'
    yield f"      else {_bash_reply(values, with_files=any(each.is_file for each in alone) or not values)}; fi;;"


def zsh(commands: Mapping[str, Sequence[Argument]]) -> str:
    """The script for zsh, which understands what bash does."""
    return f"autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n{bash(commands)}"


def fish(commands: Mapping[str, Sequence[Argument]], summaries: Mapping[str, str]) -> str:
    """The script for fish.

    Args:
        commands: The arguments of each command.
        summaries: The purpose of each command.
    """
    lines = ["# Completes the words of hrm in fish.", "complete -c hrm -f"]
    for name, known in commands.items():
        lines.append(f"complete -c hrm -n __fish_use_subcommand -a {name} -d {_fish_quote(summaries[name])}")
        lines += [f"complete -c hrm -n '__fish_seen_subcommand_from {name}' {_fish(each)}" for each in known]
    return "\n".join([*lines, ""])


def _fish(argument: Argument) -> str:
    words = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in argument.names]
    if argument.is_file:
        words.append("-r -F" if argument.names else "-F")
    elif argument.names and argument.takes_value:
        words.append("-x")
    if argument.values:
        words.append(f"-a {_fish_quote(' '.join(argument.values))}")
    return " ".join([*words, f"-d {_fish_quote(argument.text)}"])


def _fish_quote(text: str) -> str:
    """Quotes a text for fish, in which only the backslash and the quote itself need one."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
