"""Evidence: the traces on which machines are judged where some of them are wrong (`LhrmConfig.noise`).

A counterexample does not refute a machine then: it may be wrong itself. It is kept, and so is a sample of the episodes
that the machine explains, without which all kept traces of a right machine would be wrong ones. A machine is learned
again only if the counterexamples have something in common: if another machine saves enough mistakes on the kept traces
to be worth its states.

That is searched for whenever the counterexamples have doubled, and more often while they are more than the rate of
noise allows. The next machine is that of the examples and a counterexample; where it makes mistakes that the present
one does not, these are added, too. Of examples that are wrong themselves, leaving them out helps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from rewardmachines.learning import Budget, ContradictoryTracesError, Learned, LearningTask, TimedOut
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.noise import PRICE, Candidate, Sheet, allowed_mistakes
from rewardmachines.learning.task import trace_order
from rewardmachines.lhrm.learners import MachineLearner
from rewardmachines.traces import Outcome, Trace

SAMPLE_RATE: Final = 0.1
"""The share of the episodes that the machine explains whose traces are kept."""
SAMPLE_WEIGHT: Final = round(1 / SAMPLE_RATE)
"""The number of episodes that such a trace stands for."""
MOST_KEPT: Final = 300
"""The number of different traces of a task that are kept, the last ones."""
FEWEST: Final = 2
"""The counterexamples with which a search begins, and the mistakes that a machine of equal size must save."""
SOONER: Final = 1.25
"""The growth of the counterexamples after which a search is repeated while they are more than the rate allows."""
STARTS: Final = 5
"""The counterexamples from which a search starts: those that occurred most often, and the shortest of these."""
LENGTH: Final = 8
"""The traces that are added one after the other before the cost must have fallen."""
EXTRA: Final = 2
"""The states that a machine may have more than the present one."""
FIRST: Final = 5
"""The number of goal traces with which a search from the beginning starts."""


@dataclass(frozen=True)
class KeptTrace:
    """A trace, and the number of episodes that it stands for."""

    trace: Trace
    weight: int


@dataclass(frozen=True)
class TraceEvidence:
    """The traces that are kept of one task where some may be wrong. Changes make new evidence."""

    kept: tuple[KeptTrace, ...] = ()
    """The traces, each once; those that occurred last come last."""
    counterexamples: int = 0
    """The counterexamples of the task's machine since it was learned."""
    searched: int = 0
    """Their number at the last search for a better machine."""

    def with_traces(self, traces: Iterable[Trace], weight: int = 1) -> TraceEvidence:
        """The evidence with more traces, each of which stands for a number of episodes."""
        weights = {kept.trace: kept.weight for kept in self.kept}
        for trace in traces:
            short = trace.compressed()
            weights[short] = weights.pop(short, 0) + weight
        last = list(weights.items())[-MOST_KEPT:]
        return replace(self, kept=tuple(KeptTrace(trace, weight) for trace, weight in last))

    def with_counterexamples(self, traces: Sequence[Trace]) -> TraceEvidence:
        """The evidence with counterexamples of the task's machine."""
        return replace(self.with_traces(traces), counterexamples=self.counterexamples + len(traces))

    def of_new_machine(self) -> TraceEvidence:
        """The evidence for a machine that was just learned."""
        return replace(self, counterexamples=0, searched=0)

    def is_doubtful(self, explained: int, rate: float) -> bool:
        """Whether there are more counterexamples than the rate of noise allows, with probability 0.99.

        Args:
            explained: The number of ended episodes since the machine was learned.
            rate: The share of traces that are wrong.
        """
        return self.counterexamples > allowed_mistakes(explained + self.counterexamples, rate)

    def is_due(self, *, is_doubtful: bool) -> bool:
        """Whether a better machine is to be searched for."""
        growth = SOONER if is_doubtful else 2
        return self.counterexamples >= max(FEWEST, growth * self.searched)


class EvidenceSearch:
    """A search for a machine that explains more of the evidence than the present one."""

    def __init__(
        self,
        learner: MachineLearner,
        quick_learner: MachineLearner,
        task_of: Callable[[Iterable[Trace]], LearningTask],
        evidence: TraceEvidence,
        examples: Iterable[Trace],
        budget: Budget,
        *,
        prefix_knowledge: bool,
    ) -> None:
        """Prepares the search.

        Args:
            learner: The learner of machines.
            quick_learner: One that leaves hard tasks: most of them have wrong traces.
            task_of: The learning task of some traces.
            evidence: The kept traces.
            examples: The examples of the present machine, which are judged, too.
            budget: What the search may cost.
            prefix_knowledge: Whether no proper prefix of a trace was accepted or rejected.
        """
        weights = Counter(dict.fromkeys(examples, 1)) | Counter({kept.trace: kept.weight for kept in evidence.kept})
        self._sheet = Sheet(weights, prefix_knowledge=prefix_knowledge)
        self._learner, self._quick_learner, self._task_of = learner, quick_learner, task_of
        self._budget, self._limits = budget, budget.start()
        self.calls = 0
        """The number of samples for which a machine was searched."""

    def judged(self, learned: Learned, sample: Iterable[Trace]) -> Candidate:
        """A machine with its examples and its mistakes."""
        return Candidate(learned, frozenset(sample), self._sheet.mistakes(learned.hierarchy, SearchLimits()))

    def better(self, present: Candidate, *, is_doubtful: bool) -> Candidate | None:
        """A machine that is better than the present one, as far as it can be improved; None without one.

        Args:
            present: The present machine.
            is_doubtful: Whether it makes more mistakes than the rate allows: then examples are doubted, too.
        """
        best = present
        while (found := self._improved(best, is_doubtful=is_doubtful)) is not None:
            best = found
        return None if best is present else best

    def consistent(self, examples: Iterable[Trace]) -> Candidate | None:
        """The machine of as many examples as one explains, added one by one, the shortest first."""
        best: Candidate | None = None
        for trace in sorted(examples, key=trace_order):
            best = self._candidate({trace} if best is None else best.sample | {trace}) or best
        return best

    def _improved(self, best: Candidate, *, is_doubtful: bool) -> Candidate | None:
        for error in self._starts(best):
            if (found := self._from(best, error, may_be_hard=is_doubtful)) is not None:
                return found
        if not is_doubtful:
            return None
        for trace in sorted(best.sample, key=trace_order, reverse=True):
            rest = best.sample - {trace}
            found = self._candidate(rest, best.learned.states) if rest else None
            if found is not None and _is_better(found, best):
                return found
        return self._anew(best)

    def _starts(self, best: Candidate) -> list[Trace]:
        """The errors that a search starts from."""
        count = Counter[Trace]()
        for given_up in best.given_up:
            count[given_up.error] += given_up.weight
        return sorted(count, key=lambda error: (-count[error], trace_order(error)))[:STARTS]

    def _from(self, best: Candidate, error: Trace, *, may_be_hard: bool) -> Candidate | None:
        """A better machine, after an error and then such as the best machine does not make were added."""
        doubted = {given_up.trace for given_up in best.given_up}
        sample = best.sample
        for _ in range(LENGTH):
            if error in sample:
                return None
            sample = sample | {error}
            here = self._candidate(sample, best.learned.states + EXTRA, may_be_hard=may_be_hard)
            if here is None:
                return None
            if _is_better(here, best):
                return here
            new = [given_up.error for given_up in here.given_up if given_up.trace not in doubted]
            if not new:
                return None
            error = min(new, key=trace_order)
        return None

    def _anew(self, best: Candidate) -> Candidate | None:
        """A better machine that does not depend on the examples."""
        goals = [trace for trace in self._sheet.weights if trace.outcome is Outcome.GOAL]
        often = sorted(goals, key=lambda trace: (-self._sheet.weights[trace], trace_order(trace)))[:FIRST]
        here = self.consistent(often)
        while here is not None and not _is_better(here, best):
            following = (self._from(here, error, may_be_hard=False) for error in self._starts(here))
            here = next((found for found in following if found is not None), None)
        return here

    def _candidate(
        self, sample: Iterable[Trace], most: int | None = None, *, may_be_hard: bool = False
    ) -> Candidate | None:
        """The machine of a sample; None if there is none of that size, or it is not found."""
        self.calls += 1
        kept = frozenset(sample)
        with suppress(ContradictoryTracesError):
            task = self._task_of(kept)
            budget = replace(self._budget, seconds=max(self._limits.left, 0.001))
            budget = replace(budget, max_states=min(budget.max_states, most or budget.max_states))
            result = self._quick_learner.learn(task, budget)
            if isinstance(result, TimedOut) and may_be_hard and self._learner is not self._quick_learner:
                result = self._learner.learn(task, replace(budget, seconds=max(self._limits.left, 0.001)))
            if isinstance(result, Learned):
                return self.judged(result, kept)
        return None


def _is_better(one: Candidate, other: Candidate) -> bool:
    """Whether a machine saves enough mistakes to be worth its additional states."""
    saved = PRICE * (other.learned.states - one.learned.states)
    return other.mistakes - one.mistakes + saved >= FEWEST
