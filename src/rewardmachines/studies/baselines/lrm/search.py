"""Tabu search for a machine that predicts traces, which runs in a process of its own."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from rewardmachines.studies.baselines.lrm.cost import Traces, Transitions
from rewardmachines.studies.baselines.lrm.moves import Rules, moved, rules_of, without_unused
from rewardmachines.studies.baselines.lrm.neighbours import Each, Evaluation, TraceData, trace_data
from rewardmachines.studies.baselines.protocol import Plain

Machine = tuple[tuple[tuple[int, int], int], ...]
"""The transitions of a machine, in the order of states and observations."""


@dataclass(frozen=True)
class TabuSettings:
    """The parameters of tabu search."""

    state_count: int
    """The number of states of machines."""
    steps: int
    """The number of machines that it goes through."""
    tabu: int
    """The number of machines that it went through last, and does not return to."""


@dataclass(frozen=True)
class Found:
    """The best machine that a search has gone through."""

    transitions: Transitions
    cost: float


class TabuSearch:
    """Goes from machine to machine, always to the best neighbour that is not tabu."""

    def __init__(self, traces: Traces, observation_count: int, settings: TabuSettings, seed: Sequence[int]) -> None:
        """Prepares the traces.

        Args:
            traces: The traces that machines shall predict.
            observation_count: The number of observations, which are numbers below it.
            settings: The settings of the search.
            seed: The numbers of which random machines are made.
        """
        self._settings = settings
        self._data: TraceData = trace_data(traces, observation_count)
        self._rules: Rules = rules_of(traces, settings.state_count, observation_count)
        self._generator = np.random.default_rng(list(seed))
        self._tabu: deque[Machine] = deque(maxlen=settings.tabu)

    def run(self, each: Each = map) -> Found:
        """The best machine of the search.

        Args:
            each: Evaluates blocks of neighbours, one after the other or at the same time: see `Evaluation`.
        """
        transitions, evaluation = self._at_random()
        best = Found(transitions, evaluation.cost)
        for _ in range(self._settings.steps):
            self._tabu.append(tuple(transitions.items()))
            transitions, evaluation = self._next(transitions, evaluation, each) or self._at_random()
            if evaluation.cost < best.cost:
                best = Found(transitions, evaluation.cost)
        return best

    def cost(self, transitions: Transitions) -> float:
        """The cost of a machine."""
        return self._evaluated(transitions).cost

    def _at_random(self) -> tuple[dict[tuple[int, int], int], Evaluation]:
        transitions = self._cleaned(self._rules.random_machine(self._generator))
        return transitions, self._evaluated(transitions)

    def _cleaned(self, transitions: Transitions) -> dict[tuple[int, int], int]:
        return without_unused(transitions, self._evaluated(transitions).used)

    def _evaluated(self, transitions: Transitions) -> Evaluation:
        return Evaluation(self._data, transitions, self._settings.state_count)

    def _next(
        self, transitions: Transitions, evaluation: Evaluation, each: Each
    ) -> tuple[dict[tuple[int, int], int], Evaluation] | None:
        """The best neighbour that is not tabu, the first one of several; None if there is none."""
        moves = list(self._rules.moves(transitions))
        costs = evaluation.costs_after(moves, each)
        tabu = set(self._tabu)
        for k in np.argsort(costs, kind="stable").tolist():
            if np.isinf(costs[k]):
                break  # moves that no trace would notice lead to the same machine, which is tabu
            neighbour = self._cleaned(moved(transitions, moves[k]))
            if tuple(neighbour.items()) not in tabu:
                # Neighbours are evaluated from what is left: an edge that is deleted may not come back with a move.
                return neighbour, self._evaluated(neighbour)
        return None


def search(problem: Plain) -> Plain:
    """Searches, with plain values for arguments and result: the transitions of the best machine, if it is better.

    The machine is compared with the one that there is already, and must cost strictly less.
    """
    settings = TabuSettings(problem["state_count"], problem["steps"], problem["tabu"])
    tabu_search = TabuSearch(problem["traces"], problem["observation_count"], settings, problem["seed"])
    with ThreadPoolExecutor(problem["workers"] or os.cpu_count() or 1) as pool:
        found = tabu_search.run(pool.map)
    if problem["present"] is not None:
        present = {(source, observation): target for source, observation, target in problem["present"]}
        if found.cost >= tabu_search.cost(present):
            return None
    return [[*edge, target] for edge, target in found.transitions.items()]
