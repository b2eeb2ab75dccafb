"""The chains of calls out of a state: ξ, the exit condition, spelled out way by way.

A *chain* is a way out of a state down to the leaf: one disjunct of an edge, one of an edge out of its callee's initial
state, and so on. Mirrors `exit_condition` of `core/traversal.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import Conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, Edge, RewardMachine

MAX_CHAINS: Final = 8_192
"""A state with more is refused. Their number grows exponentially with the height, and every step looks at all."""


class Chain(NamedTuple):
    """The conjunction of all conditions on the way, and the edges taken, the leaf's last."""

    condition: Conjunction
    edges: tuple[Edge, ...]


class Chains:
    """The chains out of the states of some machines, each list of them made once.

    Made from the leaf upwards, so that a callee with too many is met before they are multiplied any further.
    """

    def __init__(self, pool: Hierarchy) -> None:
        self._pool = pool
        self._of: dict[tuple[str, str], tuple[Chain, ...]] = {}
        for machine in sorted(pool.machines, key=lambda m: pool.heights[m.name]):
            for state in machine.states:
                self._of[machine.name, state] = self._made(machine, state)

    @property
    def most(self) -> int:
        """The largest number of chains out of one state."""
        return max(map(len, self._of.values()))

    def of(self, machine: RewardMachine, state: str) -> tuple[Chain, ...]:
        """The chains out of a state, in the order of its edges and their disjuncts."""
        return self._of[machine.name, state]

    def _made(self, machine: RewardMachine, state: str) -> tuple[Chain, ...]:
        chains: list[Chain] = []
        number = 0
        for chain in self._ways(machine, state):
            number += 1
            if number <= MAX_CHAINS:  # beyond, they are only counted, for the message
                chains.append(chain)
        if number > MAX_CHAINS:
            raise TooLargeError(
                f"machine '{machine.name}', state '{state}': {number:,} chains of calls lead down to the leaf, and at "
                f"most {MAX_CHAINS:,} are lowered: write fewer disjuncts, or make fewer calls in initial states"
            )
        return tuple(chains)

    def _ways(self, machine: RewardMachine, state: str) -> Iterator[Chain]:
        """The chains out of a state; those that contradict themselves are none."""
        for edge in machine.outgoing(state):
            deeper = self._from_initial(edge.callee)
            for disjunct in edge.formula.ordered():
                for chain in deeper:
                    if not disjunct.contradicts(chain.condition):
                        required = disjunct.required | chain.condition.required
                        forbidden = disjunct.forbidden | chain.condition.forbidden
                        yield Chain(Conjunction(required, forbidden), (edge, *chain.edges))

    def _from_initial(self, callee: str) -> tuple[Chain, ...]:
        if callee == LEAF:
            return (Chain(Conjunction(), ()),)
        return self.of(self._pool[callee], self._pool[callee].initial)
