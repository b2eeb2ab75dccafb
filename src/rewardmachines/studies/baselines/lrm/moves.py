"""The machines that tabu search goes through: which transitions they may have, and how one is made at random."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rewardmachines.studies.baselines.lrm.cost import Traces, Transitions

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
