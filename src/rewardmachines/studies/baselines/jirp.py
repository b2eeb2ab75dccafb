"""JIRP: the smallest reward machine whose rewards are those of all traces, by SAT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Final

from rewardmachines.core.formula import Conjunction, Formula, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, Edge, RewardMachine
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain
from rewardmachines.traces import Outcome

Clause = list[int]
SOLVER: Final = "glucose4"
"""The name that PySAT has for the solver that the published code uses."""


@dataclass(frozen=True)
class RewardTrace:
    """The labels of an episode, by their numbers, the reward of each, and whether the last one ended it."""

    labels: tuple[int, ...]
    rewards: tuple[int, ...]
    is_finished: bool


@dataclass(frozen=True)
class MealyMachine:
    """A machine with rewards on its edges. Its states are numbers from 0, the initial one; the last one is terminal."""

    targets: tuple[tuple[int, ...], ...]
    """The state that each label leads to, by state and label; without those of the terminal state."""
    rewards: tuple[tuple[int, ...], ...]
    """The reward of the same edge."""

    @property
    def size(self) -> int:
        """The number of states that are not terminal, which is also the number of the terminal one."""
        return len(self.targets)

    def explains(self, trace: RewardTrace) -> bool:
        """Whether the machine gives the rewards of the trace, and ends when it does and not before."""
        states = list(self.states(trace.labels))
        ends = [state == self.size for state in states]
        return self.rewards_of(trace.labels) == trace.rewards and ends == [
            *(False for _ in trace.labels),
            trace.is_finished,
        ]

    def states(self, labels: Iterable[int]) -> Iterator[int]:
        """The states that labels lead through, the initial one first. The terminal state is never left."""
        state = 0
        yield state
        for label in labels:
            state = state if state == self.size else self.targets[state][label]
            yield state

    def rewards_of(self, labels: Sequence[int]) -> tuple[int, ...]:
        """The reward of each label; there is none in the terminal state."""
        pairs = zip(self.states(labels), labels, strict=False)
        return tuple([0 if state == self.size else self.rewards[state][label] for state, label in pairs])


class JirpEncoding:
    """The variables and clauses of the question.

    δ(p, l, q): label l leads from p to q. o(p, l, r): it is rewarded with r. x(w, q): the prefix w of a trace leads to
    q. States are 0 to n − 1, and n is the terminal one.
    """

    def __init__(self, size: int, label_count: int, traces: Sequence[RewardTrace]) -> None:
        """Numbers the variables.

        Args:
            size: The number n of states that are not terminal.
            label_count: The number of labels.
            traces: The traces that the machine must explain.
        """
        self._size, self._labels, self._traces = size, label_count, traces
        self._values = sorted({0}.union(*(trace.rewards for trace in traces)))
        self._states = range(size + 1)
        self._rewards_from = 1 + (size + 1) ** 2 * label_count
        self._prefixes_from = self._rewards_from + (size + 1) * label_count * len(self._values)

    def _target(self, source: int, label: int, target: int) -> int:
        """The variable δ(p, l, q)."""
        return 1 + (source * self._labels + label) * (self._size + 1) + target

    def _reward(self, source: int, label: int, value: int) -> int:
        """The variable o(p, l, r)."""
        return self._rewards_from + (source * self._labels + label) * len(self._values) + self._values.index(value)

    def _reached(self, prefix: int, state: int) -> int:
        """The variable x(w, q)."""
        return self._prefixes_from + prefix * (self._size + 1) + state

    def clauses(self) -> Iterator[Clause]:
        """All clauses."""
        for source in self._states:
            for label in range(self._labels):
                yield from _exactly_one([self._target(source, label, target) for target in self._states])
                yield from _exactly_one([self._reward(source, label, value) for value in self._values])
        for label in range(self._labels):  # the terminal state is absorbing
            yield [self._target(self._size, label, self._size)]
            yield [self._reward(self._size, label, 0)]
        yield [self._reached(0, 0)]
        yield from ([-self._reached(0, state)] for state in self._states if state)
        yield from self._trace_clauses()

    def _trace_clauses(self) -> Iterator[Clause]:
        """The constraints of the traces. Traces that begin in the same way share the variables of their prefixes."""
        numbers: dict[tuple[int, int], int] = {}
        terminal = self._size
        for trace in self._traces:
            prefix = 0
            for label, reward in zip(trace.labels, trace.rewards, strict=True):
                yield [-self._reached(prefix, terminal)]  # the episode goes on
                longer = numbers.get((prefix, label))
                if longer is None:
                    longer = numbers[prefix, label] = len(numbers) + 1
                    yield from self._step_clauses(prefix, label, longer)
                for state in self._states:
                    yield [-self._reached(prefix, state), self._reward(state, label, reward)]
                prefix = longer
            # x may also hold of states that the prefix does not lead to. So x(w, n) alone would demand nothing: that
            # a trace ends in the terminal state is said by ruling out all others.
            others = range(terminal) if trace.is_finished else [terminal]
            yield from ([-self._reached(prefix, state)] for state in others)

    def _step_clauses(self, prefix: int, label: int, longer: int) -> Iterator[Clause]:
        for source in self._states:
            for target in self._states:
                yield [
                    -self._reached(prefix, source),
                    -self._target(source, label, target),
                    self._reached(longer, target),
                ]

    def machine(self, model: Sequence[int]) -> MealyMachine:
        """The machine of a solution, which lists the variables in their order, negative where they are false."""

        def is_true(variable: int) -> bool:
            return model[variable - 1] > 0

        inner, labels = range(self._size), range(self._labels)
        return MealyMachine(
            targets=tuple(
                tuple(next(q for q in self._states if is_true(self._target(p, label, q))) for label in labels)
                for p in inner
            ),
            rewards=tuple(
                tuple(next(r for r in self._values if is_true(self._reward(p, label, r))) for label in labels)
                for p in inner
            ),
        )


def _exactly_one(variables: Sequence[int]) -> Iterator[Clause]:
    yield list(variables)
    yield from ([-one, -other] for one, other in combinations(variables, 2))


def machine_of_size(size: int, label_count: int, traces: Sequence[RewardTrace], solver: str) -> MealyMachine | None:
    """A machine that explains traces.

    Args:
        size: The number of its states, without the terminal one.
        label_count: The number of labels.
        traces: The traces, whose labels are numbers below that.
        solver: The name of a solver of PySAT.

    Returns:
        The machine that the solver finds; None if there is none.
    """
    # Loaded here, because only the process that searches needs it.
    from pysat.solvers import Solver

    encoding = JirpEncoding(size, label_count, traces)
    with Solver(name=solver, bootstrap_with=encoding.clauses()) as sat:
        return encoding.machine(sat.get_model()) if sat.solve() else None


def search(problem: Plain) -> Plain:
    """The same as `machine_of_size`, with plain values for arguments and result."""
    traces = [RewardTrace(tuple(labels), tuple(rewards), ended) for labels, rewards, ended in problem["traces"]]
    machine = machine_of_size(problem["size"], problem["label_count"], traces, problem["solver"])
    return None if machine is None else [machine.targets, machine.rewards]


@dataclass(frozen=True)
class JirpConfig(FlatConfig):
    """The settings of JIRP, as published."""

    solver: str = SOLVER
    """The name of a solver of PySAT."""
    period: int = 20
    """A machine is learned in episodes whose number, counted from 0, is divisible by this."""


class JirpLearner:
    """Gathers episodes with other rewards than the machine gives, and asks for a larger machine when it must."""

    def __init__(self, task: FlatTask, config: JirpConfig, seed: int, ask: Ask) -> None:  # noqa: ARG002
        """Begins without a machine and without counterexamples. Nothing is random, so the seed is not used."""
        self._task, self._config, self._ask = task, config, ask
        self._labels: dict[Label, int] = {}
        self._counterexamples: dict[RewardTrace, None] = {}
        self._has_news = False
        self._size = 1
        self._machine: MealyMachine | None = None

    @property
    def size(self) -> Size | None:
        """The states with the terminal one, and the edges without those that lead back to their state."""
        if self._machine is None:
            return None
        edges = sum(target != p for p, row in enumerate(self._machine.targets) for target in row)
        return Size(self._machine.size + 1, edges)

    @property
    def machine(self) -> Hierarchy | None:
        """The machine, each of whose formulas names the whole label. Its terminal state is the accepting one."""
        if self._machine is None:
            return None
        names = (*(f"u{p}" for p in range(self._machine.size)), ACCEPTING)
        everything = frozenset(self._task.propositions)
        edges = tuple(
            Edge(names[p], names[row[number]], Formula(frozenset({Conjunction(label, everything - label)})))
            for p, row in enumerate(self._machine.targets)
            for label, number in self._labels.items()
            # Labels that were observed since the machine was found have no edges yet.
            if number < len(row) and row[number] != p
        )
        whole = RewardMachine(self._task.name, names, edges)
        return Hierarchy(self._task.name, (whole,), self._task.propositions)

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Keeps the episode if it is a counterexample; learns in every 20th episode, the first included, if it ends."""
        heard = episode.without_first_state()
        if self._is_counterexample(heard):
            numbers = tuple([self._labels.setdefault(label, len(self._labels)) for label in heard.labels])
            self._counterexamples[RewardTrace(numbers, heard.rewards, is_finished=True)] = None
            self._has_news = True
        is_due = (episode.number - 1) % self._config.period == 0 and episode.has_ended
        return self._learn() if is_due and self._has_news else None

    def _is_counterexample(self, episode: FlatEpisode) -> bool:
        """Whether an episode reached the goal with other rewards than the machine gives.

        Where the machine ends does not matter. Propositions that it has never seen are none for it; a label that is
        still unknown without them has no rewards.
        """
        if episode.outcome is not Outcome.GOAL or not episode.labels:
            return False
        if self._machine is None:
            return True
        known = dict(islice(self._labels.items(), len(self._machine.targets[0])))
        seen = frozenset[str]().union(*known)
        numbers = [known[label & seen] for label in episode.labels if label & seen in known]
        return len(numbers) < len(episode.labels) or self._machine.rewards_of(numbers) != episode.rewards

    def _learn(self) -> Attempt:
        """Looks for a machine of the size found last, and of larger ones up to that of the true flat machine."""
        for size in range(self._size, self._task.bound + 1):
            problem = {
                "size": size,
                "label_count": len(self._labels),
                "traces": [[trace.labels, trace.rewards, trace.is_finished] for trace in self._counterexamples],
                "solver": self._config.solver,
            }
            found = self._ask(search, problem)
            if found is not None:
                self._size, self._machine = size, _machine(found)
                self._has_news = False
                return Attempt.FOUND
        return Attempt.FAILED

    def snapshot(self) -> Mapping[str, Plain]:
        """See `FlatLearner`."""
        return {
            "labels": [sorted(label) for label in self._labels],
            "counterexamples": [[trace.labels, trace.rewards] for trace in self._counterexamples],
            "has_news": self._has_news,
            "size": self._size,
            "machine": None if self._machine is None else [self._machine.targets, self._machine.rewards],
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """See `FlatLearner`."""
        self._labels = {frozenset(label): number for number, label in enumerate(state["labels"])}
        traces = (RewardTrace(tuple(labels), tuple(rewards), True) for labels, rewards in state["counterexamples"])
        self._counterexamples = dict.fromkeys(traces)
        self._has_news, self._size = state["has_news"], state["size"]
        self._machine = None if state["machine"] is None else _machine(state["machine"])


def _machine(plain: Plain) -> MealyMachine:
    targets, rewards = plain
    return MealyMachine(tuple(map(tuple, targets)), tuple(map(tuple, rewards)))
