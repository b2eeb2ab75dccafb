"""What a trace that cannot be read asks of the automaton: sequences of symbols that it must be able to read."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Final

from rewardmachines.experiments.baselines.deepsynth.automaton import Automaton, Trace

WINDOW: Final = 3
"""The number of symbols of a window."""
BEFORE: Final = 2
"""The number of symbols before the failing one with which the unread part begins."""
LATER: Final = 10
"""The number of symbols of a sequence that is added because the trace still fails: the last of them is the failing
one."""
SHORTEST_CUT: Final = 10
"""The least length of a prefix that is added beside a trace."""
MOST_CUTS: Final = 1000
"""The most prefixes that are drawn for a trace."""


def prefixes(trace: Trace, generator: random.Random) -> list[Trace]:
    """Random prefixes of a trace: half as many as it has symbols, 1000 at most, and none of a short trace.

    Args:
        trace: The trace.
        generator: Draws the lengths, of which some may be equal.
    """
    length = len(trace)
    if round(0.75 * length) <= SHORTEST_CUT:
        return []
    longest = max(length - SHORTEST_CUT, round(0.75 * length))
    return [trace[: generator.randint(SHORTEST_CUT, longest)] for _ in range(min(round(length / 2), MOST_CUTS))]


def traces_to_add(automaton: Automaton, traces: Iterable[Trace], generator: random.Random) -> list[Trace]:
    """The traces that the automaton cannot follow and prefixes of them, each once, the shortest first."""
    unread = sorted({trace for trace in traces if not automaton.follows(trace)})
    cut = (prefix for trace in unread for prefix in prefixes(trace, generator))
    return sorted({*unread, *cut}, key=lambda trace: (len(trace), trace))


def unread_sequences(trace: Trace, failure: int) -> list[Trace]:
    """The sequences that stand for the part of a trace that cannot be read, which begins before the failing symbol.

    Args:
        trace: The trace.
        failure: The index of the first symbol that cannot be read.

    Returns:
        The distinct windows of the part, if it has at least three times as many symbols; otherwise the part itself.
    """
    part = trace[max(0, failure - BEFORE) :]
    windows = sorted({part[place : place + WINDOW] for place in range(len(part) - WINDOW + 1)})
    return windows if windows and WINDOW * len(windows) <= len(part) else [part]


def later_sequence(automaton: Automaton, trace: Trace, failure: int) -> Trace:
    """The sequence that is added when a trace still fails: ten symbols, of which the last one is the failing one.

    It is longer if the automaton can read it from some state, as nothing would be demanded then; the whole beginning of
    the trace can never be read.
    """
    begin = max(0, failure + 1 - LATER)
    while begin and automaton.reads_anywhere(trace[begin : failure + 1]):
        begin -= 1
    return trace[begin : failure + 1]
