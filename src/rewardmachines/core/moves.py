"""Transitions on sets of labels: the transition function δ without contexts and formulas.

A configuration is a stack of frames. A frame is a machine and one of its states, either the one where the hierarchy is
or one where a caller goes on when its callee returns. One label replaces the innermost frame by a sequence of frames:
none if the machine returns, several if the label starts calls. What lies below plays no part in it, so machines that
are called from many places are looked at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, NewType, TypeAlias

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.labelsets import EMPTY, EVERY, LabelSet, LabelSets
from rewardmachines.core.machine import Edge, RewardMachine
from rewardmachines.core.traversal import show_label

MAX_MOVES: Final = 1_000_000

Frame = NewType("Frame", int)
Frames: TypeAlias = tuple[Frame, ...]
"""The innermost frame comes first."""

REJECTED: Final = Frame(0)
"""Every rejecting state of every machine: nothing moves any more."""


class Move(NamedTuple):
    """The labels on which a frame is replaced, and what takes its place."""

    labels: LabelSet
    frames: Frames


class Return(NamedTuple):
    """A shortest way from a frame to its return: how many labels it takes, and the first move."""

    length: int
    move: Move


class _Edge(NamedTuple):
    edge: Edge
    callee: int


class _Machine(NamedTuple):
    machine: RewardMachine
    outgoing: Mapping[str, tuple[_Edge, ...]]
    starts: LabelSet


class Moves:
    """The frames of some machines and how each of them moves on the allowed labels.

    Machines of the same content, whatever their names, are the same machine here.

    Args:
        sets: The label sets that the answers are given in.
        allowed: The labels that can occur.
    """

    def __init__(self, sets: LabelSets, allowed: LabelSet) -> None:
        self._sets = sets
        self._allowed = allowed
        self._machines: list[_Machine] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._frames: list[tuple[int, str]] = [(-1, "")]
        self._frame_numbers: dict[tuple[int, str], Frame] = {}
        self._moves: dict[Frame, list[Move]] = {REJECTED: []}
        self._count = 0
        self.returns: dict[Frame, Return] = {}
        """For each explored frame that can return, a shortest way to do so."""
        self.clashes: dict[Frame, str] = {}
        """For each explored frame where a label starts two calls, what to say about it."""

    # -- machines

    def add(self, machine: RewardMachine, callees: Mapping[str, int]) -> int:
        """Adds a machine whose callees have been added, and explores it.

        Returns:
            The number of the machine, an old one if a machine of the same content was there before.
        """
        edges = tuple((e.source, e.target, e.formula, -1 if e.calls_leaf else callees[e.callee]) for e in machine.edges)
        content = (edges, machine.initial, machine.accepting, machine.rejecting)
        number = self._numbers.get(content)
        if number is None:
            outgoing = {
                state: tuple(_Edge(e, -1 if e.calls_leaf else callees[e.callee]) for e in machine.outgoing(state))
                for state in machine.states
            }
            number = self._numbers[content] = len(self._machines)
            self._machines.append(_Machine(machine, outgoing, self._union_of_starts(outgoing[machine.initial])))
        return number

    def starts(self, number: int) -> LabelSet:
        """The allowed labels on which a call of the machine starts."""
        return self._sets.both(self._allowed, self._machines[number].starts)

    def _union_of_starts(self, edges: Iterable[_Edge]) -> LabelSet:
        starts = EMPTY
        for edge in edges:
            starts = self._sets.either(starts, self._starts(edge))
        return starts

    def _starts(self, edge: _Edge) -> LabelSet:
        callee = EVERY if edge.callee < 0 else self._machines[edge.callee].starts
        return self._sets.both(self._sets.of(edge.edge.formula), callee)

    # -- frames

    def initial(self, number: int) -> Frames:
        """The initial configuration of a machine that is the root; it is explored from there."""
        return self.at(number, self._machines[number].machine.initial)

    def at(self, number: int, state: str) -> Frames:
        """The configuration of a root machine in a state, empty if it has accepted; it is explored from there."""
        frames = self._onto(number, state, ())
        for frame in frames:
            self._explore(frame)
        return frames

    def is_of(self, frame: Frame, number: int) -> bool:
        """Whether this is a frame of the machine."""
        return self._frames[frame][0] == number

    def explored(self) -> Iterator[Frame]:
        """All frames that were met so far."""
        return iter(self._moves)

    def of(self, frame: Frame) -> list[Move]:
        """Disjoint sets of labels and what they put in place of the frame; on all others nothing moves."""
        return self._moves[frame]

    def _onto(self, number: int, state: str, below: Frames) -> Frames:
        """The stack when the machine has come to the state: a return uncovers what is below."""
        machine = self._machines[number].machine
        if state in machine.accepting:
            return below
        if state in machine.rejecting:
            return (REJECTED,)
        key = (number, state)
        frame = self._frame_numbers.get(key)
        if frame is None:
            frame = self._frame_numbers[key] = Frame(len(self._frames))
            self._frames.append(key)
        return (frame, *below)

    def _explore(self, start: Frame) -> None:
        new: list[Frame] = []
        waiting = [start]
        while waiting:
            frame = waiting.pop()
            if frame not in self._moves:
                self._moves[frame] = moves = self._moves_from(frame)
                new.append(frame)
                waiting.extend(following for move in moves for following in move.frames)
        self._measure(new)

    def _moves_from(self, frame: Frame) -> list[Move]:
        merged: dict[Frames, LabelSet] = {}
        number, state = self._frames[frame]
        waiting: list[tuple[int, str, Frames, LabelSet]] = [(number, state, (), self._allowed)]
        while waiting:
            number, state, below, region = waiting.pop()
            for edge, labels in self._starting(frame, number, state, region):
                self._check_count()
                frames = self._onto(number, edge.edge.target, below)
                if edge.callee < 0:
                    merged[frames] = self._sets.either(merged.get(frames, EMPTY), labels)
                else:
                    waiting.append((edge.callee, self._machines[edge.callee].machine.initial, frames, labels))
        return [Move(labels, frames) for frames, labels in merged.items()]

    def _check_count(self) -> None:
        self._count += 1
        if self._count > MAX_MOVES:
            raise TooLargeError(
                f"labels start calls within calls in more than {MAX_MOVES:,} ways: more are not compared; split the "
                "conditions of the first steps over more states"
            )

    def _starting(self, frame: Frame, number: int, state: str, region: LabelSet) -> Iterator[tuple[_Edge, LabelSet]]:
        """The edges that start on some labels of the region, without the labels that start two of them."""
        sets = self._sets
        starting = [(edge, sets.both(region, self._starts(edge))) for edge in self._machines[number].outgoing[state]]
        starting = [(edge, labels) for edge, labels in starting if labels != EMPTY]
        taken = clashing = EMPTY
        for i, (edge, labels) in enumerate(starting):
            if (common := sets.both(taken, labels)) != EMPTY:
                clashing = sets.either(clashing, common)
                other = next(e.edge for e, earlier in starting[:i] if sets.both(earlier, common) != EMPTY)
                self._note_clash(frame, number, state, (other, edge.edge), common)
            taken = sets.either(taken, labels)
        for edge, labels in starting:
            if (clear := sets.minus(labels, clashing)) != EMPTY:
                yield edge, clear

    def _note_clash(self, frame: Frame, number: int, state: str, edges: tuple[Edge, Edge], common: LabelSet) -> None:
        name = self._machines[number].machine.name
        label = show_label(self._sets.smallest(common))
        message = f"machine '{name}', state '{state}': the label {label} starts both {edges[0]} and {edges[1]}"
        self.clashes.setdefault(frame, message)

    # -- returning

    def _measure(self, new: list[Frame]) -> None:
        """Finds a shortest way to return for each of the new frames: Knuth's generalization of Dijkstra's algorithm."""
        unknown = set(new)
        ways: list[_Way] = []
        waiting: dict[Frame, list[_Way]] = {}
        ready: list[tuple[int, int, _Way]] = []
        for frame in new:
            for move in self._moves[frame]:
                missing = {f for f in move.frames if f in unknown}
                way = _Way(frame, move, len(missing), len(ways))
                ways.append(way)
                for needed in missing:
                    waiting.setdefault(needed, []).append(way)
                if not missing:
                    self._offer(ready, way)
        while ready:
            length, _, way = heapq.heappop(ready)
            if way.frame in self.returns:
                continue
            self.returns[way.frame] = Return(length, way.move)
            for other in waiting.get(way.frame, ()):
                other.missing -= 1
                if not other.missing:
                    self._offer(ready, other)

    def _offer(self, ready: list[tuple[int, int, _Way]], way: _Way) -> None:
        if all(frame in self.returns for frame in way.move.frames):
            length = 1 + sum(self.returns[frame].length for frame in way.move.frames)
            heapq.heappush(ready, (length, way.order, way))


class _Way:
    """A move of a frame, how many of the frames that it leads to have not been measured, and its place in line."""

    __slots__ = ("frame", "missing", "move", "order")

    def __init__(self, frame: Frame, move: Move, missing: int, order: int) -> None:
        self.frame = frame
        self.move = move
        self.missing = missing
        self.order = order
