"""The command `hrm identify`: the smallest automaton that agrees with labelled words."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import tyro

from rewardmachines.cli.commands.induce import ENDS, display, memory_bytes, status
from rewardmachines.cli.shared import Command, File, Flag, log, write_json, write_text
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.moore import MooreMachine
from rewardmachines.exchange.abbadingo import AbbadingoSample, read_abbadingo
from rewardmachines.exchange.moore import moore_to_dot, moore_to_hierarchy, moore_to_hoa
from rewardmachines.files import save
from rewardmachines.files.document import read_text
from rewardmachines.files.traces import loads_traces
from rewardmachines.learning.identification import Identified, identify
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.results import TimedOut, Unsatisfiable
from rewardmachines.traces import Outcome, Trace

_MACHINES: Final = (".yaml", ".yml", ".json")
_PICTURES: Final = (".svg", ".pdf", ".png")
_GOALS: Final = (1, Outcome.GOAL.value)
_DEAD_ENDS: Final = (0, Outcome.DEAD_END.value)

Outputs = Annotated[
    tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(aliases=["-o"], metavar="PATH")
]  # fmt: skip


@dataclass(frozen=True)
class Identify(Command):
    """Find the smallest automaton that agrees with labelled words, and prove that fewer states do not suffice.

    FILE holds words in the Abbadingo format: "4 2" for 4 words over the symbols 0 and 1, then a line for each word,
    "1 3 0 1 0" for its class, its length and its symbols. With the classes 0 and 1 the automaton is a DFA, with more a
    Moore machine; -1 stands for a class that is not known. Or FILE is a trace file (JSON lines): then symbols are
    labels, and outputs say whether a trace reached the goal, a dead end, or neither.

    Words no two of which can share a state give the first size; each size that does not suffice is refuted, and told.
    Exit status 1 if the time or --max-states is used up: the bound that was proved is said all the same.

    Try:
      hrm identify words.txt -o dfa.hoa -o dfa.dot
      hrm identify words.txt --end stop -o machine.yaml -o machine.svg
      hrm identify words.txt --timeout 60 --proof words.drat
    """

    file: File
    """Labelled words in the Abbadingo format, or a trace file."""
    output: Outputs = ()
    """A file to write; repeat for more. .hoa: automata tools; .dot: Graphviz; .yaml, .json: a machine file; .svg, .pdf,
        .png: a picture of that machine. Without one, HOA goes to standard output."""
    end: Annotated[str | None, tyro.conf.arg(metavar="LABEL")] = None
    """A label that ends words, for machine files and pictures: it leads from states of class 1 to the goal, from those
        of class 0 to a dead end. Without it, such states must be left by no word."""
    proof: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write the refutation of one state less (DRAT), and beside it, as .cnf, the clauses that it refutes."""
    max_states: int | None = None
    """The largest size to try; no limit, if not given."""
    no_prefix: Flag = False
    """Traces were not stopped at their end: do not conclude that their prefixes are incomplete."""
    timeout: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    """The time budget; reading the words counts."""
    memory: Annotated[float | None, tyro.conf.arg(metavar="GIB")] = None
    """The memory limit of each process: this one, and every solver."""
    cores: int | None = None
    """The number of solver processes: 2, if not given; with 1, the automaton is the same each time."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "root"
    """The name of the automaton."""
    json: Flag = False
    """Print the automaton, the sizes that were refuted, and the time, as JSON."""

    def run(self) -> int:
        for path in self.output:
            _check_suffix(path)
        memory = None if self.memory is None else memory_bytes(self.memory)
        limits = SearchLimits(self.timeout, memory)
        words = _read_words(self.file)
        with display() as watch:
            result = identify(
                words,
                prefix_knowledge=not self.no_prefix,
                max_states=self.max_states,
                memory=memory,
                proof=self.proof,
                cores=self.cores,
                watch=watch,
                limits=limits,
            )
        log(_summary(result))
        if self.json:
            write_json(_plain_result(result))
        if isinstance(result, Identified):
            self._write(result.automaton)
        return 0 if isinstance(result, Identified) else status(result)

    def _write(self, automaton: MooreMachine) -> None:
        if not self.output and not self.json:
            sys.stdout.write(moore_to_hoa(automaton, self.name))
        for path in self.output:
            suffix = path.suffix.lower()
            if suffix == ".hoa":
                write_text(moore_to_hoa(automaton, self.name), path)
            elif suffix == ".dot":
                write_text(moore_to_dot(automaton, self.name), path)
            else:
                self._write_machine(automaton, path, is_picture=suffix in _PICTURES)

    def _write_machine(self, automaton: MooreMachine, path: Path, *, is_picture: bool) -> None:
        try:
            hierarchy = moore_to_hierarchy(
                automaton, _GOALS, _DEAD_ENDS, end=self.end, name=self.name, short=is_picture
            )  # fmt: skip
        except RewardMachineError as problem:
            raise RewardMachineError(f"{path}: {problem} (--end LABEL)") from None
        if is_picture:
            from rewardmachines.drawing import draw

            draw(hierarchy).save(path)
        else:
            save(hierarchy, path)
        log(f"wrote {path}")


def _check_suffix(path: Path) -> None:
    known = (".hoa", ".dot", *_MACHINES, *_PICTURES)
    if path.suffix.lower() not in known:
        raise RewardMachineError(f"{path}: the name ends with one of {', '.join(known)}")


def _read_words(name: str) -> AbbadingoSample | Iterable[Trace]:
    """The words of a file, whose first character tells its format."""
    text = read_text(Path(name))
    if text.lstrip().startswith("{"):
        return loads_traces(text, name)
    try:
        return read_abbadingo(text)
    except RewardMachineError as problem:
        raise RewardMachineError(f"{name}, {problem}") from None


def _summary(result: Identified | Unsatisfiable | TimedOut) -> str:
    refuted = f"; refuted: {', '.join(map(str, result.refuted))} states" if result.refuted else ""
    if isinstance(result, TimedOut):
        return f"{ENDS[result.reason]}: at least {result.bound} states are needed; {result.seconds:.2f} s{refuted}"
    if isinstance(result, Unsatisfiable):
        return f"no automaton of up to {result.max_states} states agrees with the words{refuted}; try more --max-states"
    proof = ""
    if result.proof is not None:
        proof = (
            f"; proof that {result.proof.states} do not suffice: {result.proof.proof}, {result.proof.lemmas} lines, "
            f"of {result.proof.formula}"
        )
    return (
        f"{result.states} states, and no fewer suffice: {len(result.clique)} words need a state each{refuted}; "
        f"{result.seconds:.2f} s, {result.processor_seconds:.2f} s of processor time{proof}"
    )


def _plain_result(result: Identified | Unsatisfiable | TimedOut) -> dict[str, Any]:
    content: dict[str, Any] = {
        "result": {"Identified": "identified", "TimedOut": "timed_out"}.get(type(result).__name__, "unsatisfiable"),
        "refuted": list(result.refuted),
        "seconds": result.seconds,
    }
    if isinstance(result, Identified):
        automaton = result.automaton
        content |= {
            "states": result.states,
            "processor_seconds": result.processor_seconds,
            "clique": [[_plain(symbol) for symbol in word] for word in result.clique],
            "alphabet": [_plain(symbol) for symbol in automaton.alphabet],
            "outputs": list(automaton.outputs),
            "next_states": [list(row) for row in automaton.next_states],
        }
        if result.proof is not None:
            content["proof"] = {"states": result.proof.states, "file": str(result.proof.proof)}
    elif isinstance(result, TimedOut):
        content |= {"bound": result.bound, "reason": result.reason}
    else:
        content |= {"max_states": result.max_states}
    return content


def _plain(symbol: object) -> object:
    return sorted(symbol) if isinstance(symbol, frozenset) else symbol
