"""The common parts of the commands: kinds of arguments, sources of hierarchies and traces, and outputs."""

from __future__ import annotations

import difflib
import glob
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import ENAMETOOLONG, EPIPE
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import tyro
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from rewardmachines.cli.domains import load_domain_of
from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.formula import Formula, Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.labelsets import Labels
from rewardmachines.core.sizes import Size
from rewardmachines.core.text import parse_formula
from rewardmachines.exchange import from_dot, from_hoa
from rewardmachines.files import dumps, load, plain, read_places, save, write_aside
from rewardmachines.files.document import read_text
from rewardmachines.learning import ContradictoryTracesError
from rewardmachines.library import find, names
from rewardmachines.traces import Trace, singletons

AUTOMATON_SUFFIXES: Final = (".hoa", ".dot")
File: TypeAlias = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
Output: TypeAlias = Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="PATH")]
Flag: TypeAlias = Annotated[bool, tyro.conf.FlagCreatePairsOff]
Quiet: TypeAlias = Annotated[
    bool, tyro.conf.FlagCreatePairsOff, tyro.conf.arg(help="Show no progress, only what came of it, and what is wrong.")
]
"""Whether no progress is shown."""
LabelChoice: TypeAlias = Annotated[str, tyro.conf.arg(metavar="all|singletons|FORMULA")]


@dataclass(frozen=True)
class Command(ABC):
    """A command whose arguments, the fields of its class, have been read from the command line."""

    loads: ClassVar[tuple[str, ...]] = ()
    """The modules that take long to load. They are loaded once the words are understood, and imported inside `run`."""
    hears_interrupt: ClassVar[bool] = False
    """Whether it makes a run, which hears Ctrl-C itself when its first chunk begins."""

    @abstractmethod
    def run(self) -> int:
        """Runs the command and returns its exit status."""


def exists(name: str) -> bool:
    """Whether a file or folder of that name exists. A text that is too long for a name does not."""
    try:
        return Path(name).exists()
    except OSError as problem:
        if problem.errno == ENAMETOOLONG:
            return False
        raise


def is_trace_file(text: str) -> bool:
    """Whether an argument that stands for traces is the name of a trace file; otherwise it spells labels itself."""
    return text.endswith(".jsonl") or (exists(text) and not Path(text).is_dir())


def read_hierarchy(name: str) -> Hierarchy:
    """Reads a hierarchy from a file if there is one of that name, and from the library otherwise.

    Args:
        name: The name of a machine file, of an automaton (.hoa, .dot), or of a hierarchy in the library.

    Raises:
        RewardMachineError: There is neither, the file does not hold a hierarchy, or an installed package offers the
            domain and it cannot be loaded.
    """
    path = Path(name)
    if path.suffix.lower() in AUTOMATON_SUFFIXES:
        return read_automaton(path)
    if exists(name) or path.suffix.lower() in (".yaml", ".yml", ".json"):
        return load(path)
    load_domain_of(name)
    try:
        return find(name)
    except RewardMachineError as problem:
        if "/" in name:
            raise RewardMachineError(f"{name}: no such file, and {problem}") from None
        raise RewardMachineError(f"{name}: no such file{_meant(name)}") from None


def _meant(name: str) -> str:
    """A suggestion from the library for a name without its domain, as the end of a message."""
    by_task = {other.partition("/")[2]: other for other in reversed(names())}
    close = difflib.get_close_matches(name, by_task, n=1)
    return f"; did you mean '{by_task[close[0]]}'?" if close else "; `hrm library` lists what comes with the package"


def read_automaton(path: Path, accept: str | None = None, end: str | None = None) -> Hierarchy:
    """Reads an automaton (.hoa, .dot); with `accept` or `end`, it is one of finite traces, as `from_hoa` reads it."""
    text = read_text(path)
    try:
        if path.suffix.lower() == ".dot":
            return from_dot(text, accept=accept or "first", end=end)
        return from_hoa(text, accept=accept, end=end)
    except RewardMachineError as problem:
        raise RewardMachineError(f"{path}: {problem}") from None


def read_callables(names: tuple[str, ...]) -> list[Hierarchy]:
    """Reads the hierarchies whose machines may be called.

    Args:
        names: Files, patterns of files, and names from the library. A machine that is named twice counts once.

    Raises:
        RewardMachineError: No file matches a pattern, or two different machines have one name.
    """
    callables: dict[str, Hierarchy] = {}
    for name in names:
        paths = sorted(glob.glob(name)) if any(c in name for c in "*?[") else [name]
        if not paths:
            raise RewardMachineError(f"--callable {name}: no file matches")
        for path in paths:
            hierarchy = read_hierarchy(path)
            if callables.setdefault(hierarchy.root, hierarchy) != hierarchy:
                raise RewardMachineError(f"--callable {path}: another machine is called '{hierarchy.root}' already")
    return list(callables.values())


def read_labels(choice: str, *hierarchies: Hierarchy) -> tuple[Label, ...] | Formula | None:
    """Reads which labels can occur.

    Args:
        choice: `all`, `singletons` for labels of at most one proposition, or a formula that labels satisfy.
        *hierarchies: Those whose propositions occur.

    Returns:
        The labels, the formula that they satisfy, or None for all of them.
    """
    if choice == "all":
        return None
    if choice == "singletons":
        return singletons(dict.fromkeys(p for h in hierarchies for p in h.propositions))
    return parse_formula(choice)


def describe_labels(labels: Labels) -> str:
    """Says in words which labels can occur."""
    if labels is None:
        return "all labels"
    return f"labels with {labels}" if isinstance(labels, Formula) else "labels of at most one proposition"


def write_hierarchy(hierarchy: Hierarchy, output: Path | None, *, as_json: bool) -> None:
    """Writes a hierarchy to a file, or to standard output as YAML or JSON."""
    if output is not None:
        save(hierarchy, output)
        log(f"wrote {output}")
    elif as_json:
        write_json(plain(hierarchy))
    else:
        sys.stdout.write(dumps(hierarchy))


def write_text(text: str, output: Path | None) -> None:
    """Writes a text to a file, or to standard output."""
    if output is None:
        sys.stdout.write(text)
    else:
        write_aside(output, text)
        log(f"wrote {output}")


def write_json(content: Any) -> None:
    """Writes a result to standard output as indented JSON."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    # JSON escapes the control characters of ASCII only.
    say("".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text))


def escaped(text: str, kept: str = "") -> str:
    """The text with escapes in place of what is not printable: names of others must do nothing to a terminal.

    Args:
        text: The text.
        kept: Characters that are meant, such as line breaks.
    """
    if text.isprintable():
        return text
    shown = (c if c.isprintable() or c in kept else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return "".join(shown)


def say(message: str) -> None:
    """Prints a line of the result to standard output, or several lines."""
    print(escaped(message, "\n"), flush=True)


def log(message: str) -> None:
    """Writes a message that is not the result to standard error; a closed pipe is no error."""
    with suppress(BrokenPipeError):
        print(escaped(message, "\n"), file=sys.stderr)


@contextmanager
def naming_lines(paths: Sequence[str]) -> Iterator[None]:
    """Adds the lines of both traces to a contradiction that is found inside.

    Args:
        paths: The trace files. They are read again only for a contradiction, which is impossible for a pipe.

    Raises:
        RewardMachineError: What was raised inside, with the lines.
    """
    try:
        yield
    except ContradictoryTracesError as problem:
        if not all(Path(path).is_file() for path in paths):
            raise
        wanted = set(problem.traces)
        places: dict[object, str] = {}
        for place, trace in chain.from_iterable(map(read_places, paths)):
            if trace in wanted:
                places.setdefault(trace, place)
        raise RewardMachineError(f"{' and '.join(places.values())}: {problem}") from None


@contextmanager
def loading(message: str, *, quiet: bool = False) -> Iterator[None]:
    """Shows on the terminal of standard error that a step takes time; without a terminal, nothing is shown.

    Args:
        message: The step that takes time.
        quiet: Whether nothing is shown there either.
    """
    console = SafeConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(Text(message)):
        yield


def tell_sizes(before: Size, after: Size) -> None:
    """Prints the old and the new size of a hierarchy."""
    log(f"{before.states} states, {before.edges} edges -> {after.states} states, {after.edges} edges")


class SafeConsole(Console):
    """A console to which names of others do nothing: all that is printed is escaped, but for what the console adds."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(escaped(text, "\n"), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escaped(segment.text, "\n"))


class PipedConsole(SafeConsole):
    """A console that leaves it to `main` what to do when standard output has lost its reader."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(EPIPE, os.strerror(EPIPE))


def console() -> Console:
    """A console for tables, which are as wide as they need to be where standard output is not a terminal.

    Nothing in a name is read as markup.
    """
    is_terminal = sys.stdout.isatty()
    width = None if is_terminal else 200
    return PipedConsole(soft_wrap=not is_terminal, highlight=False, markup=False, emoji=False, width=width)


def plain_table(
    names: Sequence[str], rows: Iterable[Sequence[RenderableType]], left: Iterable[str] = ()
) -> Table:  # fmt: skip
    """A table without lines.

    Args:
        names: The names of its columns.
        rows: The cells.
        left: The columns that are aligned to the left, which those of numbers are not.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, justify="left" if name in left else "right")
    for row in rows:
        table.add_row(*row)
    return table


def check_propositions(hierarchy: Hierarchy, traces: Iterable[Trace], source: str = "", advice: str = "") -> None:
    """Refuses traces in which there are propositions that the hierarchy does not declare.

    Args:
        hierarchy: The hierarchy that processes the traces.
        traces: From a file, or a single one from the command line.
        source: The name of the file.
        advice: The advice if no known proposition has a similar name.

    Raises:
        UnknownPropositionError: There is such a proposition.
    """
    for number, trace in enumerate(traces, start=1):
        for position, label in enumerate(trace.labels, start=1):
            if unknown := sorted(label - set(hierarchy.propositions)):
                where = f"{source}, trace {number}, label {position}" if source else f"trace, label {position}"
                hint = suggestion(unknown[0], hierarchy.propositions) or advice
                raise UnknownPropositionError(f"{where}: the hierarchy has no proposition '{unknown[0]}'{hint}")
