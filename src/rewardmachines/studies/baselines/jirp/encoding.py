"""The search for a machine of a given size that reproduces the rewards and ends of traces: a question as clauses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from rewardmachines.studies.baselines.protocol import Plain

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


class Encoding:
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

    encoding = Encoding(size, label_count, traces)
    with Solver(name=solver, bootstrap_with=encoding.clauses()) as sat:
        return encoding.machine(sat.get_model()) if sat.solve() else None


def search(problem: Plain) -> Plain:
    """The same as `machine_of_size`, with plain values for arguments and result."""
    traces = [RewardTrace(tuple(labels), tuple(rewards), ended) for labels, rewards, ended in problem["traces"]]
    machine = machine_of_size(problem["size"], problem["label_count"], traces, problem["solver"])
    return None if machine is None else [machine.targets, machine.rewards]
