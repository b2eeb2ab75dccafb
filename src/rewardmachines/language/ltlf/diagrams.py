"""Deterministic automata whose moves are decision diagrams over atoms: products, minimization.

A diagram is a number. Non-negative numbers are nodes (level, low, high) of a table; a negative number is a leaf, and
`~leaf` is `2 * state + 1` if the trace may end with this label, `2 * state` if not. State 0 accepts no continuation,
state 1 all of them. Every automaton owns its table, in which children stand before their parents.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from rewardmachines.core.errors import TooLargeError

NOTHING: Final = ~0
"""The leaf that rejects here and whatever follows."""
ANYTHING: Final = ~3
"""The leaf that accepts here and whatever follows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest machine that is built, and the largest work on the way.

    Args:
        states: States of one automaton on the way.
        edges: Edges of the machine.
        nodes: Nodes of the diagrams of one automaton on the way.
        seconds: Time for everything.
    """

    states: int = 20_000
    edges: int = 20_000
    nodes: int = 300_000
    seconds: float = 60.0


class Budget:
    """What is left of the limits of one translation."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = time.monotonic() + limits.seconds

    def check(self, nodes: int = 0, states: int = 0) -> None:
        """Raises TooLargeError where a limit is passed."""
        limits = self._limits
        if states > limits.states:
            raise TooLargeError(f"the formula takes an automaton of more than {limits.states:,} states: split it up")
        if nodes > limits.nodes:
            raise TooLargeError(f"the formula takes diagrams of more than {limits.nodes:,} nodes: split it up")
        if time.monotonic() > self._end:
            raise TooLargeError(f"the formula takes more than {limits.seconds:g} s: split it up")


_CHECK_EVERY: Final = 4095
"""New nodes between two looks at the clock, as a mask."""


class Operation(IntEnum):
    """How a product joins two verdicts."""

    AND = 0
    OR = 1
    XOR = 2


@dataclass(slots=True)
class Automaton:
    """A deterministic automaton; the moves of state `s` are the diagram `roots[s]`."""

    levels: list[int] = field(default_factory=list)
    lows: list[int] = field(default_factory=list)
    highs: list[int] = field(default_factory=list)
    roots: list[int] = field(default_factory=lambda: [NOTHING, ANYTHING])
    initial: int = 0
    atoms: frozenset[int] = frozenset()
    """The levels of the atoms that are tested."""

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.roots)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for recursion over the levels of diagrams, which are as many as atoms and subformulas."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 20_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def product(a: Automaton, b: Automaton, operation: Operation, budget: Budget) -> Automaton:
    """The automaton of both, either or exactly one of two; only pairs that are reached are built."""
    result = Automaton()
    levels, lows, highs, roots = result.levels, result.lows, result.highs, result.roots
    levels_a, lows_a, highs_a = a.levels, a.lows, a.highs
    levels_b, lows_b, highs_b = b.levels, b.lows, b.highs
    width = b.size
    is_and, is_or = operation is Operation.AND, operation is Operation.OR
    absorbing = NOTHING if is_and else ANYTHING if is_or else 0  # 0 is a node: nothing absorbs in XOR
    numbers: dict[int, int] = {}
    pairs: list[int] = []
    known: dict[tuple[int, int], int] = {}
    unique: dict[tuple[int, int, int], int] = {}

    def state(s: int, t: int) -> int:
        if s < 2 and t < 2:
            return s & t if is_and else s | t if is_or else s ^ t
        if s < 2 and (is_and or is_or) and (s == 0) == is_and:
            return s
        if t < 2 and (is_and or is_or) and (t == 0) == is_and:
            return t
        key = s * width + t
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(pairs) + 2
            pairs.append(key)
        return number

    def apply(x: int, y: int) -> int:
        if x == absorbing or y == absorbing:
            if absorbing:
                return absorbing
        key = (x, y)
        found = known.get(key)
        if found is not None:
            return found
        if x < 0:
            if y < 0:
                c, d = ~x, ~y
                bit = c & d if is_and else c | d if is_or else c ^ d
                found = ~(2 * state(c >> 1, d >> 1) + (bit & 1))
                known[key] = found
                return found
            level = levels_b[y]
            low, high = apply(x, lows_b[y]), apply(x, highs_b[y])
        elif y < 0:
            level = levels_a[x]
            low, high = apply(lows_a[x], y), apply(highs_a[x], y)
        else:
            level = levels_a[x]
            other = levels_b[y]
            if level < other:
                low, high = apply(lows_a[x], y), apply(highs_a[x], y)
            elif level > other:
                level = other
                low, high = apply(x, lows_b[y]), apply(x, highs_b[y])
            else:
                low, high = apply(lows_a[x], lows_b[y]), apply(highs_a[x], highs_b[y])
        if low == high:
            known[key] = low
            return low
        node = (level, low, high)
        found = unique.get(node)
        if found is None:
            found = unique[node] = len(levels)
            levels.append(level)
            lows.append(low)
            highs.append(high)
            if not found & _CHECK_EVERY:
                budget.check(found)
        known[key] = found
        return found

    result.initial = state(a.initial, b.initial)
    done = 0
    while done < len(pairs):
        s, t = divmod(pairs[done], width)
        roots.append(apply(a.roots[s], b.roots[t]))
        done += 1
        if not done & 63:
            budget.check(len(levels), len(pairs))
    result.atoms = a.atoms | b.atoms
    return result


def minimal(automaton: Automaton, budget: Budget, *, keeps_sinks: bool = False) -> Automaton:
    """The smallest automaton of the language; with `keeps_sinks`, no other state becomes one with states 0 and 1.

    Partition refinement (Moore): the signature of a state is its diagram with classes for states. Of a class that is
    split, the largest part keeps the number, so that only diagrams that lead to the other parts are built again.
    """
    levels, lows, highs, roots = automaton.levels, automaton.lows, automaton.highs, automaton.roots
    count = len(roots)
    classes = [0, 1, *[2] * (count - 2)] if keeps_sinks else [0] * count
    unique: dict[tuple[int, int, int], int] = {}
    new_levels: list[int] = []
    new_lows: list[int] = []
    new_highs: list[int] = []
    mapped = [0] * len(levels)
    members: list[list[int]] = [[0], [1], list(range(2, count))] if keeps_sinks else [list(range(count))]
    leaves = [~(2 * classes[leaf >> 1] + (leaf & 1)) for leaf in range(2 * count)]
    """The leaf of the class, for each leaf."""
    dirty: list[int] | range = range(len(levels))
    dirty_states: list[int] | range = range(count)
    parents: list[list[int]] | None = None
    signatures = [0] * count
    while True:
        for n in dirty:
            low, high = lows[n], highs[n]
            low = leaves[~low] if low < 0 else mapped[low]
            high = leaves[~high] if high < 0 else mapped[high]
            if low == high:
                mapped[n] = low
                continue
            node = (levels[n], low, high)
            found = unique.get(node)
            if found is None:
                found = unique[node] = len(new_levels)
                new_levels.append(levels[n])
                new_lows.append(low)
                new_highs.append(high)
                if not found & _CHECK_EVERY:
                    budget.check()
            mapped[n] = found
        for s in dirty_states:
            root = roots[s]
            signatures[s] = leaves[~root] if root < 0 else mapped[root]
        changed: list[int] = []
        for c in {classes[s] for s in dirty_states}:
            if len(members[c]) == 1:
                continue
            parts: dict[int, list[int]] = {}
            for s in members[c]:
                parts.setdefault(signatures[s], []).append(s)
            if len(parts) == 1:
                continue
            largest = max(parts.values(), key=len)
            members[c] = largest
            for part in parts.values():
                if part is largest:
                    continue
                for s in part:
                    classes[s] = len(members)
                    leaves[2 * s] = ~(2 * len(members))
                    leaves[2 * s + 1] = ~(2 * len(members) + 1)
                members.append(part)
                changed += part
        budget.check()
        if not changed or len(members) == count:
            break
        if len(changed) * 4 > count:
            dirty, dirty_states = range(len(levels)), range(count)
            continue
        if parents is None:
            parents = _parents(automaton)
        dirty, dirty_states = _above(changed, parents, len(levels))
    return _compact(automaton, classes, members)


def _parents(automaton: Automaton) -> list[list[int]]:
    """The parents of each node, then of each state's leaves; a state that is a parent is `~state`."""
    nodes = len(automaton.levels)
    parents: list[list[int]] = [[] for _ in range(nodes + automaton.size)]
    for n, children in enumerate(zip(automaton.lows, automaton.highs, strict=True)):
        for child in children:
            parents[nodes + (~child >> 1) if child < 0 else child].append(n)
    for s, root in enumerate(automaton.roots):
        parents[nodes + (~root >> 1) if root < 0 else root].append(~s)
    return parents


def _above(changed: list[int], parents: list[list[int]], nodes: int) -> tuple[list[int], list[int]]:
    """The nodes and the states whose diagrams lead to the changed states, nodes in the order of their numbers."""
    found: set[int] = set()
    waiting = [nodes + s for s in changed]
    while waiting:
        for parent in parents[waiting.pop()]:
            if parent not in found:
                found.add(parent)
                if parent >= 0:
                    waiting.append(parent)
    return sorted(n for n in found if n >= 0), [~n for n in found if n < 0]


def _compact(automaton: Automaton, classes: list[int], members: list[list[int]]) -> Automaton:
    """The automaton of the classes, without what is not reached."""
    result = Automaton()
    levels, lows, highs, roots = automaton.levels, automaton.lows, automaton.highs, automaton.roots
    numbers = {classes[0]: 0, classes[1]: 1}
    waiting: list[int] = []
    unique: dict[tuple[int, int, int], int] = {}
    known: dict[int, int] = {}
    atoms: set[int] = set()

    def state(old: int) -> int:
        c = classes[old]
        number = numbers.get(c)
        if number is None:
            number = numbers[c] = len(numbers)
            waiting.append(c)
        return number

    def copy(x: int) -> int:
        if x < 0:
            return ~(2 * state(~x >> 1) + (~x & 1))
        found = known.get(x)
        if found is None:
            low, high = copy(lows[x]), copy(highs[x])
            if low == high:
                found = low
            else:
                node = (levels[x], low, high)
                found = unique.get(node)
                if found is None:
                    found = unique[node] = len(result.levels)
                    result.levels.append(levels[x])
                    result.lows.append(low)
                    result.highs.append(high)
                    atoms.add(levels[x])
            known[x] = found
        return found

    result.initial = state(automaton.initial)
    done = 0
    while done < len(waiting):
        result.roots.append(copy(roots[members[waiting[done]][0]]))
        done += 1
    result.atoms = frozenset(atoms)
    return result


def later(automaton: Automaton, *, if_last: bool) -> Automaton:
    """One label, then the automaton; with nothing after that label, the verdict is `if_last`."""
    result = Automaton(
        automaton.levels, automaton.lows, automaton.highs, [*automaton.roots], automaton.size, automaton.atoms
    )
    result.roots.append(~(2 * automaton.initial + if_last))
    return result


class Diagrams:
    """Binary decision diagrams of one table; 0 is false and 1 true."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.levels: list[int] = [_LAST, _LAST]
        self.lows: list[int] = [0, 1]
        self.highs: list[int] = [0, 1]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._choices: dict[tuple[int, int, int], int] = {}
        self.choice: Callable[[int, int, int], int] = self._make_choice()

    def variable(self, level: int) -> int:
        """The diagram of one variable."""
        return self.node(level, 0, 1)

    def node(self, level: int, low: int, high: int) -> int:
        """The node; both children are of later levels."""
        if low == high:
            return low
        key = (level, low, high)
        found = self._unique.get(key)
        if found is None:
            found = self._unique[key] = len(self.levels)
            self.levels.append(level)
            self.lows.append(low)
            self.highs.append(high)
            if not found & _CHECK_EVERY:
                self._budget.check(found)
        return found

    def negation(self, x: int) -> int:
        return self.choice(x, 0, 1)

    def both(self, x: int, y: int) -> int:
        return self.choice(x, y, 0)

    def either(self, x: int, y: int) -> int:
        return self.choice(x, 1, y)

    def _make_choice(self) -> Callable[[int, int, int], int]:
        """`choice(x, y, z)` is y where x holds, z elsewhere. A closure, because most of the time is spent in it."""
        levels, lows, highs, known, node = self.levels, self.lows, self.highs, self._choices, self.node

        def choice(x: int, y: int, z: int) -> int:
            if x < 2:
                return y if x else z
            if y == z:
                return y
            if y == 1 and z == 0:
                return x
            if x == y:
                y = 1
            if x == z:
                z = 0
            if y == z:
                return y
            key = (x, y, z)
            found = known.get(key)
            if found is not None:
                return found
            level, level_y, level_z = levels[x], levels[y], levels[z]
            top = min(level, level_y, level_z)
            x0, x1 = (lows[x], highs[x]) if level == top else (x, x)
            y0, y1 = (lows[y], highs[y]) if level_y == top else (y, y)
            z0, z1 = (lows[z], highs[z]) if level_z == top else (z, z)
            found = known[key] = node(top, choice(x0, y0, z0), choice(x1, y1, z1))
            return found

        return choice


def automaton_of(
    diagrams: Diagrams, end: int, start: int, replacement: Callable[[int], int], budget: Budget
) -> Automaton:
    """The automaton of a diagram over atoms, `end` and what has to hold next; states with equal moves are one.

    Args:
        diagrams: The table.
        end: The level at which it is tested whether this is the last position. Atoms are tested before.
        start: The diagram of the first position.
        replacement: The diagram of the next position for what has to hold there, by the level of its variable.
        budget: The limits.
    """
    levels, lows, highs = diagrams.levels, diagrams.lows, diagrams.highs
    result = Automaton()
    numbers = {0: 0, 1: 1}
    waiting: list[int] = []
    atoms: set[int] = set()
    moves: dict[int, int] = {0: 0, 1: 1}
    known: dict[int, int] = {0: NOTHING, 1: ANYTHING}

    def moved(x: int) -> int:
        """The diagram of the next position for what is left below `end`."""
        found = moves.get(x)
        if found is None:
            low, high = moved(lows[x]), moved(highs[x])
            found = moves[x] = diagrams.choice(replacement(levels[x]), high, low)
        return found

    def state(diagram: int) -> int:
        number = numbers.get(diagram)
        if number is None:
            number = numbers[diagram] = len(numbers)
            waiting.append(diagram)
            budget.check(len(levels), number)
        return number

    def copy(x: int) -> int:
        found = known.get(x)
        if found is not None:
            return found
        level = levels[x]
        if level == end:
            found = ~(2 * state(moved(lows[x])) + highs[x])
        else:
            low, high = copy(lows[x]), copy(highs[x])
            found = low
            if low != high:
                found = len(result.levels)
                result.levels.append(level)
                result.lows.append(low)
                result.highs.append(high)
                atoms.add(level)
        known[x] = found
        return found

    result.initial = state(start)
    done = 0
    while done < len(waiting):
        result.roots.append(copy(waiting[done]))
        done += 1
    result.atoms = frozenset(atoms)
    return result


_LAST: Final = 1 << 60
