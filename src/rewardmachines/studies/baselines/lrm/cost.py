"""The prediction cost of a machine: the definition, which the search computes faster (`neighbours.py`).

Observations and states are numbers. A machine is a mapping of a state and an observation to the next state; where it
says nothing, the state stays. State 0 is the initial one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import TypeAlias

Transitions: TypeAlias = Mapping[tuple[int, int], int]
"""The next state, by state and observation."""
Traces: TypeAlias = Sequence[Sequence[int]]
"""The observations of each episode, no two neighbours equal."""
Predictions: TypeAlias = set[tuple[int, int, int]]
"""The observations that are expected right after another in a state: state, observation, next observation."""


def steps(transitions: Transitions, trace: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """The state after each observation of a trace but the last, that observation, and the one after it."""
    state = 0
    for observation, following in pairwise(trace):
        state = transitions.get((state, observation), state)
        yield state, observation, following


def predictions(transitions: Transitions, traces: Traces, state_count: int) -> Predictions:
    """The predictions of a machine after an observation in a state.

    It predicts N, what was seen then, and the observation itself. Where an observation has only one successor in the
    data, that is predicted in all states.

    Args:
        transitions: The machine.
        traces: What was observed.
        state_count: The number of the machine's states.
    """
    seen = {step for trace in traces for step in steps(transitions, trace)}
    single = {observation: after for observation, after in successors(traces).items() if len(after) == 1}
    return {
        *seen,
        *((state, observation, observation) for state, observation, _ in seen),
        *((state, o, following) for o, after in single.items() for following in after for state in range(state_count)),
    }


def successors(traces: Traces) -> dict[int, set[int]]:
    """The observations that were seen right after each one, in whatever state."""
    found: dict[int, set[int]] = {}
    for trace in traces:
        for observation, following in pairwise(trace):
            found.setdefault(observation, set()).add(following)
    return found


def cost(transitions: Transitions, traces: Traces) -> float:
    """The sum of log |N(u, o)| over all steps in which an observation o is followed by another one.

    Steps whose observation has only one successor in the data, whatever the state, do not count: no machine could
    predict worse there.
    """
    counts = Counter(step for trace in traces for step in steps(transitions, trace))
    after = successors(traces)
    numbers = Counter((state, observation) for state, observation, _ in counts)
    return sum(
        count * log(numbers[state, observation])
        for (state, observation, _), count in counts.items()
        if len(after[observation]) > 1
    )
