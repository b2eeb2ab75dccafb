"""Words of the command line become a command, and what is wrong with them becomes one line.

tyro explains mistakes in boxes of many lines. What they say is kept, the rest is a `--help` away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr
from dataclasses import fields, replace
from difflib import get_close_matches
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from rewardmachines.cli.numbers import read_number, read_whole
from rewardmachines.core.hierarchy import suggestion

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
