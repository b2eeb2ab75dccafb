"""Machines from traces some of which are wrong: a consensus of samples that the exact learner explains.

A machine is learned from a few short goal traces. Then traces on which it is wrong are added, cut at the first error,
as long as the cost falls: the mistakes on all traces, and a price for each state. Traces that are wrong themselves
raise the cost or contradict the others, and so are left out. Where no single one lowers the cost, several are added:
one error of the best machine, and then such as the best machine does not make. Searches start anew from other samples
until two of them end with the lowest cost, and with as few mistakes as the rate of noise allows.

Of the machine that is found, nothing is proved. A certificate is another search, by MaxSAT: size after size, that every
smaller machine makes more mistakes. If one does not, it is the better machine, and takes the place of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nsmallest
from itertools import chain, islice, repeat
from math import exp, lgamma, log, log1p
from random import Random
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.traversal import Verdict
from rewardmachines.learning.learner import GRACE, SMALLEST, Budget, Engine, Learner, Progress, Watch
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.maxsat import Tolerance
from rewardmachines.learning.results import GivenUp, Learned, MistakeBound, Noise, Result, TimedOut, Unsatisfiable
from rewardmachines.learning.solvers import Solvers
from rewardmachines.learning.task import (
    ContradictoryTracesError,
    LearningTask,
    Options,
    check_that_something_ended,
    learning_task,
    show_word,
    trace_order,
)
from rewardmachines.learning.tree import CalleeWalk
from rewardmachines.traces import Outcome, Trace

QUANTILE: Final = 0.99
"""The probability with which the number of wrong traces is within what is allowed."""
ROUNDING: Final = 1e-9
"""The error of a sum of such probabilities."""
PRICE: Final = 2
"""The number of mistakes that a state more must save."""
FIRST: Final = 5
"""The number of goal traces of a first sample."""
SHORT: Final = 3
"""First samples are drawn from the shortest goal traces, repetitions counted: this many times as many as are drawn."""
NEAREST: Final = 10
"""The number of shortest errors among which the next one is drawn."""
DETOUR: Final = 8
"""The number of errors in a row that may be added without a lower cost."""
TRUSTED: Final = 10
"""The number of traces in a row that may be added after an error, of those that the best machine explains."""
EXTRA_TRUSTED: Final = 2
"""The number of states that a machine may then have more than the best one."""
NEAREST_TRUSTED: Final = 3
"""The number of shortest such traces among which the next one is drawn."""
DETOURS: Final = 12
"""The number of detours without a lower cost after which a search ends."""
LOSING: Final = 4
"""Every so many detours, one begins with a part of the sample."""
LOSING_UNLIKELY: Final = 2
"""The same while the best machine has more mistakes than are allowed, and so is itself not to be trusted."""
RESTARTS: Final = 20
"""The largest number of searches from the start."""
AGREEING: Final = 2
"""The number of searches that must end with the lowest cost before the search is over."""
KEPT: Final = 0.7
"""The share of its sample that a machine keeps when a detour begins: some of it may be wrong."""
EXTRA: Final = 1
"""The number of states that a machine may have more than that before the last error was added."""
ATTEMPT: Final = 0.2
"""Seconds for the machine of one sample, at least; a sample that takes longer is left."""
FIRST_ATTEMPT: Final = 10.0
"""Seconds for the first machine."""
LONGER: Final = 4
"""The factor by which a sample may take longer than any that lowered the cost."""


def allowed_mistakes(traces: int, rate: float) -> int:
    """The least number that a binomial number of wrong traces does not exceed with probability 0.99.

    >>> allowed_mistakes(300, 0.01), allowed_mistakes(300, 0.1)
    (8, 43)
    """
    total = 0.0
    for mistakes in range(traces + 1):
        ways = lgamma(traces + 1) - lgamma(mistakes + 1) - lgamma(traces - mistakes + 1)
        total += exp(ways + mistakes * log(rate) + (traces - mistakes) * log1p(-rate))
        if total >= QUANTILE - ROUNDING:
            return mistakes
    return traces


class Sheet:
    """All traces with their weights, on which machines are judged."""

    def __init__(self, traces: Mapping[Trace, int], *, prefix_knowledge: bool) -> None:
        self.weights = dict(traces)
        self._prefix_knowledge = prefix_knowledge

    @property
    def total(self) -> int:
        """The number of traces, repetitions counted."""
        return sum(self.weights.values())

    def mistakes(self, hierarchy: Hierarchy, limits: SearchLimits) -> tuple[GivenUp, ...]:
        """The traces that the hierarchy does not explain."""
        walk = CalleeWalk(hierarchy)
        return tuple(
            GivenUp(trace, weight, error)
            for trace, weight in self.weights.items()
            if (error := self._error(walk, trace, limits)) is not None
        )

    def _error(self, walk: CalleeWalk, trace: Trace, limits: SearchLimits) -> Trace | None:
        """The trace up to the first error of a hierarchy, like `first_error`."""
        limits.check()
        state, given, last = 0, Verdict.NEITHER, len(trace) - 1
        for position, label in enumerate(trace.labels):
            state, given = walk.after(state, label)
            if given is not Verdict.NEITHER:
                if self._prefix_knowledge and position < last:
                    return Trace(trace.labels[: position + 1])
                break
        return None if given is trace.outcome.verdict else trace


@dataclass(frozen=True)
class Candidate:
    """A machine, the sample that it was learned from, and its mistakes on all traces."""

    learned: Learned
    sample: frozenset[Trace]
    given_up: tuple[GivenUp, ...]

    @cached_property
    def mistakes(self) -> int:
        """The number of traces that the machine does not explain, repetitions counted."""
        return sum(given_up.weight for given_up in self.given_up)

    @property
    def cost(self) -> tuple[int, int]:
        """Mistakes and the price of the states; among equals, fewer edges are better."""
        return self.mistakes + PRICE * self.learned.states, len(self.learned.machine.edges)


class Consensus:
    """The search for a machine that explains most of the traces."""

    def __init__(
        self,
        learner: Learner,
        quick_learner: Learner,
        task: LearningTask,
        traces: Mapping[Trace, int],
        rate: float,
        max_states: int,
        limits: SearchLimits,
        watch: Watch = lambda _: None,
    ) -> None:
        """Prepares the search.

        Args:
            learner: The exact learner of samples.
            quick_learner: One that leaves hard samples: most of them have wrong traces.
            task: The space of machines; its own traces do not matter.
            traces: All traces with their weights.
            rate: The share of the traces that may be wrong.
            max_states: The largest size to try.
            limits: The limits of the search.
            watch: Called with the progress of the search.
        """
        self.sheet = Sheet(traces, prefix_knowledge=task.options.prefix_knowledge)
        self.allowed = allowed_mistakes(self.sheet.total, rate)
        self.calls = 0
        self.restarts = 0
        self.best: Candidate | None = None
        """The best candidate so far, also when a limit is reached."""
        self._longest = 0.0
        self._learner = learner
        self._quick_learner = quick_learner
        self._task = task
        self._rate = rate
        self._max_states = max_states
        self._limits = limits
        self._watch = watch

    def run(self) -> Learned | None:
        """The machine with the lowest cost of all searches; None if no sample has a machine.

        Raises:
            BudgetExceeded: if a limit is reached before there is any machine.
        """
        ends: Counter[tuple[int, int]] = Counter()
        try:
            while self.restarts < RESTARTS:
                self.restarts += 1
                found = self._descend(Random(self.restarts))  # noqa: S311
                if found is not None:
                    ends[found.cost] += 1
                if self.best and self.best.mistakes <= self.allowed and ends[self.best.cost] >= AGREEING:
                    break
        except BudgetExceeded:
            if self.best is None:
                raise
        return None if self.best is None else self.learned(self.best)

    def certified(self, solvers: Solvers) -> Learned:
        """The best machine, and the proof, as far as the limits allow, that every smaller one makes more mistakes."""
        assert self.best is not None
        best, bounds, sizes = self.best, list[MistakeBound](), range(SMALLEST, self.best.learned.states)
        tolerance = Tolerance(self._task, self.sheet.weights, solvers, self._judge, self._limits, self._tell_bound)
        with suppress(BudgetExceeded):
            tolerance.add((*best.sample, *(given_up.error for given_up in best.given_up)))
            for states in sizes:
                bound, machine = tolerance.refute(states, best.mistakes)
                self.calls += 1
                if machine is not None:
                    self.best = self._smaller(machine, best)
                    break
                bounds.append(bound)
                if bound.mistakes <= best.mistakes:
                    break
        learned = self.learned(self.best)
        assert learned.noise is not None
        proved = {bound.states for bound in bounds if bound.mistakes > self.best.mistakes}
        is_certified = proved.issuperset(range(SMALLEST, learned.states))
        return replace(learned, noise=replace(learned.noise, bounds=tuple(bounds), is_certified=is_certified))

    def _judge(self, hierarchy: Hierarchy) -> tuple[GivenUp, ...]:
        return self.sheet.mistakes(hierarchy, self._limits)

    def _smaller(self, machine: RewardMachine, best: Candidate) -> Candidate:
        """The candidate of a smaller machine: with the fewest edges for what it explains, if there is time for them."""
        hierarchy = self._task.hierarchy(machine)
        given_up = self.sheet.mistakes(hierarchy, self._limits.extended(GRACE))
        wrong = {g.trace for g in given_up}
        sample = frozenset(trace for trace in self.sheet.weights if trace not in wrong)
        found = Learned(machine, hierarchy, best.learned.certificate, self._limits.seconds, self.calls)
        with suppress(BudgetExceeded):
            return self._candidate(sample) or Candidate(found, sample, given_up)
        return Candidate(found, sample, given_up)

    def learned(self, candidate: Candidate) -> Learned:
        """The result for a candidate."""
        given_up = tuple(sorted(candidate.given_up, key=lambda g: trace_order(g.trace)))
        noise = Noise(self._rate, given_up, self.sheet.total, self.allowed, self.restarts)
        unproved = replace(candidate.learned.certificate, refuted=(), edges_minimal=False, literals_minimal=False)
        return replace(
            candidate.learned, certificate=unproved, noise=noise, seconds=self._limits.seconds, calls=self.calls
        )

    def _descend(self, chance: Random) -> Candidate | None:
        """One search from a first sample, to where neither one error nor several in a row lower the cost."""
        best = self._candidate(frozenset(self._first_sample(chance)))
        tried: set[tuple[frozenset[Trace], Trace]] = set()
        believed: set[tuple[frozenset[Trace], Trace]] = set()
        failed = 0
        while best is not None and failed < DETOURS:
            if best.mistakes <= self.allowed and self._next_error(best, tried, chance) is not None:
                better = self._detour(best, 1, tried, chance)
            else:
                loses = failed % (LOSING if best.mistakes <= self.allowed else LOSING_UNLIKELY) == 0
                failed += 1
                better = self._detour(best, DETOUR, set(), chance) if loses else self._trust(best, believed, chance)
            if better is not None:
                best, failed = better, 0
        return best

    def _trust(
        self, best: Candidate, believed: set[tuple[frozenset[Trace], Trace]], chance: Random
    ) -> Candidate | None:  # fmt: skip
        """A candidate with lower cost, after one error was added, and then such as the best machine does not make.

        Most errors of a good machine are traces that are wrong. A trace that it explains is seldom wrong: machines that
        explain one of its errors must go on to explain those, and are larger rather than different.
        """
        error = self._next_error(best, believed, chance)
        if error is None:
            return None
        believed.add((best.sample, error))
        doubted = {given_up.trace for given_up in best.given_up}
        here = best
        for _ in range(TRUSTED):
            following = self._candidate(here.sample | {error}, best.learned.states + EXTRA_TRUSTED, leaves_hard=True)
            if following is None or following.cost < best.cost:
                return following
            new = {g.error for g in following.given_up if g.trace not in doubted} - following.sample
            if not new:
                return None
            here, error = following, chance.choice(sorted(new, key=trace_order)[:NEAREST_TRUSTED])
        return None

    def _detour(
        self, best: Candidate, length: int, tried: set[tuple[frozenset[Trace], Trace]], chance: Random
    ) -> Candidate | None:
        """A candidate with lower cost, after at most so many errors were added one after the other."""
        here, added = best, 0
        if length > 1:
            kept = frozenset(t for t in sorted(best.sample, key=trace_order) if chance.random() < KEPT)
            here = (self._candidate(kept) if kept else None) or best
        while added < length and (error := self._next_error(here, tried, chance)) is not None:
            tried.add((here.sample, error))
            following = self._candidate(here.sample | {error}, here.learned.states + EXTRA)
            added += 1
            if following is not None and following.cost < best.cost:
                return following
            here = following or here
        return None

    def _first_sample(self, chance: Random) -> Sequence[Trace]:
        ended = [t for t in self.sheet.weights if t.outcome is Outcome.GOAL]
        ended = ended or [t for t in self.sheet.weights if t.outcome is Outcome.DEAD_END]
        repeated = chain.from_iterable(repeat(t, self.sheet.weights[t]) for t in sorted(ended, key=trace_order))
        short = list(islice(repeated, SHORT * FIRST))
        return chance.sample(short, min(FIRST, len(short)))

    def _next_error(
        self, here: Candidate, tried: set[tuple[frozenset[Trace], Trace]], chance: Random
    ) -> Trace | None:  # fmt: skip
        """One of the shortest errors that was not added to this sample before."""
        errors = {g.error for g in here.given_up}
        left = [error for error in errors if (here.sample, error) not in tried]
        if not left:
            return None
        most = nsmallest(NEAREST, map(len, left))[-1]
        return chance.choice(sorted((error for error in left if len(error) <= most), key=trace_order)[:NEAREST])

    def _candidate(
        self, sample: frozenset[Trace], most: int | None = None, *, leaves_hard: bool = False
    ) -> Candidate | None:
        """The machine of a sample; None if the sample contradicts itself, or its machine takes too long to find."""
        self._limits.check()
        self.calls += 1
        try:
            limits = self._limits.within(FIRST_ATTEMPT if self.best is None else max(ATTEMPT, LONGER * self._longest))
            ordered = tuple(sorted(sample, key=trace_order))
            task = replace(self._task, traces=ordered, limits=limits)
            budget = Budget(max_states=min(self._max_states, most or self._max_states))
            learner = self._quick_learner if leaves_hard else self._learner
            result = learner.learn(task, budget, limits)
        except (BudgetExceeded, ContradictoryTracesError):
            self._limits.check()
            return None
        if not isinstance(result, Learned):
            self._limits.check()
            return None
        took = limits.seconds
        candidate = Candidate(result, sample, self.sheet.mistakes(result.hierarchy, self._limits))
        if self.best is None or candidate.cost < self.best.cost:
            self.best = candidate
            self._longest = max(self._longest, took)
            self._tell(candidate)
        return candidate

    def _tell(self, best: Candidate) -> None:
        activity = f"search {self.restarts}: {best.mistakes} mistakes, {self.allowed} allowed"
        self._watch(Progress(best.learned.states, self.sheet.total, self._limits.seconds, activity))

    def _tell_bound(self, states: int, bound: int, told: int) -> None:
        activity = f"with {states} states, at least {bound} mistakes"
        self._watch(Progress(states, told, self._limits.seconds, activity))


def learn_from_noise(
    learner: Learner,
    traces: Iterable[Trace] | Mapping[Trace, int],
    propositions: Iterable[str] | None,
    callables: Iterable[Hierarchy | RewardMachine],
    rate: float,
    *,
    options: Options,
    name: str,
    budget: Budget,
    limits: SearchLimits,
    watch: Watch = lambda _: None,
    certify_with: Solvers | None = None,
) -> Result:
    """A machine that explains most of the traces; see `induce` for the arguments.

    With `certify_with`, these solvers search for a proof that smaller machines make more mistakes.

    Raises:
        RewardMachineError: if the task makes no sense, or no trace ended in a goal or a dead end.
    """
    if not 0 < rate < 0.5:
        raise RewardMachineError(f"the noise is a share of the traces above 0 and below 0.5, not {rate:g}")
    consensus: Consensus | None = None
    try:
        weights = _weights(traces, limits)
        check_that_something_ended(weights)
        # Traces that are all incomplete never contradict each other: this checks the rest of the task.
        prefixes = [Trace(trace.labels) for trace in weights]
        task = learning_task(prefixes, propositions, callables, options=options, name=name, limits=limits)
        with Solvers(memory=budget.memory, easy_only=True) as easy:
            quick_learner = learner if learner.engine is Engine.CLINGO else Learner(easy)
            consensus = Consensus(learner, quick_learner, task, weights, rate, budget.max_states, limits, watch)
            found = consensus.run()
        if found is None:
            return Unsatisfiable(budget.max_states, (), limits.seconds, consensus.calls)
        return found if certify_with is None else consensus.certified(certify_with)
    except BudgetExceeded as exceeded:
        return TimedOut(SMALLEST, (), limits.seconds, consensus.calls if consensus else 0, exceeded.reason)
    except MemoryError:
        return TimedOut(SMALLEST, (), limits.seconds, consensus.calls if consensus else 0, "memory")


def _weights(traces: Iterable[Trace] | Mapping[Trace, int], limits: SearchLimits) -> Mapping[Trace, int]:
    """Each trace once, with the number of times that it was given."""
    weights = Counter(dict(traces) if isinstance(traces, Mapping) else limits.checked(traces))
    for trace, weight in weights.items():
        if weight < 1:
            raise RewardMachineError(f"a trace has a weight of at least 1, not {weight!r}: {show_word(trace.labels)}")
    if not weights:
        raise RewardMachineError("there are no traces to learn from")
    return weights
