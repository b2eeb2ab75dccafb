"""Readers of all formats, with documents that they take and pieces to change them with."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from agents.room_bank import saved_bank
from rewardmachines.agents.bank.files import load_bank
from rewardmachines.agents.bank.manifest import NAME
from rewardmachines.agents.presets import preset
from rewardmachines.core.text import parse_formula
from rewardmachines.exchange import from_hoa, to_asp, to_hoa
from rewardmachines.exchange.asp import trace_facts
from rewardmachines.exchange.asp_names import proposition
from rewardmachines.files import dump_traces, dumps, load, loads, loads_tasks, loads_traces, parse_word, plain
from rewardmachines.files.records import to_plain
from rewardmachines.language import compile_task
from rewardmachines.lhrm.presets import LHRM_GYMNASIUM
from rewardmachines.library import find
from rewardmachines.rollout.interface import Interface, ObservationCodec, Recalling
from rewardmachines.runs.config import DomainPlace, GymEnvRecord, GymPlace, RunConfig
from rewardmachines.runs.config_file import load_config, save_config
from rewardmachines.runs.diagnosis import Diagnosis, Finding, diagnosis_of_run
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.plan import planned_runs
from rewardmachines.studies.results import line_of, read_results
from rewardmachines.studies.study import load_study, read_study
from rewardmachines.traces import Outcome, Trace
from studies.made_up import made_up
from studies.tiny import FLAT

BOOK: Final = find("craftworld/book+lava")
WORDS: Final = ("a", "b", "iron", "u0", "u1", "uA", "uR", "m")


@dataclass(frozen=True)
class Reader:
    """A reader, and what its format is made of. `read` also writes what it has read, and reads that again."""

    read: Callable[[str], object]
    seeds: Callable[[], tuple[str, ...]]
    """Documents that can be read, made when they are asked for: every test process imports this module."""
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


def _in_file(read: Callable[[Path], object]) -> Callable[[str], None]:
    """A reader of files, as a reader of texts."""

    def read_text(text: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            read(path)

    return read_text


read_settings: Final = _in_file(load_config)


def _results(path: Path) -> None:
    read_results(path, {"abc"})
    read_results(path)


def _study(text: str) -> None:
    """Reads a study, and plans its runs."""
    planned_runs(read_study(text, "mine", "mine.toml"))


def _some_result() -> str:
    return line_of(made_up(planned_runs(load_study("smoke"))[0]))


def _some_diagnosis() -> str:
    return json.dumps(to_plain(Diagnosis((Finding("a", "b"),))))


class _SavedBank(NamedTuple):
    """A bank whose manifest is replaced, and what it was at first."""

    manifest: Path
    text: str


@cache
def _saved_bank() -> _SavedBank:
    folder = Path(tempfile.mkdtemp(prefix="bank-")) / "skills"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    saved_bank(folder)
    return _SavedBank(folder / NAME, (folder / NAME).read_text())


def _bank(text: str) -> None:
    path = _saved_bank().manifest
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    bank = load_bank(path.parent)
    assert bank.hierarchy().machines == bank.machines


def _names_and_settings(text: str) -> None:
    _names(text)
    read_settings(text)


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

_TOML: Final = (
    "[[runs]]", "[[tables]]", "[runs]", "name =", "command =", "settings =", "tasks =", "seeds =", "steps =",
    "episodes =", '"flat"', '"op"', '["op"]', '["book"]', "true", "1", "-1", "1e9", "9" * 400, "0x" + "f" * 99, "=",
    "\n", '"', "[", "]",
)  # fmt: skip

_TASK_FILE: Final = "propositions: [a, b, c, d]\navoid: [d]\ntie: left\ntasks:\n  x: a ; b\n  y: (x & c) | [!a & b]\n"


def _some_traces() -> str:
    return dump_traces([Trace((frozenset({"iron"}), frozenset()), Outcome.GOAL), Trace(())])


def some_settings() -> tuple[str, ...]:
    """The settings of runs, as their folders keep them: of training in a domain, and of LHRM elsewhere."""
    training = RunConfig(
        tasks=("book",),
        domain=DomainPlace("craftworld", "op"),
        gym=None,
        learner=None,
        agent="hrl",
        settings=preset("fast", "craftworld", "op"),
        budget=RunBudget(1000),
    )
    place = GymPlace(
        (GymEnvRecord("hut", 1, None, "lakes:make_hut"), GymEnvRecord("round", 2, 3, None)),
        Interface(("hut", "buoy"), ObservationCodec((4,), "int32", Recalling(4)), 3, 1),
        labels=((), ("hut",)),
    )
    learning = replace(
        training, tasks=("hut", "round"), domain=None, gym=place, learner="exact", settings=LHRM_GYMNASIUM
    )  # fmt: skip
    texts = []
    for config, trees in ((training, {"book": BOOK}), (learning, {})):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "config.json")
            save_config(path, config, trees)
            texts.append(path.read_text())
    return tuple(texts)


READERS: Final = {
    "machine files": Reader(_machines, lambda: (dumps(BOOK), dumps(find("figures/book"))), _YAML),
    "machine files in JSON": Reader(
        _machines, lambda: (json.dumps(plain(BOOK)), json.dumps(plain(BOOK), indent=1)), _JSON
    ),
    "files of bytes": Reader(_file, lambda: (dumps(BOOK), '{"machines": {"m": {"edges": []}}}'), _YAML),
    "task files": Reader(_tasks, lambda: (_TASK_FILE,), (*_YAML, *_TASK)),
    "trace files": Reader(_traces, lambda: (_some_traces(),), _JSON),
    "words": Reader(
        parse_word, lambda: ("iron {} table,cow", "{iron} {} {table, cow}; a"), ("{", "}", ",", ";", " ", *WORDS)
    ),
    "formulas": Reader(parse_formula, lambda: ("(a | b) & !c", "a <-> b -> !(c & d)", 'true & "odd name"'), _FORMULA),
    "tasks": Reader(compile_task, lambda: ("(wheat & chicken) ; table", "a | [b & !c] ; d avoid lava, e"), _TASK),
    "automata": Reader(_hoa, lambda: (to_hoa(find("figures/book-flat")),), _HOA),
    "banks": Reader(_bank, lambda: (_saved_bank().text,), (*_JSON, '"sizes"', '"hidden"', "[8]", "65536")),
    "studies": Reader(_study, lambda: (FLAT.replace("short", "op").replace("leave", "book"),), _TOML),
    "results": Reader(_in_file(_results), lambda: (_some_result(),), (*_JSON, '"key"', '"abc"', '"format"')),
    "diagnoses": Reader(_in_file(diagnosis_of_run), lambda: (_some_diagnosis(),), (*_JSON, '"findings"')),
    "names and settings": Reader(_names_and_settings, lambda: (*some_settings(), "iron"), (*_JSON, *WORDS)),
}
