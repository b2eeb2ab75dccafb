"""Words of the command line become a command, and what is wrong with them becomes one line.

The parser explains mistakes in boxes of many lines. What they say is kept, the rest is a `--help` away.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from dataclasses import fields
from difflib import get_close_matches
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

import tyro

from rewardmachines.cli.words import WORDS
from rewardmachines.core.hierarchy import suggestion

_ERROR: Final = "Error parsing "
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_INSIDE: Final = re.compile(r"[│ ] (.*?)\s*│?")  # where lines cannot be drawn, boxes have none
_RULE: Final = re.compile(r"[─-]+")
_INDENTED: Final = re.compile(r" {4}\S")
_CHOICE: Final = re.compile(
    r"invalid choice '(?P<given>.*)' for argument '(?P<name>.*?)'\. Expected one of \((?P<known>.*)\)"
)
_STRAY: Final = re.compile(r"Unrecognized options: (\S+)\s*[│\n]")
_REWORDED: Final = (
    (re.compile(f"^{_ERROR}"), ""),
    (re.compile(r"^Missing value for argument '(.*?)'\. Expected .*$"), r"\1 needs a value"),
    (re.compile(r"^Unrecognized options: (.*)$"), r"nothing is known of '\1'"),
)


class UsageError(Exception):
    """Words that are not understood; the message is one line."""


def parse(kind: type[Any], program: str, words: Sequence[str]) -> Any:
    """The arguments of a command.

    Args:
        kind: A dataclass whose fields are the arguments.
        program: How the command is called in messages, such as `hrm check`.
        words: What follows the name of the command.

    Raises:
        UsageError: They are not understood.
        SystemExit: They ask for help, which has been printed.
    """
    try:
        _check_options(kind, words)
        return _parsed(kind, program, words)
    except UsageError as problem:
        join = " See" if str(problem).endswith("?") else "; see"
        raise UsageError(f"{program}: {problem}{join} '{program} --help'") from None


def typed_options(words: Sequence[str]) -> frozenset[str]:
    """The names of the fields whose options are among the words, whatever their values are.

    >>> sorted(typed_options(["craftworld", "--max-steps", "1000", "--seed=0", "-o", "run"]))
    ['max_steps', 'seed']
    """
    options = (word.partition("=")[0] for word in words if word.startswith("--"))
    return frozenset(option[2:].replace("-", "_") for option in options)


def _parsed(kind: type[Any], program: str, words: Sequence[str]) -> Any:
    written = StringIO()
    try:
        with redirect_stderr(written):
            return tyro.cli(kind, prog=program, args=words, registry=WORDS)
    except SystemExit as leaving:
        if leaving.code in (None, 0):
            raise
        raise UsageError(_in_one_line(written.getvalue()) + _meant(kind, written.getvalue())) from None


def _meant(kind: type[Any], box: str) -> str:
    """What was perhaps meant by a word too many, as the end of a message: a task is an option, easily forgotten."""
    stray = _STRAY.search(_COLOUR.sub("", box))
    has_task = any(field.name == "task" for field in fields(kind))
    return f"; did you mean --task {stray[1]}?" if stray and has_task and not stray[1].startswith("-") else ""


def _check_options(kind: type[Any], words: Sequence[str]) -> None:
    """Finds misspelt options, for which the parser blames whatever follows, and empty names of files."""
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
    """What was perhaps meant by an option, as the end of a message. All have two dashes, which make none similar."""
    close = get_close_matches(option[2:], [other[2:] for other in known], n=1)
    return f"; did you mean '--{close[0]}'?" if close else ""


def _is_path(hint: Any) -> bool:
    return hint is Path or any(map(_is_path, get_args(hint)))


def _in_one_line(box: str) -> str:
    """What a box says, up to the rule below which it points to the help."""
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
        hint = suggestion(given, known)
        return f"{name} is one of {', '.join(sorted(known))}, not '{given}'{hint}"
    for pattern, words in _REWORDED:
        message = pattern.sub(words, message)
    return message or "these words are not understood"
