"""From LTLf to the smallest automaton.

The automaton of a formula without structure on top is read from its diagram, in which atoms are tested first, then
whether this is the last position (`end`), then one variable for each subformula that may have to hold next: what is
left below `end` is the next state. All else is composed, two partners at a time, and minimized after each product.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import combinations

from rewardmachines.language.ltlf.diagrams import (
    ANYTHING,
    NOTHING,
    Allowance,
    Automaton,
    Diagrams,
    Operation,
    automaton_of,
    constant,
    later,
    minimal,
    product,
)
from rewardmachines.language.ltlf.formulas import TRUE, Formulas, Kind
from rewardmachines.language.ltlf.past import Past
from rewardmachines.language.ltlf.syntax import Next, ParsedFormula


def ltlf_automaton(parsed: ParsedFormula, atoms: Mapping[str, int], reading: Next, budget: Allowance) -> Automaton:
    """The smallest automaton of a formula; `atoms` are the levels of its names."""
    formulas = Formulas()
    formula = formulas.of(parsed.items, atoms, reading)
    if parsed.is_past:
        formula = formulas.until(TRUE, formulas.all_of((formula, formulas.next(TRUE) ^ 1)))
    return Translation(formulas, len(atoms), budget).automaton(formula)


class Translation:
    """The automata of the parts of one formula."""

    def __init__(self, formulas: Formulas, atoms: int, budget: Allowance) -> None:
        self._formulas = formulas
        self._past = Past(formulas, atoms, budget)
        self._budget = budget
        self._known: dict[int, Automaton] = {}

    def automaton(self, f: int) -> Automaton:
        """The smallest automaton of the formula."""
        found = self._known.get(f)
        if found is None:
            self._budget.check()
            found = self._known[f] = self._composed(f)
        return found

    def _composed(self, f: int) -> Automaton:
        formulas = self._formulas
        kind, operands = formulas.kinds[f >> 1], formulas.operands[f >> 1]
        negated = f & 1
        if not formulas.is_temporal[f >> 1]:
            return self._direct(f)
        if kind is Kind.AND:
            plain = [g for g in operands if not formulas.is_temporal[g >> 1]]
            others = [g for g in operands if formulas.is_temporal[g >> 1]]
            parts = [self.automaton(g ^ negated) for g in others]
            if plain:
                parts.append(self._direct(formulas.all_of(plain) ^ negated))
            return self._joined(parts, Operation.OR if negated else Operation.AND)
        if kind is Kind.SAME:
            a, b = (self.automaton(g) for g in (operands[0] ^ negated ^ 1, operands[1]))
            return minimal(product(a, b, Operation.XOR, self._budget), self._budget)
        if formulas.has_past[f >> 1] and kind is Kind.NEXT:  # what lies before counts
            return self._direct(f)
        if kind is Kind.NEXT:
            return minimal(later(self.automaton(operands[0] ^ negated), if_last=bool(negated)), self._budget)
        if kind is not Kind.UNTIL:
            return self._direct(f)
        left, right = operands
        # f U (g | h) is (f U g) | (f U h), and (f & g) U h is (f U h) & (g U h).
        if right & 1 and formulas.kinds[right >> 1] is Kind.AND:
            parts = [self.automaton(formulas.until(left, g ^ 1) ^ negated) for g in formulas.operands[right >> 1]]
            return self._joined(parts, Operation.AND if negated else Operation.OR)
        return self._direct(f)

    def _joined(self, parts: list[Automaton], operation: Operation) -> Automaton:
        """The product of all, two at a time."""
        neutral, absorbing = (ANYTHING, NOTHING) if operation is Operation.AND else (NOTHING, ANYTHING)
        kept = {i: part for i, part in enumerate(parts) if part.roots[part.initial] != neutral}
        if not kept:
            return constant(neutral)
        waiting = [(*_rank(kept[i], kept[j]), i, j) for i, j in combinations(kept, 2)]
        heapify(waiting)
        number = len(parts)
        while len(kept) > 1:
            *_, i, j = heappop(waiting)
            if i not in kept or j not in kept:
                continue
            both = minimal(product(kept.pop(i), kept.pop(j), operation, self._budget), self._budget)
            if both.roots[both.initial] == absorbing:
                return both
            for k, other in kept.items():
                heappush(waiting, (*_rank(other, both), k, number))
            kept[number] = both
            number += 1
        return next(iter(kept.values()))

    def _direct(self, f: int) -> Automaton:
        found = minimal(_Direct(self._formulas, self._past, self._budget).automaton(f), self._budget)
        if not self._formulas.has_past[f >> 1]:
            return found
        return minimal(self._past.remembered(found), self._budget)


def _rank(a: Automaton, b: Automaton) -> tuple[float, int]:
    """The rank of a product, which comes before those of higher rank: many shared atoms and few states are good."""
    shared = len(a.atoms & b.atoms)
    return (-shared / max(1, min(len(a.atoms), len(b.atoms))), a.size * b.size)


class _Direct:
    """One formula as diagrams over atoms, `end` and subformulas of the next position."""

    def __init__(self, formulas: Formulas, past: Past, budget: Allowance) -> None:
        self._formulas = formulas
        self._past = past
        self._budget = budget
        self._diagrams = Diagrams(budget)
        self._end = past.end
        self._goes_on = self._diagrams.node(past.end, 1, 0)
        self._now: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._variables: list[int] = []
        """The formula of each variable."""
        self._levels: dict[int, int] = {}

    def automaton(self, f: int) -> Automaton:
        """The automaton of the formula."""
        return automaton_of(
            self._diagrams,
            self._end,
            self._now_of(f),
            lambda level: self._now_of(self._variables[level - self._end - 1]),
            self._budget,
        )

    def _now_of(self, f: int) -> int:  # noqa: C901
        """The formula at the present position."""
        if f & 1:
            return self._diagrams.negation(self._now_of(f ^ 1))
        found = self._now.get(f)
        if found is not None:
            return found
        diagrams = self._diagrams
        kind, operands = self._formulas.kinds[f >> 1], self._formulas.operands[f >> 1]
        match kind:
            case Kind.TRUE:
                found = 1
            case Kind.ATOM:
                found = diagrams.variable(operands[0])
            case Kind.AND:
                found = 1
                for g in operands:
                    found = diagrams.both(found, self._now_of(g))
            case Kind.SAME:
                a, b = map(self._now_of, operands)
                found = diagrams.choice(a, b, diagrams.negation(b))
            case Kind.NEXT:
                found = diagrams.both(self._goes_on, self._next_of(operands[0]))
            case Kind.UNTIL:
                left, right = map(self._now_of, operands)
                stays = diagrams.both(left, diagrams.both(self._goes_on, self._next_of(f)))
                found = diagrams.either(right, stays)
            case Kind.BEFORE | Kind.SINCE:
                found = diagrams.variable(self._past.levels[f])
        self._now[f] = found
        return found

    def _next_of(self, f: int) -> int:
        """The formula at the next position, below `end`."""
        if f & 1:
            return self._diagrams.negation(self._next_of(f ^ 1))
        found = self._next.get(f)
        if found is not None:
            return found
        diagrams = self._diagrams
        kind, operands = self._formulas.kinds[f >> 1], self._formulas.operands[f >> 1]
        match kind:
            case Kind.TRUE:
                found = 1
            case Kind.AND:
                found = 1
                for g in operands:
                    found = diagrams.both(found, self._next_of(g))
            case Kind.SAME:
                a, b = map(self._next_of, operands)
                found = diagrams.choice(a, b, diagrams.negation(b))
            case Kind.UNTIL if self._is_temporal(operands[1]):
                found = diagrams.either(self._next_of(operands[1]), self._variable(f))
            case _:
                found = self._variable(f)
        self._next[f] = found
        return found

    def _is_temporal(self, f: int) -> bool:
        """Whether all that the formula says is said by temporal operators, so that it needs no variables of atoms."""
        kind, operands = self._formulas.kinds[f >> 1], self._formulas.operands[f >> 1]
        if kind in (Kind.AND, Kind.SAME):
            return all(self._is_temporal(g) for g in operands)
        return kind in (Kind.NEXT, Kind.UNTIL)

    def _variable(self, f: int) -> int:
        level = self._levels.get(f)
        if level is None:
            level = self._levels[f] = self._end + 1 + len(self._variables)
            self._variables.append(f)
        return self._diagrams.variable(level)
