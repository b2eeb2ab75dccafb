"""Whatever a reader is given, it gives a value or says in one kind of error what is wrong: soon, and in little memory.

2,000 texts are read in the suite and 100,000 with `--hypothesis-profile=thorough`.
"""

from __future__ import annotations

import atexit
import gc
import json
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.room_bank import saved_bank
from fuzz.documents import documents
from rewardmachines.agents.bank.files import load_bank
from rewardmachines.agents.bank.manifest import NAME
from rewardmachines.agents.training.spec import TrainOrder, load_order, standard_spec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.text import parse_formula
from rewardmachines.exchange import from_hoa, to_asp, to_hoa
from rewardmachines.exchange.asp import trace_facts
from rewardmachines.exchange.asp_names import proposition
from rewardmachines.files import (
    dump_traces,
    dumps,
    load,
    loads,
    loads_tasks,
    loads_traces,
    parse_word,
    plain,
)
from rewardmachines.language import compile_task
from rewardmachines.library import find
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import FORMAT
from rewardmachines.runs.records import to_plain
from rewardmachines.traces import Outcome, Trace

SECONDS: Final = 2.0
MEMORY: Final = 2**30

BOOK: Final = find("craftworld/book+lava")
WORDS: Final = ("a", "b", "iron", "u0", "u1", "uA", "uR", "m")


@dataclass(frozen=True)
class Reader:
    """A reader, and what its format is made of. `read` also writes what it has read, and reads that again."""

    read: Callable[[str], object]
    seeds: tuple[str, ...]
    tokens: tuple[str, ...]


def _machines(text: str) -> None:
    tree = loads(text)
    assert loads(dumps(tree)) == tree


def _traces(text: str) -> None:
    some = loads_traces(text)
    assert loads_traces(dump_traces(some)) == some


def _tasks(text: str) -> None:
    file = loads_tasks(text)
    for name in list(file.tasks)[:3]:
        file.compile(name)


def _hoa(text: str) -> None:
    tree = from_hoa(text)
    if len(tree[tree.root].states) < 50:
        to_hoa(tree)


def _names(text: str) -> None:
    """Names of answer set programs: one for each text, on one line."""
    written = proposition(text)
    assert written.isprintable()
    assert "\n" not in trace_facts([[text]]).splitlines()[1]
    if text:
        to_asp(replace(BOOK, propositions=(*BOOK.propositions, text)))


def _settings(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.json")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        load_order(path)


@cache
def _bank_folder() -> Path:
    """A bank whose manifest is replaced."""
    folder = Path(tempfile.mkdtemp(prefix="bank-")) / "skills"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    saved_bank(folder)
    return folder


def _bank(text: str) -> None:
    path = _bank_folder() / NAME
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    bank = load_bank(path.parent)
    assert bank.hierarchy().machines == bank.machines


def _names_and_settings(text: str) -> None:
    _names(text)
    _settings(text)


def _file(text: str) -> None:
    """Bytes that are UTF-8 only now and then."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "machine.yaml")
        path.write_bytes(text.encode("utf-8" if text.isascii() else "latin-1", "replace"))
        load(path)


_FORMULA: Final = ("&", "|", "!", "->", "<->", "(", ")", "true", "false", "not", "and", '"', *WORDS)
_YAML: Final = (
    "machines:", "edges:", "from:", "to:", "when:", "call:", "root:", "states:", "initial:", "accepting:",
    "propositions:", "{", "}", "[", "]", ",", ":", "- ", "\n", "\n  ", "\n    ", "#", "|", ">", "?", *WORDS,
)  # fmt: skip
_JSON: Final = (
    "{", "}", "[", "]", ",", ":", '"', "\\", "true", "null", "1", '"labels"', '"outcome"', '"goal"', '"machines"',
    '"edges"', '"from"', '"to"', '"when"', '"a"', '"\\ud800"', "\n",
)  # fmt: skip
_TASK: Final = (";", "&", "|", "(", ")", "[", "]", "avoid", ",", "!", *WORDS)
_HOA: Final = (
    "HOA: v1", "States:", "Start:", "AP:", "Acceptance:", "2 Inf(0) & Fin(1)", "name:", "Alias:", "@a", "--BODY--",
    "--END--", "State:", "{0}", "{1}", "[t]", "[0]", "[!0 & 1]", "[0 | 1]", "[@a]", '"a"', "/*", "*/", "0", "1", "99",
    "properties:", "\n", "&", "|", "!",
)  # fmt: skip

_ORDER: Final = json.dumps(
    {
        "format": FORMAT,
        "command": "train",
        **to_plain(TrainOrder(standard_spec("craftworld", "op", "book"), Budget(1000))),
    },
    indent=1,
)
_TRACES: Final = dump_traces([Trace((frozenset({"iron"}), frozenset()), Outcome.GOAL), Trace(())])
_TASK_FILE: Final = "propositions: [a, b, c, d]\navoid: [d]\ntie: left\ntasks:\n  x: a ; b\n  y: (x & c) | [!a & b]\n"

READERS: Final = {
    "machine files": Reader(_machines, (dumps(BOOK), dumps(find("figures/book"))), _YAML),
    "machine files in JSON": Reader(_machines, (json.dumps(plain(BOOK)), json.dumps(plain(BOOK), indent=1)), _JSON),
    "files of bytes": Reader(_file, (dumps(BOOK), '{"machines": {"m": {"edges": []}}}'), _YAML),
    "task files": Reader(_tasks, (_TASK_FILE,), (*_YAML, *_TASK)),
    "trace files": Reader(_traces, (_TRACES,), _JSON),
    "words": Reader(parse_word, ("iron {} table,cow", "{iron} {} {table, cow}; a"), ("{", "}", ",", ";", " ", *WORDS)),
    "formulas": Reader(parse_formula, ("(a | b) & !c", "a <-> b -> !(c & d)", 'true & "odd name"'), _FORMULA),
    "tasks": Reader(compile_task, ("(wheat & chicken) ; table", "a | [b & !c] ; d avoid lava, e"), _TASK),
    "automata": Reader(_hoa, (to_hoa(find("figures/book-flat")),), _HOA),
    "banks": Reader(_bank, ((_bank_folder() / NAME).read_text(),), (*_JSON, '"sizes"', '"hidden"', "[8]", "65536")),
    "names and settings": Reader(_names_and_settings, (_ORDER, "iron"), (*_JSON, *WORDS)),
}

EXAMPLES: Final = 20 * settings.default.max_examples // len(READERS) if settings.default else 200
"""Of each reader: 2,000 in all where a property has 100, and 100,000 where it has 5,000."""


@pytest.fixture(scope="module", autouse=True)
def _only_garbage_of_readers() -> Iterator[None]:
    """What other tests keep alive is not looked through again and again while a reader is timed."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class TooSlow(Exception):
    """A reader took more than its time."""


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes more than two seconds of this process, and complains about what takes more than 1 GiB."""

    def stop(signum: int, frame: FrameType | None) -> None:
        raise TooSlow(f"not read within {SECONDS} s")

    before = _peak()
    handler = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: an exception that is raised in a callback of the garbage collector is lost.
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS / 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert _peak() - before < MEMORY


def _peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def check(reader: Reader, text: str) -> None:
    with limited():
        try:
            reader.read(text)
        except RewardMachineError as problem:
            assert str(problem)


@pytest.mark.parametrize("name", READERS)
def test_every_reader_gives_a_value_or_says_what_is_wrong(name: str) -> None:
    reader = READERS[name]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(documents(reader.seeds, reader.tokens))
    def any_text_is_read_or_refused(text: str) -> None:
        check(reader, text)

    any_text_is_read_or_refused()


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("seed", [0, -1])
def test_the_documents_that_are_changed_can_be_read(name: str, seed: int) -> None:
    """Else only refusals would be tested."""
    reader = READERS[name]
    if name == "names and settings":
        _settings(_ORDER)
    else:
        reader.read(reader.seeds[seed])


def test_the_limits_are_kept() -> None:
    def forever(_: str) -> None:
        while True:
            pass

    with pytest.raises(TooSlow):
        check(Reader(forever, (), ()), "")
    with pytest.raises(ZeroDivisionError):
        check(Reader(lambda _: 1 // 0, (), ()), "")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("machine files in JSON", '{"' + '\\"' * 20_000),
        ("machine files in JSON", '{"' + "k" * 90_000 + '": [' + "1," * 5_000 + "1]}"),
        ("machine files", "a: " + "[" * 50_000),
        ("machine files", "a: b\n" * 10_000),
        ("machine files", "".join(f"a{i}: {{\n" for i in range(10_000))),
        ("machine files", "? " * 20_000),
        ("machine files", "- " * 20_000),
        ("formulas", " <-> ".join(f"p{i}" for i in range(20))),
        ("formulas", " <-> ".join(["a"] * 20)),
        ("formulas", " -> ".join(["a"] * 20_000)),
        ("formulas", "!" * 90_000 + "a"),
        ("formulas", " & ".join(f"(a{i} | b{i})" for i in range(3_000))),
        ("formulas", '"' + "\\" * 90_000),
        ("tasks", " & ".join(f"p{i}" for i in range(12))),
        ("tasks", " ; ".join(["a"] * 10_000)),
        ("tasks", "[" + " <-> ".join(f"p{i}" for i in range(20)) + "]"),
        ("trace files", "[" * 90_000),
        ("trace files", '{"labels": [' + '["a"],' * 15_000 + "[]]}"),
        ("words", "{" * 90_000),
        ("words", " " * 90_000 + "{"),
        ("words", "," * 90_000),
        ("automata", "/*" * 45_000),
        ("automata", '"' + "\\" * 90_000),
        ("automata", "HOA: v1 " + "!" * 90_000),
        ("names and settings", "\\" * 90_000),
        ("names and settings", "[" * 90_000),
        ("names and settings", '{"format": ' + "1" * 5_000 + "}"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_texts_that_are_made_to_hurt_do_not(name: str, text: str) -> None:
    check(READERS[name], text)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, limited():
        path = Path(folder, "machine.json")
        path.write_bytes(data)
        try:
            load(path)
        except RewardMachineError as problem:
            assert str(problem)
