"""Writes the reference pages of the documentation site: every public name, and every option of every command.

Names come in the order of the table in docs/python.md, and the site fills in their docstrings. Commands are asked for
their help. So neither page can say anything else than the code.

    python benchmarks/reference_pages.py build/docs/reference
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Final
from unittest.mock import patch

import rewardmachines as rm
from rewardmachines.cli.commands import COMMANDS, load_command
from rewardmachines.cli.parsing import parse

ROOT: Final = Path(__file__).parents[1]
_WIDE: Final = "4000"
"""Columns of a terminal in which every option has its help on one line."""

_GROUP: Final = re.compile(r"^\| ([^|`]+) \| (`.*`) \|$", re.MULTILINE)
_NAME: Final = re.compile(r"`(\w+)`")
_LINK: Final = re.compile(r" \(\[.*?\]\(.*?\)\)")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_BOX: Final = re.compile(r"^╭─+ (.*?) ─+╮\n(.*?)^╰", re.MULTILINE | re.DOTALL)
_BARE: Final = re.compile(r"<(?=\w)")


def python_page() -> str:
    """Every name of `rm.__all__`, grouped by what it is for.

    Raises:
        ValueError: The table in docs/python.md leaves out a name.
    """
    groups = _GROUP.findall((ROOT / "docs" / "python.md").read_text())
    listed = {name for _, names in groups for name in _NAME.findall(names)}
    if missing := set(rm.__all__) - listed:
        raise ValueError(f"docs/python.md says nothing of {', '.join(sorted(missing))}")
    parts = ["# Python: every name", "Everything that `import rewardmachines as rm` gives, from its docstrings."]
    for purpose, names in groups:
        title = _LINK.sub("", purpose)
        parts.append(f"## {title[0].upper()}{title[1:]}")
        parts += [f"::: rewardmachines.{name}" for name in _NAME.findall(names) if name in rm.__all__]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every command of `hrm` with its options, from its parser."""
    parts = ["# Commands: every option", "What `hrm COMMAND --help` says, for every command."]
    for name, summary in COMMANDS.items():
        parts += [f"## hrm {name}", f"{summary[0].upper()}{summary[1:]}.", command_text(help_of(name))]
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    """The help of one command, in a terminal so wide that no line is broken."""
    written = BytesIO()
    with TextIOWrapper(written, encoding="utf-8") as stream:  # only with an encoding are boxes drawn
        with patch.dict(os.environ, COLUMNS=_WIDE), redirect_stdout(stream), suppress(SystemExit):
            parse(load_command(name), f"hrm {name}", ["--help"])
        stream.flush()
        return _COLOUR.sub("", written.getvalue().decode())


def command_text(text: str) -> str:
    """The help of a command as a page shows it: its usage, sentences, examples, and a table of its options."""
    usage, _, rest = text.partition("\n\n")
    sentences = rest[: rest.index("╭")].strip()
    parts = [f"```text\n{usage.removeprefix('usage: ')}\n```"]
    for paragraph in re.split(r"\n\s*\n", sentences):
        lines = paragraph.splitlines()
        if lines[0].rstrip() == "Try:":
            parts.append("```bash\n" + "\n".join(line.strip() for line in lines[1:]) + "\n```")
        else:
            parts.append(_BARE.sub("&lt;", " ".join(line.strip() for line in lines)))
    rows = [row for _, inside in _BOX.findall(rest) for row in option_rows(inside)]
    parts.append("\n".join(["| option | meaning |", "| --- | --- |", *rows]))
    return "\n\n".join(parts)


def option_rows(inside: str) -> list[str]:
    """The options in a box of the help, as rows of a table."""
    entries: list[tuple[str, str]] = []
    for line in inside.splitlines():
        content = line.strip("│").removeprefix(" ").rstrip()
        option, _, meaning = content.partition("  ")
        if option:
            entries.append((option, meaning.strip()))
        elif entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {content.strip()}".strip())
    return [f"| `{cell(option)}` | {_BARE.sub('&lt;', cell(meaning))} |" for option, meaning in entries]


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", r"\|")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "python.md").write_text(python_page())
    (folder / "commands.md").write_text(commands_page())
