"""Learning by questions: the shortest trace on which two candidates differ is asked, until only one is left.

The first candidate is the smallest machine that explains the traces so far; the second is a rival of it, of the same
size or a little larger (`rivals.py`). The answer refutes at least one of them. When the solver proves that there is no
rival of up to a given size, the machine is asked for a counterexample, if the oracle answers that; otherwise it is the
result, and what was proved is a part of it.

The outcome of an asked trace is that of an episode at its end, and an episode that has ended stays as it ended. So a
goal trace says nothing about its prefixes, unlike a recorded one, which stopped at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

from rewardmachines.core.equivalence import Word, difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import verdict
from rewardmachines.learning.learner import Budget, Learner, Progress
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.results import Asked, Learned, Result, TimedOut
from rewardmachines.learning.rivals import RivalSearch
from rewardmachines.learning.task import LearningTask, learning_task, show_word
from rewardmachines.traces import Outcome, Trace, singletons


@runtime_checkable
class MembershipOracle(Protocol):
    """An oracle that knows the outcome of any trace."""

    def membership(self, labels: Word) -> Outcome:
        """The outcome of an episode with these labels. An episode that has ended stays as it ended."""


@runtime_checkable
class EquivalenceOracle(Protocol):
    """An oracle that knows whether a machine is right."""

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        """A trace to which the hierarchy gives the wrong verdict, or None if there is none."""


Answers: TypeAlias = MembershipOracle | Callable[[Word], Outcome]
"""An oracle for traces, or the function alone."""


@dataclass(frozen=True)
class Candidates:
    """The two machines between which a question decides."""

    first: Hierarchy
    rival: Hierarchy
    first_states: int
    rival_states: int
    question: Word
    answers: int
    """The number of traces that were asked before."""


@dataclass(frozen=True)
class AskingTask(LearningTask):
    """A task whose machines may reject, also before a dead end has been seen."""

    @property
    def has_dead_ends(self) -> bool:
        return True


def asking_task(task: LearningTask, limits: SearchLimits | None = None) -> AskingTask:
    """The task of learning by questions from the traces of a task.

    What recorded traces say about their prefixes is told by further traces, since asked ones do not say it.
    """
    recorded = task.options.prefix_knowledge
    ended = [t for t in task.traces if t.labels and t.outcome is not Outcome.INCOMPLETE] if recorded else []
    traces = {*task.traces, *(Trace(t.labels[:-1]) for t in ended)}
    options = replace(task.options, prefix_knowledge=False)
    return _canonical(replace(task, options=options, limits=limits), traces, limits)


def _canonical(task: LearningTask, traces: Iterable[Trace], limits: SearchLimits | None) -> AskingTask:
    sound = learning_task(
        traces, task.propositions, task.callables, options=task.options, name=task.name, limits=limits
    )  # fmt: skip
    return AskingTask(sound.traces, sound.propositions, sound.callables, sound.options, sound.name, limits)


def learn_by_asking(
    learner: Learner,
    task: LearningTask,
    oracle: Answers,
    *,
    alphabet: Iterable[Iterable[str]] | None = None,
    extra_states: int | None = None,
    budget: Budget | None = None,
    limits: SearchLimits | None = None,
    report: Callable[[Candidates], None] = lambda _: None,
    new_propositions: bool = False,
) -> Result:
    """Learns, and asks, until no other machine explains the traces.

    Args:
        learner: The learner of the candidates.
        task: The traces to begin with, and the space of machines.
        oracle: The source of answers; it is asked for counterexamples if it has a method `equivalence`.
        alphabet: The labels of traces; by default the empty one, and one for each proposition.
        extra_states: The states that a rival may have more than the machine; by default 1, and 0 if the oracle knows
            counterexamples.
        budget: The budget of the search; the time of the oracle counts.
        limits: The limits of an earlier search that goes on, instead of new ones from the budget.
        report: Called before each question about a trace.
        new_propositions: Whether formulas may also mention propositions that only counterexamples have. The default
            alphabet then has them, too.

    Raises:
        RewardMachineError: if no trace ended, and the oracle knows no counterexamples; `ContradictoryTracesError` if
            no machine whatever explains the answers.
    """
    budget = budget or Budget()
    limits = limits or budget.start()
    labels = None if alphabet is None else tuple(dict.fromkeys(map(frozenset, alphabet)))
    if unknown := sorted(frozenset().union(*labels or ()) - set(task.propositions)):
        raise RewardMachineError(f"the alphabet has the proposition '{unknown[0]}', which formulas may not mention")
    if extra_states is None:
        extra_states = 0 if hasattr(oracle, "equivalence") else 1
    if extra_states < 0:
        raise RewardMachineError(f"a rival cannot have fewer states than the smallest machine: {extra_states} more")
    return _Asking(learner, task, oracle, labels, extra_states, budget, limits, report, new_propositions).run()


class _Asking:
    """The traces so far, and the numbers of questions."""

    def __init__(
        self,
        learner: Learner,
        task: LearningTask,
        oracle: Answers,
        alphabet: tuple[frozenset[str], ...] | None,
        extra: int,
        budget: Budget,
        limits: SearchLimits,
        report: Callable[[Candidates], None],
        new_propositions: bool,
    ) -> None:
        self._learner = learner
        self._task = asking_task(task, limits)
        self._equivalence: Callable[[Hierarchy], Trace | None] | None = getattr(oracle, "equivalence", None)
        self._membership = oracle.membership if isinstance(oracle, MembershipOracle) else oracle
        self._extra = extra
        self._budget = budget
        self._limits = limits
        self._report = report
        self._given_alphabet = alphabet
        self._new_propositions = new_propositions
        self._asked = Asked((), 0, 0, None)
        self._calls = 0
        self._agreed: dict[int, int] = {}
        """By size: all traces up to this length, on which machines of this size agree with the first candidate."""
        self._note_propositions(self._task.propositions)

    def _note_propositions(self, propositions: tuple[str, ...]) -> None:
        """Sets what formulas may mention, and with it the default alphabet; agreement is over the alphabet."""
        self._task = replace(self._task, propositions=propositions, limits=self._limits)
        self._alphabet = singletons(propositions) if self._given_alphabet is None else self._given_alphabet
        self._rivals = RivalSearch(self._learner._solvers, self._alphabet, self._limits, self._tick)
        self._agreed = {}

    def run(self) -> Result:
        try:
            result = self._ask()
        except BudgetExceeded as exceeded:
            known = tuple(self._learner.refutations(self._task))
            bound = known[-1].states + 1 if known else 2
            result = TimedOut(bound, known, self._limits.seconds, self._calls, exceeded.reason)
        return replace(result, calls=self._calls, asked=replace(self._asked, traces=self._task.traces))

    def _ask(self) -> Result:
        if all(trace.outcome is Outcome.INCOMPLETE for trace in self._task.traces):
            self._begin()
        while True:
            result = self._learn()
            if not isinstance(result, Learned):
                return result
            traces = self._task.traces
            if not self._is_refuted(result):
                self._asked = replace(self._asked, unique_up_to=result.states + self._extra)
                # All traces decide which of the machines that are equivalent over the alphabet is the simplest.
                return result if self._task.traces == traces else self._learn()

    def _begin(self) -> None:
        """Asks for a trace that ended, by a machine that never ends: without one, nothing can be learned."""
        nothing = Hierarchy("nothing", (machine("nothing", []),), self._task.propositions)
        if self._counterexample(nothing) is None:
            raise RewardMachineError(
                "no trace reaches the goal or a dead end, so there are no candidates to ask about: give one that does"
            )

    def _learn(self) -> Result:
        result = self._learner.learn(self._task, self._budget, self._limits)
        self._calls += result.calls
        if isinstance(result, Learned):
            agreed = self._agreed.get(result.states, 0)
            self._agreed = {states: min(length, agreed) for states, length in self._agreed.items()}
        return result

    def _is_refuted(self, first: Learned) -> bool:
        """Asks until an answer refutes the first candidate; False if none does, and no rival is left."""
        while rival := self._rival(first):
            if self._is_decided_against(first, rival):
                return True
        return self._counterexample(first.hierarchy) is not None

    def _rival(self, first: Learned) -> tuple[int, Hierarchy] | None:
        """The smallest rival that differs on the shortest trace, and its size."""
        for states in range(first.states, first.states + self._extra + 1):
            longest = self._rivals.longest(self._task, first.hierarchy, states)
            for length in range(self._agreed.get(states, 0) + 1, longest + 1):
                self._calls += 1
                rival = self._rivals.find(self._task, first.hierarchy, states, length)
                if rival is not None:
                    return states, rival
                self._agreed[states] = length
        return None

    def _is_decided_against(self, first: Learned, second: tuple[int, Hierarchy]) -> bool:
        states, rival = second
        question = difference(first.hierarchy, rival, labels=self._alphabet)
        if question is None:
            raise AssertionError("a solver gave a rival that has the same verdict on every trace")
        answers = self._asked.membership
        self._report(Candidates(first.hierarchy, rival, first.states, states, question, answers))
        outcome = self._membership(question)
        self._limits.check()
        self._asked = replace(self._asked, membership=answers + 1)
        self._task = _canonical(self._task, (*self._task.traces, Trace(question, outcome)), self._limits)
        return outcome.verdict is not verdict(first.hierarchy, question)

    def _counterexample(self, hierarchy: Hierarchy) -> Trace | None:
        """A trace on which the hierarchy is wrong, which is then one of the traces; None if none is known."""
        if self._equivalence is None:
            return None
        trace = self._equivalence(hierarchy)
        self._limits.check()
        self._asked = replace(self._asked, equivalence=self._asked.equivalence + 1)
        if trace is not None:
            if verdict(hierarchy, trace.labels) is trace.outcome.verdict:
                raise RewardMachineError(
                    f"the oracle gave a trace that the machine explains: {show_word(trace.labels)}"
                )
            known = self._task.propositions
            if self._new_propositions and (new := frozenset().union(*trace.labels).difference(known)):
                self._note_propositions(tuple(sorted({*known, *new})))
            self._task = _canonical(self._task, (*self._task.traces, trace), self._limits)
        return trace

    def _tick(self, states: int, length: int) -> Callable[[], None]:
        activity = f"a rival that differs after {length} labels?"
        return lambda: self._learner._watch(Progress(states, len(self._task.traces), self._limits.seconds, activity))
