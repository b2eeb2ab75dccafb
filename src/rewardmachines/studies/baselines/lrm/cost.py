"""The prediction cost of a machine: the definition, which the search computes faster (`learner.py`).

Observations and states are numbers. A machine is a mapping of a state and an observation to the next state; where it
says nothing, the state stays. State 0 is the initial one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log
from typing import TypeAlias

import numpy as np

Transitions: TypeAlias = Mapping[tuple[int, int], int]
"""The next state, by state and observation."""
Traces: TypeAlias = Sequence[Sequence[int]]
"""The observations of each episode, no two neighbours equal."""
Predictions: TypeAlias = set[tuple[int, int, int]]
"""The observations that are expected right after another in a state: state, observation, next observation."""


def steps(transitions: Transitions, trace: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """The state after each observation of a trace but the last, that observation, and the one after it."""
    state = 0
    for observation, following in pairwise(trace):
        state = transitions.get((state, observation), state)
        yield state, observation, following


def predictions(transitions: Transitions, traces: Traces, state_count: int) -> Predictions:
    """The predictions of a machine after an observation in a state.

    It predicts N, what was seen then, and the observation itself. Where an observation has only one successor in the
    data, that is predicted in all states.

    Args:
        transitions: The machine.
        traces: The observed traces.
        state_count: The number of the machine's states.
    """
    seen = {step for trace in traces for step in steps(transitions, trace)}
    single = {observation: after for observation, after in successors(traces).items() if len(after) == 1}
    return {
        *seen,
        *((state, observation, observation) for state, observation, _ in seen),
        *((state, o, following) for o, after in single.items() for following in after for state in range(state_count)),
    }


def successors(traces: Traces) -> dict[int, set[int]]:
    """The observations that were seen right after each one, in whatever state."""
    found: dict[int, set[int]] = {}
    for trace in traces:
        for observation, following in pairwise(trace):
            found.setdefault(observation, set()).add(following)
    return found


def cost(transitions: Transitions, traces: Traces) -> float:
    """The sum of log |N(u, o)| over all steps in which an observation o is followed by another one.

    Steps whose observation has only one successor in the data, whatever the state, do not count: no machine could
    predict worse there.
    """
    counts = Counter(step for trace in traces for step in steps(transitions, trace))
    after = successors(traces)
    numbers = Counter((state, observation) for state, observation, _ in counts)
    return sum(
        count * log(numbers[state, observation])
        for (state, observation, _), count in counts.items()
        if len(after[observation]) > 1
    )


Move = tuple[int, int, int]
"""A state, an observation, and the state that it leads to from now on; the same state to remove the transition."""
Cell = tuple[int, int]
"""A state and an observation."""


@dataclass(frozen=True)
class Rules:
    """The constraints on machines.

    No observation both enters and leaves a state: observations do not repeat. No edge leaves the initial state on an
    observation that begins a trace.
    """

    state_count: int
    observation_count: int
    first: frozenset[int]
    """The observations that begin traces."""

    def moves(self, transitions: Transitions) -> Iterator[Move]:
        """All moves, in a fixed order: transitions that may be added or redirected, and those that can be removed."""
        for source in range(self.state_count):
            for observation in range(self.observation_count):
                if source == 0 and observation in self.first:
                    continue
                present = transitions.get((source, observation), source)
                yield from ((source, observation, target) for target in range(self.state_count) if target != present)

    def random_machine(self, generator: np.random.Generator) -> dict[Cell, int]:
        """A machine that only goes forward: a random observation leads from each state to each later one.

        Observations that would break a rule, or that lead from the state to another one already, are not drawn; where
        none is left, there is no edge.
        """
        transitions: dict[Cell, int] = {}
        for source, target in combinations(range(self.state_count), 2):
            entering = {observation for (_, observation), state in transitions.items() if state == source}
            taken = entering | (self.first if source == 0 else frozenset())
            free = [o for o in range(self.observation_count) if o not in taken and (source, o) not in transitions]
            if free:
                transitions[source, int(generator.choice(free))] = target
        return transitions


def changes(transitions: Transitions, move: Move) -> dict[Cell, int]:
    """The next states that a move changes, by state and observation; an edge that is removed leads back to its state.

    A transition that is added or redirected would break the first rule if its observation entered its state, or left
    its target: such edges are removed with it.
    """
    source, observation, target = move
    changed = {(source, observation): target}
    if source != target:
        broken = [cell for cell, state in transitions.items() if cell[1] == observation and state == source]
        if (target, observation) in transitions:
            broken.append((target, observation))
        changed |= {cell: cell[0] for cell in broken if cell != (source, observation)}
    return changed


def moved(transitions: Transitions, move: Move) -> dict[Cell, int]:
    """The machine after a move."""
    after = {**transitions, **changes(transitions, move)}
    return {cell: state for cell, state in after.items() if cell[0] != state}


def without_unused(transitions: Transitions, used: Collection[Cell]) -> dict[Cell, int]:
    """The machine without the edges that no trace uses."""
    return {edge: transitions[edge] for edge in sorted(transitions) if edge in used}


def rules_of(traces: Traces, state_count: int, observation_count: int) -> Rules:
    """The rules for machines that predict these traces."""
    return Rules(state_count, observation_count, frozenset(trace[0] for trace in traces))
