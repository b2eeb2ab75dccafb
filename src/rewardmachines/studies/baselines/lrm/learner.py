"""LRM as a learner of flat machines: a first set of traces, and those that the machine does not predict.

Changed transitions change nothing before a trace first comes to one of them. Only the rest of the trace is followed
anew, for all changes and all traces side by side; what the rest had contributed to the counts before is subtracted.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.lrm.cost import (
    Cell,
    Move,
    Predictions,
    Rules,
    Traces,
    Transitions,
    changes,
    moved,
    predictions,
    rules_of,
    steps,
    without_unused,
)
from rewardmachines.studies.baselines.protocol import Ask, Attempt, FlatConfig, FlatEpisode, FlatTask, Plain

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

Each: TypeAlias = Callable[[Callable[[list[int]], Floats], list[list[int]]], Iterable[Floats]]
"""Applies a function to several blocks, in this order or at the same time, and returns the results in this order."""

PARTS: Final = 16
"""The least number of blocks that the moves of a machine are divided into, so that several threads have work."""
BLOCK: Final = 1 << 21
"""The number of codes that are gathered before they are counted, and of the counts that are made at a time."""


@dataclass(frozen=True)
class TraceData:
    """Traces as arrays, one after the other, with S observations in all."""

    observations: Ints
    """[S] All observations."""
    pairs: Ints
    """[S] The number of the pair of an observation and the next one; P, the number of all pairs, if it is the last."""
    begins: Ints
    """[N] The position at which each trace begins."""
    ends: Ints
    """[N] The position after its last observation."""
    ambiguous: Floats
    """[P + 1, O] The observation with which a pair begins, if that has several successors: 1 there and 0 otherwise."""

    @property
    def codes(self) -> int:
        """P + 1, the number of different values of `pairs`."""
        return len(self.ambiguous)

    @property
    def observation_count(self) -> int:
        """O, the number of observations."""
        return int(self.ambiguous.shape[1])


def trace_data(traces: Traces, observation_count: int) -> TraceData:
    """Traces as arrays."""
    lengths = np.array([len(trace) for trace in traces])
    observations = np.concatenate([np.asarray(trace, np.int64) for trace in traces])
    ends = np.cumsum(lengths)
    codes = observations * observation_count
    codes[:-1] += observations[1:]
    is_last = np.zeros(len(observations), bool)
    is_last[ends - 1] = True
    kinds, numbers = np.unique(codes[~is_last], return_inverse=True)
    pairs = np.full(len(observations), len(kinds))
    pairs[~is_last] = numbers
    firsts = kinds // observation_count
    successors = np.bincount(firsts, minlength=observation_count)
    ambiguous = np.zeros((len(kinds) + 1, observation_count))
    ambiguous[np.arange(len(kinds)), firsts] = successors[firsts] > 1
    return TraceData(observations, pairs, ends - lengths, ends, ambiguous)


class _Rest(NamedTuple):
    """The part of the traces that a move changes: the rest of each from its first changed transition on."""

    begins: Ints
    """[A] Where the rest of each of A traces begins."""
    ends: Ints
    """[A] The end of these traces."""
    states: Ints
    """[A] The state before the rest."""
    counts: Ints
    """[U * (P + 1)] What everything but the rests contributes to the counts of pairs."""


class Evaluation:
    """A machine with the states that traces go through, from which the costs of its neighbours are computed."""

    def __init__(self, data: TraceData, transitions: Transitions, state_count: int) -> None:
        """Follows all traces.

        Args:
            data: The traces.
            transitions: The machine.
            state_count: The number of its states.
        """
        self._data, self._states, self._transitions = data, state_count, transitions
        self._table = np.repeat(np.arange(state_count)[:, None], data.observation_count, axis=1)
        for (source, observation), target in transitions.items():
            self._table[source, observation] = target
        self._after = np.zeros(len(data.observations), np.int64)
        for positions, states in _walk(data, self._table, np.zeros_like(data.begins), data.begins, data.ends):
            self._after[positions] = states
        before = np.zeros_like(self._after)
        before[1:] = self._after[:-1]
        before[data.begins] = 0
        self._cells = before * data.observation_count + data.observations
        self._cells[data.ends - 1] = self._cell_count  # as published: nothing follows the last observation
        self._counts = np.bincount(self._after * data.codes + data.pairs, minlength=state_count * data.codes)
        self.cost = float(self._costs(self._counts)[0])
        """The cost of the machine itself."""

    @property
    def used(self) -> set[Cell]:
        """The pairs of a state and an observation that occur in traces, where another observation follows."""
        cells = np.unique(self._cells).tolist()
        return {divmod(cell, self._data.observation_count) for cell in cells if cell < self._cell_count}

    @property
    def _cell_count(self) -> int:
        """The number of pairs of a state and an observation; also the cell that is none."""
        return self._states * self._data.observation_count

    def costs_after(self, moves: Sequence[Move], each: Each = map) -> Floats:
        """[K] The costs of the machines after each of the moves; infinite for those that no trace would notice.

        Args:
            moves: The moves.
            each: Applies a function to several blocks of moves, like `map`. What it does at the same time has no
                influence on the result.
        """
        changed = [changes(self._transitions, move) for move in moves]
        touched = [frozenset(each) for each in changed]
        rests = {cells: self._rest(cells) for cells in set(touched)}
        noticed = [k for k, cells in enumerate(touched) if len(rests[cells].begins)]
        size = self._block_size(len(moves), rests.values())
        blocks = [noticed[k : k + size] for k in range(0, len(noticed), size)]

        def evaluate(block: list[int]) -> Floats:
            return self._costs_of_block([changed[k] for k in block], [rests[touched[k]] for k in block])

        costs = np.full(len(moves), np.inf)
        for block, values in zip(blocks, each(evaluate, blocks), strict=True):
            costs[block] = values
        return costs

    def _block_size(self, moves: int, rests: Iterable[_Rest]) -> int:
        """The number of moves whose costs are computed at a time, so that arrays are neither small nor huge."""
        most = max((len(rest.begins) for rest in rests), default=0)
        return max(1, min(BLOCK // (self._states * self._data.codes + most), -(-moves // PARTS)))

    def _rest(self, cells: Iterable[Cell]) -> _Rest:
        data = self._data
        is_touched = np.zeros(self._cell_count + 1, bool)
        is_touched[[source * data.observation_count + observation for source, observation in cells]] = True
        uses = np.flatnonzero(is_touched[self._cells])
        following = np.append(uses, len(self._cells))[np.searchsorted(uses, data.begins)]
        is_affected = following < data.ends
        begins, ends = following[is_affected], data.ends[is_affected]
        inside = np.zeros(len(self._cells) + 1, np.int64)
        inside[begins] += 1
        inside[ends] -= 1  # a trace may begin where the one before ends
        rest = np.flatnonzero(np.cumsum(inside[:-1]))
        gone = np.bincount(self._after[rest] * data.codes + data.pairs[rest], minlength=len(self._counts))
        return _Rest(begins, ends, self._cells[begins] // data.observation_count, self._counts - gone)

    def _costs_of_block(self, changed: Sequence[Mapping[Cell, int]], rests: Sequence[_Rest]) -> Floats:
        """[K] The costs after changes. State u of the k-th machine has the number k * U + u."""
        data, states = self._data, self._states
        tables = self._table[None] + (np.arange(len(changed)) * states)[:, None, None]
        for k, cells in enumerate(changed):
            for (source, observation), target in cells.items():
                tables[k, source, observation] = k * states + target
        starts = np.concatenate([rest.states + k * states for k, rest in enumerate(rests)])
        begins = np.concatenate([rest.begins for rest in rests])
        ends = np.concatenate([rest.ends for rest in rests])
        walk = _walk(data, tables, starts, begins, ends)
        codes = (reached * data.codes + data.pairs[positions] for positions, reached in walk)
        return self._costs(
            np.concatenate([rest.counts for rest in rests]) + _count(codes, len(changed) * len(self._counts))
        )

    def _costs(self, counts: Ints) -> Floats:
        """[K] The costs of K machines, given how often [K * U * (P + 1)] each pair of observations began in a state."""
        by_pair = counts.reshape(-1, self._data.codes)
        # Products of whole numbers as floats: exact, and fast.
        total = by_pair.astype(np.float64) @ self._data.ambiguous
        kinds = (by_pair > 0).astype(np.float64) @ self._data.ambiguous
        parts = total * np.log(np.maximum(kinds, 1))
        costs: Floats = parts.reshape(len(parts) // self._states, -1).sum(axis=1)
        return costs


def _walk(data: TraceData, tables: Ints, states: Ints, begins: Ints, ends: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Follows pieces of traces side by side: at each step, the positions of those not at their end, and their states.

    Args:
        data: The traces.
        tables: The next state by state and observation; states of several machines have numbers of their own.
        states: The state of each piece before its first observation.
        begins: The position of its first observation.
        ends: The position after its last observation.
    """
    lengths = ends - begins
    order = np.argsort(-lengths, kind="stable")  # so that pieces that are not at their end are always the first ones
    states, positions = states[order], begins[order]
    going = np.searchsorted(-lengths[order], -np.arange(lengths.max(initial=0)))
    flat, width = tables.reshape(-1), data.observation_count
    for count in going.tolist():
        positions, states = positions[:count], states[:count]
        states = flat[states * width + data.observations[positions]]
        yield positions, states
        positions = positions + 1


def _count(codes: Iterable[Ints], size: int) -> Ints:
    """The number of occurrences of each code below a size."""
    counts = np.zeros(size, np.int64)
    waiting: list[Ints] = []
    for part in codes:
        waiting.append(part)
        if sum(map(len, waiting)) > BLOCK:
            counts += np.bincount(np.concatenate(waiting), minlength=size)
            waiting = []
    if waiting:
        counts += np.bincount(np.concatenate(waiting), minlength=size)
    return counts


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


@dataclass(frozen=True)
class LrmConfig(FlatConfig):
    """The settings of LRM, as published except for the number of workers."""

    first_episodes: int = 1_000
    """The number of episodes after which the first machine is learned."""
    steps: int = 100
    """The number of machines that a search goes through."""
    tabu: int = 10_000
    """The number of machines that a search does not return to."""
    workers: int | None = None
    """The number of threads that evaluate machines; None for one on each core. It does not change the result. The
    published code uses 16 processes."""


class LrmLearner:
    """Keeps the first episodes, and all later ones in which something was observed that the machine did not predict."""

    def __init__(self, task: FlatTask, config: LrmConfig, seed: int, ask: Ask) -> None:
        """Begins without a machine and without traces."""
        self._task, self._config, self._seed, self._ask = task, config, seed, ask
        self._labels: dict[Label, int] = {}
        self._traces: list[tuple[int, ...]] = []
        self._searches = 0
        self._machine: dict[tuple[int, int], int] | None = None
        self._predictions: Predictions = set()

    @property
    def size(self) -> Size | None:
        """The states that the machine can be in, and its transitions."""
        if self._machine is None:
            return None
        states = {0}.union(source for source, _ in self._machine).union(self._machine.values())
        return Size(len(states), len(self._machine))

    @property
    def machine(self) -> Hierarchy | None:
        """Nothing: the machine predicts observations, and neither accepts nor rejects."""
        return None

    def take(self, episode: FlatEpisode) -> Attempt | None:
        """Keeps the episode if it is one of the first or was not predicted, and then learns unless more must come."""
        trace = tuple([self._labels.setdefault(label, len(self._labels)) for label in episode.labels])
        if episode.number <= self._config.first_episodes:
            self._traces.append(trace)
            return self._learn() if episode.number == self._config.first_episodes else None
        if self._predictions.issuperset(steps(self._machine or {}, trace)):
            return None
        self._traces.append(trace)
        return self._learn()

    def _learn(self) -> Attempt:
        """Looks for a machine that predicts all traces better than the present one."""
        machine = self._machine
        problem = {
            "traces": self._traces,
            "observation_count": len(self._labels),
            "state_count": self._task.bound,
            "steps": self._config.steps,
            "tabu": self._config.tabu,
            "seed": [self._seed, self._searches],
            "workers": self._config.workers,
            "present": None if machine is None else [[*edge, target] for edge, target in machine.items()],
        }
        found = self._ask(search, problem)
        self._searches += 1
        if found is not None:
            self._machine = _machine(found)
        self._predictions = self._expected()
        return Attempt.KEPT if found is None else Attempt.FOUND

    def _expected(self) -> Predictions:
        return predictions(self._machine or {}, self._traces, self._task.bound)

    def snapshot(self) -> Mapping[str, Plain]:
        """See `FlatLearner`."""
        machine = self._machine
        return {
            "labels": [sorted(label) for label in self._labels],
            "traces": list(self._traces),
            "searches": self._searches,
            "machine": None if machine is None else [[*edge, target] for edge, target in machine.items()],
        }

    def restore(self, state: Mapping[str, Plain]) -> None:
        """See `FlatLearner`."""
        self._labels = {frozenset(label): number for number, label in enumerate(state["labels"])}
        self._traces = [tuple(trace) for trace in state["traces"]]
        self._searches = state["searches"]
        self._machine = None if state["machine"] is None else _machine(state["machine"])
        self._predictions = set() if self._machine is None else self._expected()


def _machine(plain: Plain) -> dict[tuple[int, int], int]:
    return {(source, observation): target for source, observation, target in plain}
