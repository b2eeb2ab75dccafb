"""The command `hrm ask`: a machine from answers to questions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import tyro

from rewardmachines.cli.commands.induce import Files, plain_result, result_summary, status
from rewardmachines.cli.shared import (
    Command,
    Flag,
    Output,
    escaped,
    log,
    read_callables,
    read_hierarchy,
    write_hierarchy,
    write_json,
)
from rewardmachines.core.equivalence import Word
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import verdict
from rewardmachines.files import parse_word, read_traces, save_traces
from rewardmachines.language import explain
from rewardmachines.learning import (
    Budget,
    Candidates,
    ContradictoryTracesError,
    HierarchyOracle,
    Learned,
    Learner,
    LearningTask,
    Options,
    Result,
    Solvers,
    learn_by_asking,
    learning_task,
)
from rewardmachines.learning.induction import NOTHING_SEEN
from rewardmachines.traces import Outcome, Trace, singletons

MAX_STATES: Final = 10
KEYS: Final = {"g": Outcome.GOAL, "d": Outcome.DEAD_END, "n": Outcome.INCOMPLETE}
SAYS: Final = {Outcome.GOAL: "goal", Outcome.DEAD_END: "dead end", Outcome.INCOMPLETE: "neither"}
HOW_TO_WRITE: Final = "labels separated by spaces, a,b for two propositions at once, {} for none"

Comma = Annotated[str | None, tyro.conf.arg(metavar="P,P,...")]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Ask(Command):
    """Answer questions about traces until only one machine is left, and get this machine.

    Each question is the shortest trace on which two machines differ that agree with all answers so far. Answer g if an
    episode with these labels reached the goal, by its last label or before, d for a dead end, n for neither; u takes
    the last answer back, q leaves. When no other machine of this size or one state more is left, it is shown in
    words: y if it is right, or a trace on which it is wrong.

    The answers are a trace file, written when you leave and, with --save-traces, after each answer; --traces goes on
    from one. Standard input that is no terminal is read, too, a line for each answer. Exit status 1 if no machine is
    left, or you left.

    Try:
      hrm ask --propositions key,door,lava -o task.yaml
      hrm ask --propositions key,door --traces answers.jsonl --save-traces answers.jsonl
      hrm ask --of craftworld/paper
    """

    propositions: Comma = None
    """The propositions that can be observed; with --of, those of that machine if not given."""
    of: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """Let a machine answer: a file, or a name from the library."""
    calls: Files = ()
    """A machine that may be called: a file, a pattern such as 'lib/*.yaml', or a library name; repeat for more."""
    traces: Files = ()
    """A trace file to begin with, such as earlier answers; repeat for more."""
    labels: Annotated[str | None, tyro.conf.arg(metavar="LABELS")] = None
    """The labels of traces, such as "{} a b a,b"; the empty one and each proposition alone, if not given."""
    extra_states: int = 1
    """The states that other machines may have more, which are excluded before one is shown. With 0, fewer questions."""
    max_states: int = MAX_STATES
    """The largest size to try; the rejecting state is not counted."""
    disjuncts: int = 2
    """The largest number of disjuncts between two states, such as the labels that lead from one to a dead end."""
    cyclic: Flag = False
    """Let machines return to states that they left."""
    negative: Flag = False
    """Let edges do without a positive literal."""
    name: Annotated[str, tyro.conf.arg(metavar="NAME")] = "root"
    """The name of the machine."""
    output: Output = None
    """The file to write; standard output if not given."""
    save_traces: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """The trace file to write; when you leave before the end, NAME-answers.jsonl if not given."""
    json: Flag = False
    """Print the machine, the numbers of questions, and what was proved, as JSON."""

    def run(self) -> int:
        truth = None if self.of is None else read_hierarchy(self.of)
        propositions = self._propositions(truth)
        alphabet = singletons(propositions) if self.labels is None else tuple(dict.fromkeys(parse_word(self.labels)))
        given = [trace for path in self.traces for trace in read_traces(path)]
        answers = AnswerLog(given, propositions, self._keep)
        oracle = (
            TerminalOracle(answers)
            if truth is None
            else MachineOracle(answers, HierarchyOracle(truth, alphabet, events=False))
        )
        try:
            result = self._ask(oracle, propositions, alphabet)
        except (Quit, KeyboardInterrupt) as leaving:
            self._leave(answers)
            if isinstance(leaving, KeyboardInterrupt):
                raise
            return 1
        self._report(result, answers)
        return status(result)

    def _propositions(self, truth: Hierarchy | None) -> tuple[str, ...]:
        if self.propositions is not None:
            names = tuple(dict.fromkeys(name.strip() for name in self.propositions.split(",")))
            if not all(names):
                raise RewardMachineError(f"--propositions: a name is missing in {self.propositions!a}")
            return names
        if truth is None:
            raise RewardMachineError("which propositions can be observed? Give --propositions a,b,c")
        return truth.propositions

    def _ask(
        self, oracle: TerminalOracle | MachineOracle, propositions: tuple[str, ...], alphabet: tuple[Label, ...]
    ) -> Result:
        """Asks, and begins again from the answers that are left when one is taken back."""
        callables = read_callables(self.calls)
        with Solvers() as solvers:
            learner = Learner(solvers)
            while True:
                try:
                    oracle.begin()
                    result = learn_by_asking(
                        learner,
                        self._task(oracle.answers.traces, propositions, callables),
                        oracle,
                        alphabet=alphabet,
                        extra_states=self.extra_states,
                        budget=Budget(max_states=self.max_states),
                        report=oracle.show,
                    )
                    if not isinstance(result, Learned):
                        log(result_summary(result))
                        oracle.stop()
                    return result
                except Undo:
                    oracle.again()
                except ContradictoryTracesError as problem:
                    if not oracle.answers.drop():
                        raise
                    log(f"{problem.finding}: the last trace is forgotten")

    def _task(
        self, traces: list[Trace], propositions: tuple[str, ...], callables: list[Hierarchy]
    ) -> LearningTask:  # fmt: skip
        options = Options(self.disjuncts, not self.cyclic, self.negative, prefix_knowledge=False)
        return learning_task(traces or [NOTHING_SEEN], propositions, callables, options=options, name=self.name)

    def _keep(self, traces: list[Trace]) -> None:
        if self.save_traces is not None:
            save_traces(traces, self.save_traces)

    def _leave(self, answers: AnswerLog) -> None:
        if not answers.own:
            return
        path = self.save_traces or _unused(Path(f"{self.name}-answers.jsonl"))
        save_traces(answers.traces, path)
        log(f"wrote {path}: hrm ask --traces {path} goes on")

    def _report(self, result: Result, answers: AnswerLog) -> None:
        asked = result.asked
        assert asked is not None
        if self.json:
            questions: dict[str, Any] = {"membership": asked.membership, "equivalence": asked.equivalence}
            write_json(plain_result(result) | {"questions": questions, "unique_up_to": asked.unique_up_to})
        if not isinstance(result, Learned):
            self._leave(answers)
            return
        log(explain(result.hierarchy))
        log(
            f"{result.states} states; {asked.membership} questions about traces, {asked.equivalence} about machines; "
            f"no other machine of up to {asked.unique_up_to} states agrees with the answers"
        )
        if self.output is not None or not self.json:
            write_hierarchy(result.hierarchy, self.output, as_json=False)
        if self.save_traces is not None:
            log(f"wrote {self.save_traces}")


class Quit(Exception):
    """The end of the questions before the end of the search."""


class Undo(Exception):
    """The last answer was wrong."""


@dataclass
class AnswerLog:
    """The traces that were given, and those of the answers, which can be taken back."""

    given: list[Trace]
    propositions: tuple[str, ...]
    keep: Callable[[list[Trace]], None]
    own: list[tuple[Trace, ...]] = field(default_factory=list)
    """By answer: the trace, and what was said of its prefix."""

    @property
    def traces(self) -> list[Trace]:
        return [*self.given, *chain.from_iterable(self.own)]

    def add(self, *traces: Trace) -> None:
        self.own.append(traces)
        self.keep(self.traces)

    def drop(self) -> Trace | None:
        """Takes the last answer back, if there is one, and returns its trace."""
        if not self.own:
            return None
        last = self.own.pop()
        self.keep(self.traces)
        return last[0]


@dataclass
class MachineOracle:
    """A machine that answers; questions and answers are shown."""

    answers: AnswerLog
    truth: HierarchyOracle

    def begin(self) -> None:
        """Nothing is asked beforehand."""

    def show(self, candidates: Candidates) -> None:
        log(_question(candidates))

    def membership(self, labels: Word) -> Outcome:
        outcome = self.truth.membership(labels)
        log(f"  {SAYS[outcome]}")
        self.answers.add(Trace(labels, outcome))
        return outcome

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        trace = self.truth.equivalence(hierarchy)
        if trace is not None:
            log(f"counterexample: {write_word(trace.labels)}\n  {SAYS[trace.outcome]}")
            self.answers.add(trace)
        return trace

    def again(self) -> None:
        """Nothing is taken back."""

    def stop(self) -> None:
        """No machine is left, and that is the end."""


@dataclass
class TerminalOracle:
    """AnswerLog from the terminal, or from the lines of standard input."""

    answers: AnswerLog

    def show(self, candidates: Candidates) -> None:
        log(_question(candidates))

    def membership(self, labels: Word) -> Outcome:
        outcome = _read("  goal, dead end, neither, undo, quit? [g/d/n/u/q] ", _outcome)
        self.answers.add(Trace(labels, outcome))
        return outcome

    def begin(self) -> None:
        """Asks for a trace that ended, without which there are no candidates."""
        if any(trace.outcome is not Outcome.INCOMPLETE for trace in self.answers.traces):
            return
        log(f"write traces as {HOW_TO_WRITE}")
        word = _read("a trace that reaches the goal, or a dead end, with its last label? ", self._word)
        outcome = _read("  goal, dead end, undo, quit? [g/d/u/q] ", _end)
        self.answers.add(Trace(word, outcome), Trace(word[:-1]))

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        """Shows the machine, and asks for a trace on which it is wrong."""
        log(explain(hierarchy))
        while True:
            word = _read("is it right? y, or a trace on which it is wrong (u: undo, q: quit) ", self._word_or_yes)
            if word is None:
                return None
            outcome = _read("  goal, dead end, neither, undo, quit? [g/d/n/u/q] ", _outcome)
            if verdict(hierarchy, word) is not outcome.verdict:
                trace = Trace(word, outcome)
                self.answers.add(trace)
                return trace
            log(f"  the machine says so, too: {SAYS[outcome]}")

    def again(self) -> None:
        """Asks the last question again."""
        last = self.answers.drop()
        while last is not None:
            log(f"again: {write_word(last.labels)}")
            try:
                self.membership(last.labels)
                return
            except Undo:
                last = self.answers.drop()
        log("there is no answer to take back")

    def stop(self) -> None:
        """No machine is left: perhaps an answer was wrong."""
        _read("undo, quit? [u/q] ", _nothing_else)

    def _word_or_yes(self, line: str) -> Word | None:
        """The labels of a line; None for y."""
        return None if line == "y" and "y" not in self.answers.propositions else self._word(line)

    def _word(self, line: str) -> Word:
        word = parse_word(line)
        if unknown := sorted(frozenset().union(*word) - set(self.answers.propositions)):
            raise RewardMachineError(f"there is no proposition '{unknown[0]}'")
        if not word:
            raise RewardMachineError(f"a trace has labels: {HOW_TO_WRITE}")
        return word


def _question(candidates: Candidates) -> str:
    sizes = f"candidates of {candidates.first_states} and {candidates.rival_states} states"
    return f"{candidates.answers + 1}. {write_word(candidates.question)}    ({sizes})"


def _read(prompt: str, reading: Callable[[str], Value]) -> Value:
    """The value of a line, asked for until one makes sense.

    Raises:
        Quit: the line is q, or there are no more.
        Undo: the line is u.
    """
    while True:
        print(escaped(prompt), end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            log("")
        if not line or line.strip() == "q":
            raise Quit
        if line.strip() == "u":
            raise Undo
        try:
            return reading(line.strip())
        except RewardMachineError as problem:
            log(f"  {problem}")


def _outcome(line: str) -> Outcome:
    if line[:1] not in KEYS:
        raise RewardMachineError("answer g (goal), d (dead end), n (neither), u (undo) or q (quit)")
    return KEYS[line[:1]]


def _nothing_else(line: str) -> None:
    raise RewardMachineError(f"answer u (undo) or q (quit), not {line!a}")


def _end(line: str) -> Outcome:
    if (outcome := _outcome(line)) is Outcome.INCOMPLETE:
        raise RewardMachineError("it must have reached the goal (g) or a dead end (d)")
    return outcome


def write_word(word: Word) -> str:
    """Labels as `parse_word` reads them."""
    return " ".join(",".join(sorted(label)) or "{}" for label in word)


def _unused(path: Path) -> Path:
    """The path, or one with a number if there is such a file."""
    number = 1
    unused = path
    while unused.exists():
        number += 1
        unused = path.with_stem(f"{path.stem}-{number}")
    return unused
