"""Past operators: an automaton that tests their values becomes one that remembers what they need."""

from __future__ import annotations

from collections.abc import Sequence

from rewardmachines.language.ltlf.diagrams import Allowance, Automaton, Diagrams
from rewardmachines.language.ltlf.formulas import Formulas, Kind


class Past:
    """The past operators of the formulas of a table, each with a bit that is remembered from label to label.

    Args:
        formulas: The table.
        atoms: The number of atoms. The values of past operators are tested at the levels that follow.
        budget: The limits.
    """

    def __init__(self, formulas: Formulas, atoms: int, budget: Allowance) -> None:
        self._formulas = formulas
        self._atoms = atoms
        self._budget = budget
        self._diagrams = Diagrams(budget)
        numbers = [n for n, kind in enumerate(formulas.kinds) if kind in (Kind.BEFORE, Kind.SINCE)]
        self.levels = {2 * n: atoms + i for i, n in enumerate(numbers)}
        """The level at which the value of an operator is tested, by its formula."""
        self.end = atoms + len(numbers)
        self._values: dict[int, int] = {}

    def remembered(self, automaton: Automaton) -> Automaton:
        """The automaton over atoms alone."""
        bits = self._bits(automaton)
        if not bits:
            return automaton
        return _Remembering(self._diagrams, self._atoms, self._updates(bits), self._delayed(bits), self._budget).of(
            automaton, [self.levels[f] for f in bits]
        )

    def _bits(self, automaton: Automaton) -> list[int]:
        """The past operators that an automaton tests, and those inside."""
        operators = {level: f for f, level in self.levels.items()}
        waiting = [operators[level] for level in automaton.atoms if level in operators]
        found: set[int] = set()
        seen: set[int] = set()
        while waiting:
            f = waiting.pop() & ~1
            if f not in seen:
                seen.add(f)
                waiting += self._operands(f)
                if f in self.levels:
                    found.add(f)
        return sorted(found)

    def _operands(self, f: int) -> tuple[int, ...]:
        return () if self._formulas.kinds[f >> 1] is Kind.ATOM else self._formulas.operands[f >> 1]

    def _updates(self, bits: list[int]) -> list[int]:
        """The diagram of the next value of each bit, over atoms and present values."""
        kinds, operands = self._formulas.kinds, self._formulas.operands
        return [self._value(operands[f >> 1][0] if kinds[f >> 1] is Kind.BEFORE else f) for f in bits]

    def _delayed(self, bits: list[int]) -> list[bool]:
        """Whether the value of an operator is its bit before the label, not after it."""
        return [self._formulas.kinds[f >> 1] is Kind.BEFORE for f in bits]

    def _value(self, f: int) -> int:
        diagrams = self._diagrams
        if f & 1:
            return diagrams.negation(self._value(f ^ 1))
        found = self._values.get(f)
        if found is not None:
            return found
        kind, operands = self._formulas.kinds[f >> 1], self._formulas.operands[f >> 1]
        match kind:
            case Kind.TRUE:
                found = 1
            case Kind.ATOM:
                found = diagrams.variable(operands[0])
            case Kind.AND:
                found = 1
                for g in operands:
                    found = diagrams.both(found, self._value(g))
            case Kind.SAME:
                a, b = map(self._value, operands)
                found = diagrams.choice(a, b, diagrams.negation(b))
            case Kind.BEFORE:
                found = diagrams.variable(self.levels[f])
            case Kind.SINCE:
                left, right = map(self._value, operands)
                found = diagrams.either(right, diagrams.both(left, diagrams.variable(self.levels[f])))
            case _:
                raise AssertionError("the parser lets no future operator into a past one")
        self._values[f] = found
        return found


class _Remembering:
    """States are pairs: a state of the automaton, and the bits."""

    def __init__(
        self, diagrams: Diagrams, atoms: int, updates: list[int], delayed: list[bool], budget: Allowance
    ) -> None:
        self._diagrams = diagrams
        self._atoms = atoms
        self._updates = updates
        self._delayed = delayed
        self._budget = budget

    def of(self, automaton: Automaton, levels: Sequence[int]) -> Automaton:
        """The automaton of the pairs; `levels` are those of the bits."""
        budget = self._budget
        result = Automaton()
        bit_of = {level: i for i, level in enumerate(levels)}
        numbers: dict[tuple[int, tuple[int, ...]], int] = {}
        waiting: list[tuple[int, tuple[int, ...]]] = []
        atoms: set[int] = set()

        def state(s: int, bits: tuple[int, ...]) -> int:
            if s < 2:
                return s
            number = numbers.get((s, bits))
            if number is None:
                number = numbers[s, bits] = len(numbers) + 2
                waiting.append((s, bits))
                budget.check(len(result.levels), number)
            return number

        def joined(x: int, bits: tuple[int, ...], before: tuple[int, ...], known: dict[tuple[int, ...], int]) -> int:
            key = (x, *bits)
            found = known.get(key)
            if found is not None:
                return found
            level = min(self._level(automaton.levels, x), *(self._level(self._diagrams.levels, b) for b in bits))
            if level == self._atoms:
                while x >= 0:
                    i = bit_of[automaton.levels[x]]
                    value = before[i] if self._delayed[i] else bits[i]
                    x = automaton.highs[x] if value else automaton.lows[x]
                found = ~(2 * state(~x >> 1, bits) + (~x & 1))
            else:
                is_here = x >= 0 and automaton.levels[x] == level
                low = joined(automaton.lows[x] if is_here else x, self._half(bits, level, 0), before, known)
                high = joined(automaton.highs[x] if is_here else x, self._half(bits, level, 1), before, known)
                found = low
                if low != high:
                    found = len(result.levels)
                    result.levels.append(level)
                    result.lows.append(low)
                    result.highs.append(high)
                    atoms.add(level)
            known[key] = found
            return found

        result.initial = state(automaton.initial, (0,) * len(levels))
        done = 0
        while done < len(waiting):
            s, before = waiting[done]
            after = self._restricted(dict(zip(levels, before, strict=True)))
            result.roots.append(joined(automaton.roots[s], after, before, {}))
            done += 1
        result.atoms = frozenset(atoms)
        return result

    def _level(self, levels: list[int], x: int) -> int:
        return self._atoms if x < 0 else min(levels[x], self._atoms)

    def _half(self, bits: tuple[int, ...], level: int, side: int) -> tuple[int, ...]:
        diagrams = self._diagrams
        children = diagrams.highs if side else diagrams.lows
        return tuple(children[b] if diagrams.levels[b] == level else b for b in bits)

    def _restricted(self, values: dict[int, int]) -> tuple[int, ...]:
        """The updates of the bits, given their present values."""
        diagrams = self._diagrams
        known = {0: 0, 1: 1}

        def restricted(x: int) -> int:
            found = known.get(x)
            if found is None:
                level = diagrams.levels[x]
                if level in values:
                    found = restricted(diagrams.highs[x] if values[level] else diagrams.lows[x])
                else:
                    found = diagrams.node(level, restricted(diagrams.lows[x]), restricted(diagrams.highs[x]))
                known[x] = found
            return found

        return tuple(map(restricted, self._updates))
