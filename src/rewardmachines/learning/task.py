"""The HRM learning task: traces to explain, and what the machine that explains them may look like (Section 5).

The result is a machine with the fewest states; among these, one with the fewest edges, and then literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field

from rewardmachines.core.errors import NondeterminismError, RewardMachineError, UnknownPropositionError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.machine import ACCEPTING, INITIAL, REJECTING, RewardMachine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import show_label, verdict
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.traces import Outcome, Trace


class ContradictoryTracesError(RewardMachineError):
    """Two traces that no machine can explain together."""

    def __init__(self, finding: str, traces: tuple[Trace, Trace], advice: str = "", wrong: int = 1) -> None:
        some = "one trace" if wrong == 1 else f"{wrong} different traces"
        super().__init__(f"{finding}{advice} (at least {some} would have to be wrong)")
        self.finding = finding
        """The contradiction, without the advice: for callers that cannot change their traces."""
        self.traces = traces
        """The two traces."""
        self.wrong = wrong
        """The smallest number of different traces without which no two of the others contradict each other."""


@dataclass(frozen=True)
class Options:
    """The space of machines that is searched."""

    disjuncts: int = 1
    """κ: how many disjuncts there may be between two states, over all machines called."""
    acyclic: bool = True
    """Whether no edge may lead back to a state that was left."""
    negative_formulas: bool = False
    """Whether an edge that calls the leaf may do without a positive literal."""
    prefix_knowledge: bool = True
    """Whether traces were recorded until the episode ended, so that no proper prefix is accepted or rejected."""

    def __post_init__(self) -> None:
        if self.disjuncts < 1:
            raise RewardMachineError(f"there must be room for at least one disjunct, not {self.disjuncts}")


@dataclass(frozen=True)
class LearningTask:
    """A learning task: a root called `name` that may call the roots of `callables`."""

    traces: tuple[Trace, ...]
    propositions: tuple[str, ...]
    callables: tuple[Hierarchy, ...] = ()
    options: Options = field(default_factory=Options)
    name: str = "root"
    limits: InitVar[SearchLimits | None] = None
    """The limits of the search, which the checks of a new task keep, too."""

    def __post_init__(self, limits: SearchLimits | None) -> None:
        limits = limits or SearchLimits()
        if not self.traces:
            raise RewardMachineError("there are no traces to learn from")
        if len(set(self.propositions)) != len(self.propositions):
            raise RewardMachineError("a proposition is declared twice")
        _check_propositions(self, limits)
        _check_callables(self, limits)
        check_traces(self.traces, prefix_knowledge=self.options.prefix_knowledge, limits=limits)

    @property
    def has_dead_ends(self) -> bool:
        """Whether some trace ends in a dead end: only then may the machine have a rejecting state."""
        return any(trace.outcome is Outcome.DEAD_END for trace in self.traces)

    @property
    def callees(self) -> Mapping[str, Hierarchy]:
        """The hierarchies that may be called, by the names of their roots."""
        return {hierarchy.root: hierarchy for hierarchy in self.callables}

    @property
    def background(self) -> tuple[RewardMachine, ...]:
        """All machines that calls may lead to."""
        machines: dict[str, RewardMachine] = {}
        for hierarchy in self.callables:
            machines |= {machine.name: machine for machine in hierarchy.reachable()}
        return tuple(machines.values())

    def hierarchy(self, root: RewardMachine) -> Hierarchy:
        """A root together with the machines that it calls."""
        whole = Hierarchy(root.name, (root, *self.background), self.propositions)
        return Hierarchy(root.name, whole.reachable(), self.propositions)

    def unexplained(self, hierarchy: Hierarchy, limits: SearchLimits | None = None) -> Trace | None:
        """The first trace to which the hierarchy gives another verdict."""
        traces = self.traces if limits is None else limits.checked(self.traces)
        return next((t for t in traces if verdict(hierarchy, t.labels) is not t.outcome.verdict), None)


def learning_task(
    traces: Iterable[Trace],
    propositions: Iterable[str] | None = None,
    callables: Iterable[Hierarchy | RewardMachine] = (),
    *,
    options: Options | None = None,
    name: str = "root",
    limits: SearchLimits | None = None,
) -> LearningTask:
    """A task in canonical form: traces sorted and without repetitions, callables in the order of their names.

    Args:
        traces: The traces that the machine must explain.
        propositions: The propositions that formulas may mention; by default all that are seen in the traces and
            mentioned by the callables.
        callables: The machines that the machine may call.
        options: The space of machines that is searched.
        name: The name of the machine.
        limits: The limits of the search, if building the task counts as a part of it.

    Raises:
        RewardMachineError: if the task makes no sense; `ContradictoryTracesError` if no machine whatever explains the
            traces.
        BudgetExceeded: if a limit is reached.
    """
    limits = limits or SearchLimits()
    distinct = _sorted(set(limits.checked(traces)), limits)
    called = sorted((_as_hierarchy(c) for c in callables), key=lambda h: h.root)
    if propositions is None:
        seen = {p for label in _distinct_labels(distinct, limits) for p in label}
        propositions = sorted(seen | {p for h in called for p in h.propositions})
    return LearningTask(
        traces=tuple(distinct),
        propositions=tuple(propositions),
        callables=tuple(called),
        options=options or Options(),
        name=name,
        limits=limits,
    )


def _sorted(traces: Iterable[Trace], limits: SearchLimits) -> list[Trace]:
    """The key by which traces are sorted: by length, labels and outcome."""
    names: dict[Label, list[str]] = {}  # labels repeat: each is sorted once

    def order(trace: Trace) -> tuple[int, list[list[str]], str]:
        limits.check()
        text = [names.get(label) or names.setdefault(label, sorted(label)) for label in trace.labels]
        return len(trace), text, trace.outcome.value

    return sorted(traces, key=order)


def trace_order(trace: Trace) -> tuple[int, list[list[str]], str]:
    """The key by which a few traces are sorted: by length, labels and outcome."""
    return len(trace), [sorted(label) for label in trace.labels], trace.outcome.value


def _distinct_labels(traces: Iterable[Trace], limits: SearchLimits) -> Iterable[Label]:
    """Each label once, in the order in which they are first seen."""
    labels: dict[Label, None] = {}
    for trace in limits.checked(traces):
        labels.update(dict.fromkeys(trace.labels))
    return labels


def _as_hierarchy(callee: Hierarchy | RewardMachine) -> Hierarchy:
    return callee if isinstance(callee, Hierarchy) else Hierarchy(callee.name, (callee,))


def _check_propositions(task: LearningTask, limits: SearchLimits) -> None:
    known = set(task.propositions)
    for label in _distinct_labels(task.traces, limits):
        if unknown := sorted(label - known):
            hint = suggestion(unknown[0], known)
            raise UnknownPropositionError(
                f"a trace holds the proposition '{unknown[0]}', which is not among the given ones{hint}"
            )
    for hierarchy in task.callables:
        if unknown := sorted(set(hierarchy.used_propositions) - known):
            raise UnknownPropositionError(
                f"the callable machine '{hierarchy.root}' mentions '{unknown[0]}', which is not among the propositions"
            )


def _check_callables(task: LearningTask, limits: SearchLimits) -> None:
    machines: dict[str, RewardMachine] = {}
    for hierarchy in limits.checked(task.callables):
        root = hierarchy[hierarchy.root]
        if root.is_terminal(root.initial):
            raise RewardMachineError(f"'{root.name}' cannot be called: its initial state is terminal")
        if conflicts := check_determinism(hierarchy):
            raise NondeterminismError(f"'{root.name}' cannot be called, it is not deterministic: {conflicts[0]}")
        for machine in hierarchy.reachable():
            if machines.setdefault(machine.name, machine) != machine:
                raise RewardMachineError(f"two different machines are called '{machine.name}': rename one")
    if task.name in machines:
        raise RewardMachineError(f"the machine to be learned cannot be called '{task.name}': a callable has that name")


def check_traces(traces: Sequence[Trace], *, prefix_knowledge: bool, limits: SearchLimits | None = None) -> None:
    """Raises if two of the traces exclude each other, and names both."""
    limits = limits or SearchLimits()
    outcomes: dict[tuple[Label, ...], Outcome] = {}
    for trace in limits.checked(traces):
        other = outcomes.setdefault(trace.labels, trace.outcome)
        if other is not trace.outcome:
            raise ContradictoryTracesError(
                f"the trace {show_word(trace.labels)} is there both as {other.value} and as {trace.outcome.value}",
                (Trace(trace.labels, other), trace),
                wrong=fewest_wrong(traces, prefix_knowledge=prefix_knowledge, limits=limits),
            )
    prefixes = _Prefixes(outcomes, limits)
    for trace in traces:
        for end, before in prefixes.terminal_before_the_end(trace.labels):
            if before is trace.outcome and not prefix_knowledge:
                continue
            advice = "; --no-prefix allows it" if before is trace.outcome else ""
            raise ContradictoryTracesError(
                f"the {before.value} trace {show_word(trace.labels[:end])} is a prefix of the {trace.outcome.value} "
                f"trace {show_word(trace.labels)}: the episode would have ended there",
                (Trace(trace.labels[:end], before), trace),
                advice,
                fewest_wrong(traces, prefix_knowledge=prefix_knowledge, limits=limits),
            )


def fewest_wrong(traces: Iterable[Trace], *, prefix_knowledge: bool, limits: SearchLimits | None = None) -> int:
    """The smallest number of different traces without which no two of the others contradict each other.

    Two traces contradict each other if they have the same labels and two outcomes, or if one has an outcome with which
    the episode would have ended, and the other goes on; without the knowledge of prefixes, only if that has another
    outcome. Traces that no machine explains for another reason, such as its size, do not count.

    >>> a, b = frozenset("a"), frozenset("b")
    >>> traces = [Trace((a,), Outcome.GOAL), Trace((a,)), Trace((a, b)), Trace((b,), Outcome.GOAL), Trace((b, a))]
    >>> fewest_wrong(traces, prefix_knowledge=True)
    2
    """
    limits = limits or SearchLimits()
    after: list[dict[Label, int]] = [{}]
    outcomes: list[set[Outcome]] = [set()]
    different = set(limits.checked(traces))
    for trace in different:
        here = 0
        for label in limits.checked(trace.labels):
            here = after[here].setdefault(label, len(after))
            if here == len(after):
                after.append({})
                outcomes.append(set())
        outcomes[here].add(trace.outcome)
    # For each node, the most traces from there on that agree with each other, and, where an end of the same outcome
    # came before, those that agree with it. Children have higher numbers than their parents.
    agreeing = [0] * len(after)
    agreeing_with = {end: [0] * len(after) for end in (Outcome.GOAL, Outcome.DEAD_END)}
    for node in limits.checked(reversed(range(len(after)))):
        below = after[node].values()
        most = sum(agreeing[child] for child in below) + (Outcome.INCOMPLETE in outcomes[node])
        for end, counts in agreeing_with.items():
            if not prefix_knowledge:
                counts[node] = sum(counts[child] for child in below) + (end in outcomes[node])
            if end in outcomes[node]:
                most = max(most, 1 if prefix_knowledge else counts[node])
        agreeing[node] = most
    return len(different) - agreeing[0]


def check_that_something_ended(traces: Iterable[Trace]) -> None:
    """Incomplete traces say only what is no end: any machine that never ends explains them, and is a mere invention."""
    if all(trace.outcome is Outcome.INCOMPLETE for trace in traces):
        raise RewardMachineError(
            "no trace reaches the goal or a dead end, so there is nothing to learn from: record more episodes, or "
            'write "outcome": "goal" where the task was done'
        )


class _Prefixes:
    """The prefixes of goal and dead-end traces as a tree, so that a trace need be walked only once to meet them all."""

    def __init__(self, outcomes: Mapping[tuple[Label, ...], Outcome], limits: SearchLimits) -> None:
        self._limits = limits
        self._after: dict[tuple[int, Label], int] = {}
        self._ends: dict[int, Outcome] = {}
        for labels, outcome in outcomes.items():
            if outcome is not Outcome.INCOMPLETE:
                here = 0
                for label in limits.checked(labels):
                    here = self._after.setdefault((here, label), len(self._after) + 1)
                self._ends[here] = outcome

    def terminal_before_the_end(self, labels: Sequence[Label]) -> Iterator[tuple[int, Outcome]]:
        """The lengths of the proper prefixes that are goal or dead-end traces, the shortest first."""
        here = 0
        for end, label in enumerate(self._limits.checked(labels)):
            if here in self._ends:
                yield end, self._ends[here]
            following = self._after.get((here, label))
            if following is None:
                return
            here = following


def show_word(word: Iterable[Label]) -> str:
    """Labels as messages show them, one after the other."""
    return "<" + " ".join(map(show_label, word)) + ">"


def state_names(inner: int, *, rejecting: bool) -> tuple[str, ...]:
    """u0, u1, … and the terminal ones."""
    names = (INITIAL, *(f"u{i}" for i in range(1, inner)))
    return (*names, ACCEPTING, REJECTING) if rejecting else (*names, ACCEPTING)
