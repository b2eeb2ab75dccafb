"""What a trace that cannot be read asks of the automaton: windows of three symbols that it must be able to read."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rewardmachines.experiments.baselines.deepsynth.automaton import Automaton, Pair, Trace

WINDOW: Final = 3
"""The symbols of a window, and those before a failure that are read anew."""
SHORTEST_CUT: Final = 10
"""The least length of a prefix that is added beside a trace."""
MOST_CUTS: Final = 1000
"""The most prefixes that are added beside a trace."""


def prefixes(trace: Trace, random_numbers: random.Random) -> list[Trace]:
    """Prefixes of a trace, cut at distinct random points in its first three quarters.

    Args:
        trace: The trace.
        random_numbers: Where the points come from.

    Returns:
        As many prefixes as half of the trace has symbols, 1000 at most; none of a short trace.
    """
    points = range(SHORTEST_CUT, round(0.75 * len(trace)))
    count = min(len(trace) // 2, MOST_CUTS, len(points))
    return [trace[:point] for point in random_numbers.sample(points, count)]


def traces_to_add(automaton: Automaton, traces: Iterable[Trace], random_numbers: random.Random) -> list[Trace]:
    """The traces that the automaton cannot follow and prefixes of them, each once, the shortest first."""
    unread = sorted({trace for trace in traces if not automaton.follows(trace)})
    cut = (prefix for trace in unread for prefix in prefixes(trace, random_numbers))
    return sorted({*unread, *cut}, key=lambda trace: (len(trace), trace))


@dataclass(frozen=True)
class Part:
    """The end of a trace that the automaton must learn to read.

    The first window stands for the place where the part begins, and for no other one. All other windows are distinct:
    each stands for all places of the part where its symbols are.
    """

    beginnings: frozenset[int]
    """The states in which the automaton may be before the part, and which the first symbol may leave."""
    windows: tuple[Trace, ...]
    joints: frozenset[tuple[int, int]]
    """Pairs of windows, by number, of which the second begins one symbol after the first somewhere in the part."""
    last: int
    """The number of the window with which the part ends."""


def unread_part(automaton: Automaton, trace: Trace, observed: set[Pair]) -> Part | None:
    """The part of a trace that cannot be read, from three symbols before the failure.

    Where existing transitions forbid that the part's first symbol leaves any of the states in which the automaton may
    be, the part begins earlier; at the latest with the symbol `start`, which may always leave the initial state.

    Args:
        automaton: The present automaton.
        trace: The trace, which begins with `start`.
        observed: All pairs of symbols that were ever seen, those of the trace included.

    Returns:
        The part, or None if the automaton can read the whole trace.
    """
    reached = list(automaton.reached(trace))
    failure = len(reached) - 1
    if failure == len(trace):
        return None
    for first in range(max(0, failure - WINDOW), -1, -1):
        allowed = {state for state in reached[first] if _may_leave(automaton, state, trace[first], observed)}
        if allowed:
            return _part(frozenset(allowed), trace[first:])
    raise ValueError(f"the automaton cannot begin with {trace[0]}")


def _may_leave(automaton: Automaton, state: int, symbol: str, observed: set[Pair]) -> bool:
    return all((entering, symbol) in observed for entering in automaton.entering(state))


def _part(beginnings: frozenset[int], symbols: Trace) -> Part:
    places = [symbols[place : place + WINDOW] for place in range(max(1, len(symbols) - WINDOW + 1))]
    windows = [places[0], *sorted(set(places[1:]))]
    number = {window: index for index, window in enumerate(windows) if index}
    order = [0, *(number[window] for window in places[1:])]
    return Part(beginnings, tuple(windows), frozenset(pairwise(order)), order[-1])
