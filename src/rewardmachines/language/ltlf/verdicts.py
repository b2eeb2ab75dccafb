"""From the automaton of a language to the automaton of its verdicts: when a machine accepts, and when it rejects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from rewardmachines.language.ltlf.diagrams import Allowance, Automaton, minimal

REJECTED: Final = 0
ACCEPTED: Final = 1
"""The terminal states of a verdict automaton."""

END_LEVEL: Final = -(1 << 40)
"""The level of the proposition on which a formula is judged: above all others."""


class Accept(Enum):
    """The moment at which a machine accepts.

    FIRST: as soon as the trace so far satisfies the formula. DECIDED: as soon as every continuation satisfies it.
    """

    FIRST = "first"
    DECIDED = "decided"


class _Copy:
    """An automaton with other moves for one that is given; nodes are shared."""

    def __init__(self) -> None:
        self.automaton = Automaton()
        self._unique: dict[tuple[int, int, int], int] = {}

    def node(self, level: int, low: int, high: int) -> int:
        if low == high:
            return low
        key = (level, low, high)
        found = self._unique.get(key)
        if found is None:
            found = self._unique[key] = len(self.automaton.levels)
            self.automaton.levels.append(level)
            self.automaton.lows.append(low)
            self.automaton.highs.append(high)
        return found


def over_letters(automaton: Automaton, tasks: Sequence[int], absent: Sequence[int], budget: Allowance) -> Automaton:
    """The smallest automaton that agrees on labels with no task, or nothing but one task.

    Args:
        automaton: An automaton over all labels.
        tasks: The levels of the atoms that are tasks. In the result, they are tested first: see `task_level`.
        absent: The levels of atoms that are false at every position.
        budget: The limits.
    """
    if not tasks and not absent:
        return automaton
    copy_of = _Copy()
    result = copy_of.automaton
    lowered = {*tasks, *absent}
    known: dict[int, int] = {}

    def copy(x: int) -> int:
        if x < 0:
            return x
        found = known.get(x)
        if found is None:
            level, low = automaton.levels[x], copy(automaton.lows[x])
            found = known[x] = low if level in lowered else copy_of.node(level, low, copy(automaton.highs[x]))
        return found

    for root in automaton.roots[2:]:
        found = copy(root)
        for number, task in enumerate(tasks):
            found = copy_of.node(task_level(number), found, leaf_on(automaton, root, task))
        result.roots.append(found)
    result.initial = automaton.initial
    return minimal(result, budget)


def task_level(number: int) -> int:
    """The level of the task of that number in the result of `over_letters`."""
    return -1 - number


def leaf_on(automaton: Automaton, root: int, level: int | None) -> int:
    """The leaf on the label that has nothing but the atom of that level, if one is given."""
    x = root
    while x >= 0:
        x = automaton.highs[x] if automaton.levels[x] == level else automaton.lows[x]
    return x


def verdicts(automaton: Automaton, accept: Accept, budget: Allowance) -> Automaton:
    """The smallest automaton of the verdicts along a trace, whose terminal states are `REJECTED` and `ACCEPTED`."""
    count = automaton.size
    levels, roots = automaton.levels, automaton.roots

    def target(x: int) -> int:
        if x >= 0:
            return x
        state, satisfied = ~x >> 1, ~x & 1
        if satisfied and accept is Accept.FIRST:
            return ~(2 * ACCEPTED)
        # Where every further label, or none, leads to acceptance, the present label may still say otherwise.
        return ~(2 * (count + state if state < 2 and satisfied != state else state))

    lows, highs = [target(x) for x in automaton.lows], [target(x) for x in automaton.highs]
    result = Automaton(levels, lows, highs, [target(x) for x in roots], automaton.initial)
    result.roots += [~(2 * REJECTED), ~(2 * ACCEPTED)]
    if accept is Accept.FIRST and result.initial == ACCEPTED:
        result.initial = count + 1
    return minimal(result, budget, keeps_sinks=True)


def verdicts_at_end(automaton: Automaton, *, accepts_empty: bool, budget: Allowance) -> Automaton:
    """Likewise, where the verdict is given on the first label with the proposition of `END_LEVEL`.

    Args:
        automaton: The automaton of the formula.
        accepts_empty: Whether the empty trace satisfies the formula.
        budget: The limits.
    """
    copy_of = _Copy()
    result = copy_of.automaton
    numbers: dict[int, int] = {0: REJECTED}
    waiting: list[int] = []
    known: dict[int, int] = {}

    def state(leaf: int) -> int:
        number = numbers.get(leaf)
        if number is None:
            number = numbers[leaf] = len(numbers) + 1
            waiting.append(leaf)
            budget.check(len(result.levels), number)
        return number

    def copy(x: int) -> int:
        if x < 0:
            return ~(2 * state(~x))
        found = known.get(x)
        if found is None:
            low, high = copy(automaton.lows[x]), copy(automaton.highs[x])
            found = known[x] = copy_of.node(automaton.levels[x], low, high)
        return found

    result.initial = state(2 * automaton.initial + accepts_empty)
    done = 0
    while done < len(waiting):
        leaf = waiting[done]
        judged = ~(2 * (ACCEPTED if leaf & 1 else REJECTED))
        result.roots.append(copy_of.node(END_LEVEL, copy(automaton.roots[leaf >> 1]), judged))
        done += 1
    return minimal(result, budget, keeps_sinks=True)
