"""Deterministic automata whose moves are decision diagrams over atoms: products, minimization.

A diagram is a number. Non-negative numbers are nodes (level, low, high) of a table; a negative number is a leaf, and
`~leaf` is `2 * state + 1` if the trace may end with this label, `2 * state` if not. State 0 accepts no continuation,
state 1 all of them. Every automaton owns its table, in which children stand before their parents.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from random import Random
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


class Allowance:
    """What is left of the limits of one translation."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = time.thread_time() + limits.seconds

    def check(self, nodes: int = 0, states: int = 0) -> None:
        """Raises TooLargeError where a limit is passed."""
        limits = self._limits
        if states > limits.states:
            raise TooLargeError(f"the formula takes an automaton of more than {limits.states:,} states: split it up")
        if nodes > limits.nodes:
            raise TooLargeError(f"the formula takes diagrams of more than {limits.nodes:,} nodes: split it up")
        if time.thread_time() > self._end:
            raise TooLargeError(f"the formula takes more than {limits.seconds:g} s: split it up")


_MANY: Final = 4095
_FEW: Final = 63
"""New nodes, and states, between two looks at the clock, as masks."""


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
def long_computation() -> Iterator[None]:
    """Room for recursion over the levels of diagrams, and no search for garbage among their nodes: there is none."""
    depth, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(depth, _DEPTH))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(depth)
        if collects:
            gc.enable()


_DEPTH: Final = 20_000


class Operation(Enum):
    """How a product joins two verdicts."""

    AND = "and"
    OR = "or"
    XOR = "xor"

    def joined(self, a: int, b: int) -> int:
        """The bits of one number joined with those of another."""
        return a & b if self is Operation.AND else a | b if self is Operation.OR else a ^ b

    @property
    def absorbing(self) -> int | None:
        """The state that decides whatever the other one is."""
        return {Operation.AND: 0, Operation.OR: 1, Operation.XOR: None}[self]


class _Pairs:
    """The states of a product: pairs of states, in the order in which they are reached."""

    def __init__(self, operation: Operation, width: int) -> None:
        self._operation = operation
        self._absorbing = operation.absorbing
        self._width = width
        self._numbers: dict[int, int] = {}
        self.pairs: list[int] = []
        """`a * width + b` for each pair."""

    def state(self, a: int, b: int) -> int:
        """The number of a pair."""
        if a < 2 and b < 2:
            return self._operation.joined(a, b)
        if self._absorbing is not None and self._absorbing in (a, b):
            return self._absorbing
        key = a * self._width + b
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.pairs) + 2
            self.pairs.append(key)
        return number

    @property
    def absorbing_leaf(self) -> int | None:
        """The leaf of the absorbing state whose bit says the same."""
        return None if self._absorbing is None else ~(3 * self._absorbing)

    def leaf(self, a: int, b: int) -> int:
        """The leaf for two leaves, given without the sign."""
        return ~(2 * self.state(a >> 1, b >> 1) + self._operation.joined(a & 1, b & 1))


def product(a: Automaton, b: Automaton, operation: Operation, budget: Allowance) -> Automaton:
    """The automaton of both, either or exactly one of two; only pairs that are reached are built."""
    result = Automaton(atoms=a.atoms | b.atoms)
    pairs = _Pairs(operation, b.size)
    result.initial = pairs.state(a.initial, b.initial)
    known: dict[int, int] = {}
    unique: dict[tuple[int, int, int], int] = {}
    apply = _joiner(_Numbered(a), _Numbered(b), pairs, result, (known, unique), budget)
    done = 0
    while done < len(pairs.pairs):
        s, t = divmod(pairs.pairs[done], b.size)
        result.roots.append(apply(a.roots[s], b.roots[t]))
        done += 1
        if not done & _FEW:
            budget.check(len(result.levels), len(pairs.pairs))
    known.clear()  # the functions that hold them wait for a search for garbage
    unique.clear()
    return result


class _Numbered:
    """An automaton whose leaves are numbers after those of its nodes, so that pairs of diagrams are one number."""

    def __init__(self, automaton: Automaton) -> None:
        nodes = len(automaton.levels)
        self.nodes = nodes
        leaves = 2 * automaton.size
        self.levels = [*automaton.levels, *[_LAST] * leaves]
        self.lows = [x if x >= 0 else nodes + ~x for x in automaton.lows]
        self.highs = [x if x >= 0 else nodes + ~x for x in automaton.highs]
        self.size = nodes + leaves


def _joiner(  # noqa: C901
    a: _Numbered,
    b: _Numbered,
    pairs: _Pairs,
    result: Automaton,
    tables: tuple[dict[int, int], dict[tuple[int, int, int], int]],
    budget: Allowance,
) -> Callable[[int, int], int]:
    """The function that joins two diagrams: a closure, because most of the time is spent in it."""
    levels_a, lows_a, highs_a = a.levels, a.lows, a.highs
    levels_b, lows_b, highs_b = b.levels, b.lows, b.highs
    nodes_a, nodes_b, width = a.nodes, b.nodes, b.size
    levels, lows, highs = result.levels, result.lows, result.highs
    known, unique = tables
    find, find_node, leaf = known.get, unique.get, pairs.leaf
    absorbing = pairs.absorbing_leaf
    absorbing_a, absorbing_b = (-1, -1) if absorbing is None else (nodes_a + ~absorbing, nodes_b + ~absorbing)

    def joined(x: int, y: int) -> int:
        if x == absorbing_a or y == absorbing_b:
            assert absorbing is not None
            known[x * width + y] = absorbing
            return absorbing
        level, other = levels_a[x], levels_b[y]
        if level < other:
            low_key, high_key = lows_a[x] * width + y, highs_a[x] * width + y
        elif level > other:
            low_key, high_key = x * width + lows_b[y], x * width + highs_b[y]
            level = other
        elif level == _LAST:
            last = known[x * width + y] = leaf(x - nodes_a, y - nodes_b)
            return last
        else:
            low_key, high_key = lows_a[x] * width + lows_b[y], highs_a[x] * width + highs_b[y]
        low = find(low_key)
        if low is None:
            low = joined(low_key // width, low_key % width)
        high = find(high_key)
        if high is None:
            high = joined(high_key // width, high_key % width)
        if low == high:
            known[x * width + y] = low
            return low
        node = (level, low, high)
        found = find_node(node)
        if found is None:
            found = unique[node] = len(levels)
            levels.append(level)
            lows.append(low)
            highs.append(high)
            if not found & _MANY:
                budget.check(found)
        known[x * width + y] = found
        return found

    def apply(x: int, y: int) -> int:
        x, y = (x if x >= 0 else nodes_a + ~x), (y if y >= 0 else nodes_b + ~y)
        found = find(x * width + y)
        return joined(x, y) if found is None else found

    return apply


def minimal(automaton: Automaton, budget: Allowance, *, keeps_sinks: bool = False) -> Automaton:
    """The smallest automaton of the language; with `keeps_sinks`, no other state becomes one with states 0 and 1.

    States that differ on a few labels are told apart first, which is fast and leaves little to do for diagrams.
    """
    count = automaton.size
    classes = [0, 1, *[2] * (count - 2)] if keeps_sinks else [0] * count
    if count > _FEW and not keeps_sinks:
        classes = _told_apart(automaton, classes, budget)
    classes, members = _Refinement(automaton, classes, budget).coarsest()
    if len(members) == count and not keeps_sinks:
        return automaton
    return _compact(automaton, classes, members)


def _told_apart(automaton: Automaton, classes: list[int], budget: Allowance) -> list[int]:
    """The classes of states, split as far as a few labels split them."""
    columns: list[tuple[list[int], list[int]]] = []
    random = Random(0)  # noqa: S311
    count, is_stable = len(set(classes)), False
    while count < len(classes) and (len(columns) < _SAMPLED_LABELS or not is_stable):
        budget.check()
        if len(columns) < _SAMPLED_LABELS:
            pairs = _undivided(classes, random)
            columns += [_moves_on_label(automaton, _dividing_label(automaton, *pair, random)) for pair in pairs]
        keys = [classes]
        for targets, bits in columns:
            keys += [[classes[t] for t in targets], bits]
        numbers: dict[tuple[int, ...], int] = {}
        classes = [numbers.setdefault(key, len(numbers)) for key in zip(*keys, strict=True)]
        is_stable = len(numbers) == count
        count = len(numbers)
    return classes


def _undivided(classes: list[int], random: Random) -> list[tuple[int, int]]:
    """A few pairs of states that are in one class."""
    members: dict[int, list[int]] = {}
    for s, c in enumerate(classes):
        members.setdefault(c, []).append(s)
    groups = [group for group in members.values() if len(group) > 1]
    pairs = [random.sample(random.choice(groups), 2) for _ in range(_AT_ONCE)]
    return [(s, t) for s, t in pairs]


def _dividing_label(automaton: Automaton, s: int, t: int, random: Random) -> list[int]:
    """A label on which two states differ in their leaves, if they do; atoms that do not matter are false."""
    levels, lows, highs = automaton.levels, automaton.lows, automaton.highs
    x, y = automaton.roots[s], automaton.roots[t]
    label = [0] * (max(automaton.atoms) + 1)
    while x >= 0 or y >= 0:
        level = min(levels[z] for z in (x, y) if z >= 0)
        x_here, y_here = x >= 0 and levels[x] == level, y >= 0 and levels[y] == level
        low = lows[x] if x_here else x, lows[y] if y_here else y
        high = highs[x] if x_here else x, highs[y] if y_here else y
        differing = [side for side, (a, b) in enumerate((low, high)) if a != b]
        label[level] = random.choice(differing or (0, 1))
        x, y = high if label[level] else low
    return label


def _moves_on_label(automaton: Automaton, label: list[int]) -> tuple[list[int], list[int]]:
    """The target of each state on a label, and whether the trace may end with it."""
    levels, lows, highs = automaton.levels, automaton.lows, automaton.highs
    targets, bits = [], []
    for root in automaton.roots:
        x = root
        while x >= 0:
            x = highs[x] if label[levels[x]] else lows[x]
        targets.append(~x >> 1)
        bits.append(~x & 1)
    return targets, bits


_SAMPLED_LABELS: Final = 12
_AT_ONCE: Final = 4
"""Labels that are tried between two rounds of refinement."""


class _Refinement:
    """Partition refinement (Moore) of the states, starting from some classes.

    The signature of a state is its diagram with classes for states. Of a class that is split, the largest part keeps
    the number, so that only diagrams that lead to the other parts are built again.
    """

    def __init__(self, automaton: Automaton, classes: list[int], budget: Allowance) -> None:
        self._automaton = automaton
        self._budget = budget
        self._classes = classes
        self._members: list[list[int]] = [[] for _ in set(classes)]
        for s, c in enumerate(classes):
            self._members[c].append(s)
        self._leaves = [~(2 * classes[leaf >> 1] + (leaf & 1)) for leaf in range(2 * len(classes))]
        """The leaf of the class, for each leaf."""
        self._mapped = [0] * len(automaton.levels)
        """The signature of each node."""
        self._signatures = [0] * len(classes)
        self._unique: dict[tuple[int, int, int], int] = {}

    def coarsest(self) -> tuple[list[int], list[list[int]]]:
        """The class of each state, and the states of each class."""
        nodes, count = len(self._automaton.levels), self._automaton.size
        dirty: Iterable[int] = range(nodes)
        dirty_states: Sequence[int] = range(count)
        parents: list[list[int]] | None = None
        while len(self._members) < count:
            self._sign(dirty, dirty_states)
            changed = self._split(dirty_states)
            self._budget.check()
            if not changed:
                break
            if len(changed) * 4 > count:
                dirty, dirty_states = range(nodes), range(count)
            else:
                parents = parents or _parents(self._automaton)
                dirty, dirty_states = _above(changed, parents, nodes)
        return self._classes, self._members

    def _sign(self, dirty: Iterable[int], dirty_states: Iterable[int]) -> None:
        """Builds the signatures that may have changed; children come before their parents."""
        levels, lows, highs = self._automaton.levels, self._automaton.lows, self._automaton.highs
        leaves, mapped, unique = self._leaves, self._mapped, self._unique
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
                found = unique[node] = len(unique)
                if not found & _MANY:
                    self._budget.check()
            mapped[n] = found
        for s in dirty_states:
            root = self._automaton.roots[s]
            self._signatures[s] = leaves[~root] if root < 0 else mapped[root]

    def _split(self, dirty_states: Iterable[int]) -> list[int]:
        """Splits the classes of some states by their signatures; the states whose class has another number now."""
        classes, members, signatures = self._classes, self._members, self._signatures
        changed: list[int] = []
        for c in {classes[s] for s in dirty_states}:
            parts: dict[int, list[int]] = {}
            for s in members[c]:
                parts.setdefault(signatures[s], []).append(s)
            members[c] = largest = max(parts.values(), key=len)
            for part in parts.values():
                if part is not largest:
                    for s in part:
                        classes[s] = len(members)
                        self._leaves[2 * s : 2 * s + 2] = ~(2 * len(members)), ~(2 * len(members) + 1)
                    members.append(part)
                    changed += part
        return changed


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


def constant(leaf: int) -> Automaton:
    """The automaton of `NOTHING` or `ANYTHING`."""
    return Automaton(initial=~leaf & 1)


def later(automaton: Automaton, *, if_last: bool) -> Automaton:
    """One label, then the automaton; with nothing after that label, the verdict is `if_last`."""
    result = Automaton(
        automaton.levels, automaton.lows, automaton.highs, [*automaton.roots], automaton.size, automaton.atoms
    )
    result.roots.append(~(2 * automaton.initial + if_last))
    return result


class Diagrams:
    """Binary decision diagrams of one table; 0 is false and 1 true."""

    def __init__(self, budget: Allowance) -> None:
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
            if not found & _MANY:
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
    diagrams: Diagrams, end: int, start: int, replacement: Callable[[int], int], budget: Allowance
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
