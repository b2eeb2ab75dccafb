"""Writes the reference pages of the documentation site: every public name, every option, every setting.

Names come in the order of the table in docs/python.md, and the site fills in their docstrings. Commands are asked for
their help, `hrm settings` for the settings. So no page can say anything else than the code.

    python benchmarks/reference_pages.py build/docs/reference
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Final
from unittest.mock import patch

import rewardmachines as rm
from rewardmachines import envs
from rewardmachines.cli.commands import COMMANDS
from rewardmachines.cli.main import main

ROOT: Final = Path(__file__).parents[1]
_WIDE: Final = "4000"
"""Columns of a terminal in which every option has its help on one line."""

_GROUP: Final = re.compile(r"^\| ([^|`]+) \| (`.*`) \|$", re.MULTILINE)
_NAME: Final = re.compile(r"`((?:envs\.)?\w+)`")
_LINK: Final = re.compile(r" \(\[.*?\]\(.*?\)\)")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_BOX: Final = re.compile(r"^╭─+ (.*?) ─+╮\n(.*?)^╰", re.MULTILINE | re.DOTALL)
_BARE: Final = re.compile(r"<(?=\w)")

PRESETS: Final = ("fast", "table", "paper")
SETTINGS: Final = {
    "hrm learn craftworld": ("craftworld", "--of", "learn"),
    "hrm learn waterworld": ("waterworld", "--of", "learn"),
    "hrm train craftworld": ("craftworld", "--of", "train"),
    "hrm train craftworld --agent crm": ("craftworld", "--of", "train", "--agent", "crm"),
}
"""The configs, and the arguments by which `hrm settings` prints each."""


def python_page() -> str:
    """Every name of `rm.__all__` and of `rewardmachines.envs`, grouped by what it is for.

    Raises:
        ValueError: The tables in docs/python.md leave out a name.
    """
    groups = _GROUP.findall((ROOT / "docs" / "python.md").read_text())
    listed = {name for _, names in groups for name in _NAME.findall(names)}
    public = {*rm.__all__, *(f"envs.{name}" for name in envs.__all__)}
    if missing := public - listed:
        raise ValueError(f"docs/python.md says nothing of {', '.join(sorted(missing))}")
    parts = ["# Python: every name", "Everything that `import rewardmachines as rm` gives, and `rewardmachines.envs`."]
    for purpose, names in groups:
        title = _LINK.sub("", purpose)
        parts.append(f"## {title[0].upper()}{title[1:]}")
        parts += [f"::: rewardmachines.{name}" for name in _NAME.findall(names) if name in public]
    return "\n\n".join(parts) + "\n"


def commands_page() -> str:
    """Every command of `hrm` with its options, from its parser."""
    parts = ["# Commands: every option", "What `hrm COMMAND --help` says, for every command."]
    for name, summary in COMMANDS.items():
        parts += [f"## hrm {name}", f"{summary[0].upper()}{summary[1:]}.", command_text(help_of(name))]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Every setting, with its value by preset."""
    parts = ["# Settings", "What `--set NAME=VALUE` takes, with values by preset (`--preset`)."]
    parts.append("Values are those of the first setting of the domain; `hrm settings` has those of the others.")
    for title, words in SETTINGS.items():
        head = ["name", *PRESETS, "meaning"]
        rows = [head, ["---"] * len(head), *setting_rows(words)]
        parts += [f"## {title}", "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join(parts) + "\n"


def setting_rows(words: Sequence[str]) -> list[list[str]]:
    """A row for each setting: its name, its value by preset, its meaning and what it can be."""
    by_preset = [json.loads(output_of("settings", *words, "--preset", preset, "--json")) for preset in PRESETS]
    values = [{each["name"]: json.dumps(each["value"]).strip('"') for each in settings} for settings in by_preset]
    return [
        [f"`{name}`", *(f"`{of[name]}`" for of in values), cell(f"{each['meaning']} *Can be {each['kind']}.*")]
        for each in by_preset[0]
        for name in [each["name"]]
    ]


def help_of(name: str) -> str:
    """The help of one command, in a terminal so wide that no line is broken."""
    return _COLOUR.sub("", output_of(name, "--help"))


def output_of(*words: str) -> str:
    """The output of `hrm` for some arguments."""
    written = BytesIO()
    with TextIOWrapper(written, encoding="utf-8") as stream:  # only with an encoding are boxes drawn
        with patch.dict(os.environ, COLUMNS=_WIDE), redirect_stdout(stream):
            main(words)
        stream.flush()
        return written.getvalue().decode()


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
    return [f"| `{option}` | {_BARE.sub('&lt;', cell(meaning))} |" for option, meaning in entries]


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", r"\|")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "python.md").write_text(python_page())
    (folder / "commands.md").write_text(commands_page())
    (folder / "settings.md").write_text(settings_page())
