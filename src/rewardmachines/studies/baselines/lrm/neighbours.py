"""The costs of many machines that differ from one in a few transitions, all at once.

Changed transitions change nothing before a trace first comes to one of them. Only the rest of the trace is followed
anew, for all changes and all traces side by side; what the rest had contributed to the counts before is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from rewardmachines.studies.baselines.lrm.cost import Traces, Transitions
from rewardmachines.studies.baselines.lrm.moves import Cell, Move, changes

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
