"""The machines that tabu search goes through: which transitions they may have, and how one is made at random."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from rewardmachines.experiments.baselines.lrm.cost import Traces, Transitions

Move = tuple[int, int, int]
"""A state, an observation, and the state that it leads to from now on; the same state to remove the transition."""


@dataclass(frozen=True)
class Rules:
    """What machines must obey.

    No observation both enters and leaves a state: observations do not repeat. No edge leaves the initial state on an
    observation that begins a trace.
    """

    state_count: int
    observation_count: int
    first: frozenset[int]
    """The observations that begin traces."""

    def allows(self, transitions: Transitions, move: Move) -> bool:
        """Whether a machine that obeys the rules still does when a transition is added or redirected."""
        source, observation, target = move
        if source == 0 and observation in self.first:
            return False
        if (target, observation) in transitions:
            return False
        return not any(o == observation and q == source for (_, o), q in transitions.items())

    def moves(self, transitions: Transitions) -> Iterator[Move]:
        """All moves, in a fixed order: transitions that may be added or redirected, and those that can be removed."""
        for source in range(self.state_count):
            for observation in range(self.observation_count):
                present = transitions.get((source, observation), source)
                for target in range(self.state_count):
                    move = source, observation, target
                    if target != present and (target == source or self.allows(transitions, move)):
                        yield move

    def random_machine(self, generator: np.random.Generator) -> dict[tuple[int, int], int]:
        """A random target for each state and observation, in random order, where the rules allow one."""
        transitions: dict[tuple[int, int], int] = {}
        for cell in generator.permutation(self.state_count * self.observation_count).tolist():
            source, observation = divmod(cell, self.observation_count)
            target = int(generator.integers(self.state_count))
            if target != source and self.allows(transitions, (source, observation, target)):
                transitions[source, observation] = target
        return transitions


def moved(transitions: Transitions, move: Move) -> dict[tuple[int, int], int]:
    """The machine after a move."""
    source, observation, target = move
    after = {**transitions, (source, observation): target}
    if source == target:
        del after[source, observation]
    return after


def without_unused(transitions: Transitions, used: Collection[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The machine without the edges that no trace uses."""
    return {edge: transitions[edge] for edge in sorted(transitions) if edge in used}


def rules_of(traces: Traces, state_count: int, observation_count: int) -> Rules:
    """The rules for machines that predict these traces."""
    return Rules(state_count, observation_count, frozenset(trace[0] for trace in traces))
