"""Configurations as numbers: stacks of frames that share what they have in common.

Frames that behave alike are one frame here, and each stack is stored once, so that configurations that must behave
alike for their form alone are the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, NewType

from rewardmachines.core.errors import NondeterminismError, TooManyConfigurationsError
from rewardmachines.core.labelsets import EMPTY, LabelSet, LabelSets
from rewardmachines.core.moves import REJECTED, Frame, Frames, Moves
from rewardmachines.core.traversal import Verdict

MAX_STACKS: Final = 1_000_000

Configuration = NewType("Configuration", int)

ACCEPTED: Final = Configuration(0)
"""The empty stack: the root has returned."""


class JointMove(NamedTuple):
    """Labels, and where they lead from a pair of configurations."""

    labels: LabelSet
    a: Configuration
    b: Configuration


class Configurations:
    """The configurations met so far, and how pairs of them move.

    Args:
        moves: The transitions of frames.
        sets: The label sets of these moves.
        representatives: For a frame, the one that stands for all that behave like it; itself if it is not listed.
    """

    def __init__(self, moves: Moves, sets: LabelSets, representatives: dict[Frame, Frame] | None = None) -> None:
        self._moves = moves
        self._sets = sets
        self._representatives = representatives or {}
        self._cells: list[tuple[Frame, Configuration]] = [(REJECTED, ACCEPTED)]
        self._numbers: dict[tuple[Frame, Configuration], Configuration] = {}

    def of(self, frames: Frames, below: Configuration = ACCEPTED) -> Configuration:
        """The configuration with these frames on top of another; what lies below a frame that never returns is cut."""
        for each in reversed(frames):
            frame = self._representatives.get(each, each)
            below = self._push(frame, below if frame in self._moves.returns else ACCEPTED)
        return below

    def _push(self, frame: Frame, below: Configuration) -> Configuration:
        key = (frame, below)
        number = self._numbers.get(key)
        if number is None:
            if len(self._cells) >= MAX_STACKS:
                raise TooManyConfigurationsError(
                    f"no difference was found, but there are more than {MAX_STACKS:,} configurations to compare: "
                    "larger hierarchies that are built differently are not compared"
                )
            number = self._numbers[key] = Configuration(len(self._cells))
            self._cells.append(key)
        return number

    def verdict(self, at: Configuration) -> Verdict:
        """The verdict of the root in this configuration."""
        if at == ACCEPTED:
            return Verdict.ACCEPT
        return Verdict.REJECT if self._cells[at][0] == REJECTED else Verdict.NEITHER

    def stripped(self, a: Configuration, b: Configuration) -> tuple[Frames, Configuration, Configuration]:
        """The frames that both have on top, and the rest of both: until these have returned, nothing can differ."""
        common: list[Frame] = []
        while a != b and a != ACCEPTED and b != ACCEPTED and self._cells[a][0] == self._cells[b][0]:
            common.append(self._cells[a][0])
            a, b = self._cells[a][1], self._cells[b][1]
        return tuple(common), a, b

    def joint_moves(self, a: Configuration, b: Configuration, region: LabelSet) -> Iterable[JointMove]:
        """The joint transitions of a pair on the labels of the region, which are split between the results.

        Raises:
            NondeterminismError: If a label starts two calls.
        """
        for labels_a, next_a in self._moves_and_stay(a, region):
            for labels_b, next_b in self._moves_and_stay(b, labels_a):
                yield JointMove(labels_b, next_a, next_b)

    def _moves_and_stay(self, at: Configuration, region: LabelSet) -> Iterable[tuple[LabelSet, Configuration]]:
        frame, below = self._cells[at]
        if (clash := self._moves.clashes.get(frame)) is not None:
            raise NondeterminismError(clash)
        for move in self._moves.of(frame):
            common = self._sets.both(move.labels, region)
            if common != EMPTY:
                yield common, self.of(move.frames, below)
                region = self._sets.minus(region, common)
        if region != EMPTY:
            yield region, at


def representatives(moves: Moves, sets: LabelSets, is_shared: Callable[[Frame], bool]) -> dict[Frame, Frame]:
    """For each shared frame, the first that moves in the same way, as far as partition refinement finds out.

    Frames are kept in one class as long as they lead, on the same labels, to stacks of frames of the same classes. All
    frames of a class then behave alike: theirs is a bisimulation up to what is below. The converse does not hold.

    Args:
        moves: The transitions of frames.
        sets: The label sets of these moves.
        is_shared: The frames that are worth the effort: those of machines that are called.
    """
    alone = {REJECTED, *moves.clashes}
    frames = [frame for frame in moves.explored() if frame not in alone and is_shared(frame)]
    lengths = {frame: moves.returns[frame].length if frame in moves.returns else None for frame in frames}
    classes = _numbered(dict(lengths))
    for _ in range(_MAX_ROUNDS):
        refined = _numbered({f: (classes[f], _signature(f, moves, classes, sets)) for f in frames})
        if len(set(refined.values())) == len(set(classes.values())):
            first: dict[int, Frame] = {}
            return {frame: first.setdefault(classes[frame], frame) for frame in frames}
        classes = refined
    return {}


def _signature(
    frame: Frame, moves: Moves, classes: dict[Frame, int], sets: LabelSets
) -> frozenset[tuple[tuple[int, ...], LabelSet]]:
    """The labels that lead to each sequence of classes; moving within the class is as good as staying."""
    signature: dict[tuple[int, ...], LabelSet] = {}
    for move in moves.of(frame):
        key = _class_sequence(move.frames, moves, classes)
        if key != (classes[frame],):
            signature[key] = sets.either(signature.get(key, EMPTY), move.labels)
    return frozenset(signature.items())


def _class_sequence(frames: Frames, moves: Moves, classes: dict[Frame, int]) -> tuple[int, ...]:
    """The classes of the frames, down to the first that never returns; a frame that is not shared is its own class."""
    sequence = []
    for frame in frames:
        sequence.append(classes[frame] if frame in classes else -1 - frame)
        if frame not in moves.returns:
            break
    return tuple(sequence)


def _numbered(keys: dict[Frame, object]) -> dict[Frame, int]:
    numbers: dict[object, int] = {}
    return {frame: numbers.setdefault(key, len(numbers)) for frame, key in keys.items()}


_MAX_ROUNDS: Final = 64
"""Where refinement takes longer than this, frames are not shared, and configurations are compared one by one."""
