"""`induce`: a machine from traces, or from an oracle that answers with counterexamples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, runtime_checkable

from rewardmachines.core.equivalence import Word, difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.labelsets import Labels
from rewardmachines.core.machine import RewardMachine, machine
from rewardmachines.core.traversal import Verdict, traverse, verdict, verdict_of
from rewardmachines.learning.asking import Answers, learn_by_asking
from rewardmachines.learning.learner import MAX_STATES, SMALLEST, Budget, Engine, Learner, Watch
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.noise import learn_from_noise
from rewardmachines.learning.results import Learned, Result, TimedOut
from rewardmachines.learning.solvers import Solvers
from rewardmachines.learning.task import LearningTask, Options, check_that_something_ended, learning_task, trace_order
from rewardmachines.traces import Outcome, Trace

NOTHING_SEEN: Final = Trace(())
"""The trace of an episode before its first label: it has not ended."""
FIRST_TRACES: Final = 10
"""The number of goal traces from which the first machine is learned: the shortest of those collected."""


@runtime_checkable
class Oracle(Protocol):
    """A source of examples: recorded traces, a known hierarchy, or episodes in an environment."""

    def goal_traces(self) -> Iterable[Trace]:
        """Traces that reach the goal, to begin with."""

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        """Traces to which the hierarchy gives the wrong verdict, the best first; none if none is found."""


@dataclass(frozen=True)
class TraceOracle:
    """Knows recorded traces and nothing else."""

    traces: Sequence[Trace]

    def goal_traces(self) -> Iterable[Trace]:
        return [trace for trace in self.traces if trace.outcome is Outcome.GOAL]

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        wrong = [t for t in self.traces if verdict(hierarchy, t.labels) is not t.outcome.verdict]
        return shortest(wrong, 1)


@dataclass(frozen=True)
class HierarchyOracle:
    """Knows the truth: the outcome of a trace, and a shortest trace on which a hierarchy is wrong."""

    truth: Hierarchy
    labels: Labels = None
    events: bool = True

    def goal_traces(self) -> Iterable[Trace]:
        """The shortest trace that reaches the goal, if there is any."""
        nothing = Hierarchy("nothing", (machine("nothing", []),), self.truth.propositions)
        word = difference(self.truth, nothing, labels=self.labels, events=self.events)
        return [] if word is None else [self._trace(word)]

    def counterexamples(self, hierarchy: Hierarchy) -> Sequence[Trace]:
        word = difference(self.truth, hierarchy, labels=self.labels, events=self.events)
        return [] if word is None else [self._trace(word)]

    def membership(self, labels: Word) -> Outcome:
        """The outcome of a trace."""
        return Outcome.of(verdict(self.truth, labels))

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        """A shortest trace on which a hierarchy is wrong, or None."""
        return next(iter(self.counterexamples(hierarchy)), None)

    def _trace(self, word: tuple[frozenset[str], ...]) -> Trace:
        return Trace(word, self.membership(word))


def first_error(hierarchy: Hierarchy, trace: Trace) -> Trace | None:
    """The shortest part of an episode that the hierarchy gets wrong: it ends too early, too late or in the wrong way.

    The episode went on after every label but the last, so its proper prefixes are incomplete.
    """
    last = len(trace)
    for position, state in enumerate(traverse(hierarchy, trace.labels)):
        given = verdict_of(hierarchy, state)
        if position < last and given is not Verdict.NEITHER:
            return Trace(trace.labels[:position])
        if position == last and given is not trace.outcome.verdict:
            return trace
    return None


def shortest(traces: Iterable[Trace], count: int = FIRST_TRACES) -> list[Trace]:
    """The `count` shortest traces, without repetition."""
    return sorted(set(traces), key=trace_order)[:count]


def induce(
    source: Iterable[Trace] | Mapping[Trace, int] | Oracle = (),
    propositions: Iterable[str] | None = None,
    callables: Iterable[Hierarchy | RewardMachine] = (),
    *,
    oracle: Answers | None = None,
    alphabet: Iterable[Iterable[str]] | None = None,
    extra_states: int | None = None,
    noise: float | None = None,
    certify: bool = False,
    max_states: int = MAX_STATES,
    timeout: float | None = None,
    memory: int | None = None,
    disjuncts: int = 1,
    acyclic: bool = True,
    negative_formulas: bool = False,
    prefix_knowledge: bool = True,
    engine: Engine | Literal["sat", "clingo"] = Engine.SAT,
    name: str = "root",
    cores: int | None = None,
    watch: Watch = lambda _: None,
    limits: SearchLimits | None = None,
) -> Result:
    """The smallest machine that explains the traces: fewest states, then edges, then literals.

    It may call the `callables`. From an oracle, the machine is learned from the shortest goal traces first, and again
    whenever the oracle knows a trace that it does not explain.

    With `oracle`, the outcome of the shortest trace on which two candidates differ is asked, until the solver proves
    that no other machine is left; the field `asked` of the result has the traces, the numbers of questions, and what
    was proved.

    With `noise`, some of the traces may be wrong. The machine is the best that was found; the field `noise` of the
    result has the traces that were given up, and says whether the rate allows as many. With `certify`, it is proved, as
    far as the limits allow, that every machine with fewer states makes more mistakes.

    Args:
        source: Traces, read as a part of the search, or an oracle with counterexamples. With `noise`, perhaps a mapping
            from traces to the number of times that each was seen.
        propositions: The propositions that formulas may mention; by default all that occur, also in later answers of an
            oracle.
        callables: The machines that the machine may call.
        oracle: A function from labels to an outcome, or an object with `membership`, which is this function, and
            perhaps `equivalence`, which gives a trace on which a machine is wrong, or None. Without the latter, a trace
            of `source` must have ended.
        alphabet: With `oracle`, the labels of traces; by default the empty one, and one for each proposition.
        extra_states: With `oracle`, the states that another machine may have more; by default 1, and 0 if there is
            `equivalence`.
        noise: The share of the traces that may be wrong, in their labels or their outcome: more than 0, less than 0.5.
        certify: Whether to search for the proof, with `noise`, that every smaller machine makes more mistakes.
        max_states: The largest size to try; the rejecting state is not counted.
        timeout: Seconds after which to give up, building the task included.
        memory: Bytes that each solver process may take, and by which this process may grow.
        disjuncts: The largest number of disjuncts between two states.
        acyclic: Whether no state that was left may be entered again.
        negative_formulas: Whether edges may do without a positive literal.
        prefix_knowledge: Whether traces were recorded until the episode ended.
        engine: The solver of the search.
        name: The name of the machine.
        cores: The number of solver processes at a time.
        watch: Called with the progress of the search.
        limits: The limits of an earlier search that goes on, instead of new ones from `timeout` and `memory`.

    Returns:
        `Learned`, `Unsatisfiable` or `TimedOut`, as from `Learner.learn`.

    Raises:
        RewardMachineError: if the task makes no sense, or no trace ended in a goal or a dead end;
            `ContradictoryTracesError` if no machine whatever explains the traces.

    >>> from rewardmachines.files import parse_word
    >>> from rewardmachines.traces import Outcome
    >>> goal = [Trace(parse_word("iron {} table"), Outcome.GOAL), Trace(parse_word("cow iron table"), Outcome.GOAL)]
    >>> [str(edge) for edge in induce([*goal, Trace(parse_word("table iron"))]).machine.edges]
    ['u0 --[iron]--> u1', 'u1 --[table]--> uA']
    >>> from rewardmachines.language import compile_task
    >>> result = induce(propositions=["iron", "table"], oracle=HierarchyOracle(compile_task("iron ; table")))
    >>> result.states, result.asked.membership, result.asked.equivalence
    (3, 2, 3)
    """
    options = Options(disjuncts, acyclic, negative_formulas, prefix_knowledge)
    budget = Budget(timeout, memory, max_states)
    limits = limits or budget.start()
    if oracle is not None and isinstance(source, Oracle):
        raise RewardMachineError("with an oracle for questions, the source is traces")
    if noise is not None and (oracle is not None or isinstance(source, Oracle)):
        raise RewardMachineError("with noise, the source is traces, and there is no oracle")
    if certify and noise is None:
        raise RewardMachineError("without noise, every machine is proved to be the smallest: certify goes with noise")
    with Solvers(cores=cores, memory=memory) as solvers:
        learner = Learner(solvers, engine=_engine(engine), watch=watch)
        if noise is not None:
            assert not isinstance(source, Oracle)
            return learn_from_noise(
                learner, source, propositions, callables, noise, options=options, name=name, budget=budget,
                limits=limits, watch=watch, certify_with=solvers if certify else None
            )  # fmt: skip
        traces = shortest(source.goal_traces(), FIRST_TRACES) if isinstance(source, Oracle) else source
        if oracle is not None:
            traces = list(traces) or [NOTHING_SEEN]
        try:
            task = learning_task(traces, propositions, callables, options=options, name=name, limits=limits)
        except BudgetExceeded as exceeded:
            return TimedOut(SMALLEST, (), limits.seconds, 0, exceeded.reason)
        if oracle is not None:
            return learn_by_asking(
                learner, task, oracle, alphabet=alphabet, extra_states=extra_states, budget=budget, limits=limits,
                new_propositions=propositions is None,
            )  # fmt: skip
        check_that_something_ended(task.traces)
        if isinstance(source, Oracle):
            left = _what_is_left(budget, limits)
            return ask_until_right(learner, task, source, left, new_propositions=propositions is None).result
        return learner.learn(task, budget, limits)


@dataclass(frozen=True)
class Induction:
    """The course of learning with an oracle: attempts and counterexamples."""

    result: Result
    task: LearningTask
    """The machine that was learned from all traces that were needed."""
    attempts: tuple[Result, ...]


def ask_until_right(
    learner: Learner,
    task: LearningTask,
    oracle: Oracle,
    budget: Budget | None = None,
    report: Callable[[Result], None] = lambda _: None,
    *,
    new_propositions: bool = False,
) -> Induction:
    """Learns, asks for counterexamples, adds them and learns again, until there are none or the budget is spent.

    The time that the oracle takes counts, but an oracle is not interrupted. With `new_propositions`, formulas may also
    mention propositions that only counterexamples have.
    """
    budget = budget or Budget()
    limits = budget.start()
    attempts: list[Result] = []
    while True:
        result = learner.learn(task, _what_is_left(budget, limits))
        attempts.append(result)
        report(result)
        if not isinstance(result, Learned) or not (wrong := oracle.counterexamples(result.hierarchy)):
            return Induction(_summed(result, attempts), task, tuple(attempts))
        try:
            task = _with_traces(task, wrong, limits, new_propositions=new_propositions)
        except BudgetExceeded as exceeded:
            attempts.append(TimedOut(result.states, result.certificate.refuted, 0.0, 0, exceeded.reason))
            return Induction(_summed(attempts[-1], attempts), task, tuple(attempts))


def _with_traces(
    task: LearningTask, wrong: Sequence[Trace], limits: SearchLimits, *, new_propositions: bool
) -> LearningTask:  # fmt: skip
    if explained := set(wrong) & set(task.traces):
        raise RewardMachineError(
            f"the oracle gave a trace that the machine explains: {min(explained, key=trace_order)}"
        )
    traces = (*task.traces, *wrong)
    known = None if new_propositions else task.propositions
    return learning_task(traces, known, task.callables, options=task.options, name=task.name, limits=limits)


def _what_is_left(budget: Budget, limits: SearchLimits) -> Budget:
    return budget if budget.seconds is None else replace(budget, seconds=max(1e-3, limits.left))


def _summed(result: Result, attempts: list[Result]) -> Result:
    """The last result, with the time and the calls of all."""
    return replace(result, seconds=sum(a.seconds for a in attempts), calls=sum(a.calls for a in attempts))


def _engine(engine: Engine | str) -> Engine:
    try:
        return Engine(engine)
    except ValueError:
        raise RewardMachineError(f"the engine is one of {', '.join(e.value for e in Engine)}, not {engine!r}") from None
