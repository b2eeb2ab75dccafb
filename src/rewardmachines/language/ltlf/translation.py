"""From LTLf to the smallest automaton.

A formula is a number of a `Formulas`: twice the number of its operator, plus one if it is negated. The automaton of
a formula without structure on top is read from its diagram, in which atoms are tested first, then whether this is the
last position (`end`), then one variable for each subformula that may have to hold next: what is left below `end` is
the next state. All else is composed, smallest partners that share most atoms first, and minimized after each product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from rewardmachines.language.ltlf.diagrams import (
    ANYTHING,
    NOTHING,
    Automaton,
    Budget,
    Diagrams,
    Operation,
    automaton_of,
    later,
    minimal,
    product,
)
from rewardmachines.language.ltlf.syntax import Item, Next, ParsedFormula

TRUE: Final = 0
FALSE: Final = 1


class Kind(Enum):
    """The operators that are left when all others are written with them."""

    TRUE = "true"
    ATOM = "atom"
    AND = "and"
    SAME = "same"
    NEXT = "next"
    """There is a next position, and it satisfies the operand."""
    UNTIL = "until"


class Formulas:
    """Formulas, each once, so that equal ones are the same number."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = [Kind.TRUE]
        self.operands: list[tuple[int, ...]] = [()]
        self.is_temporal: list[bool] = [False]
        """Whether there is a temporal operator in it."""
        self._numbers: dict[tuple[Kind, tuple[int, ...]], int] = {}

    def _formula(self, kind: Kind, operands: tuple[int, ...]) -> int:
        key = (kind, operands)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.kinds)
            self.kinds.append(kind)
            self.operands.append(operands)
            inner = kind is not Kind.ATOM and any(self.is_temporal[f >> 1] for f in operands)
            self.is_temporal.append(inner or kind in (Kind.NEXT, Kind.UNTIL))
        return 2 * number

    def atom(self, level: int) -> int:
        """The atom that is tested at this level."""
        return self._formula(Kind.ATOM, (level,))

    def all_of(self, operands: Iterable[int]) -> int:
        """The conjunction."""
        parts: dict[int, None] = {}
        for f in operands:
            if f & 1 == 0 and self.kinds[f >> 1] is Kind.AND:
                parts.update(dict.fromkeys(self.operands[f >> 1]))
            else:
                parts[f] = None
        parts.pop(TRUE, None)
        if FALSE in parts or any(f ^ 1 in parts for f in parts):
            return FALSE
        if len(parts) < 2:
            return next(iter(parts), TRUE)
        return self._formula(Kind.AND, tuple(sorted(parts)))

    def any_of(self, operands: Iterable[int]) -> int:
        """The disjunction."""
        return self.all_of(f ^ 1 for f in operands) ^ 1

    def same(self, f: int, g: int) -> int:
        """The equivalence."""
        sign = (f ^ g) & 1
        f, g = sorted((f & ~1, g & ~1))
        if f == TRUE:
            return g ^ sign
        if f == g:
            return TRUE ^ sign
        return self._formula(Kind.SAME, (f, g)) ^ sign

    def next(self, f: int) -> int:
        """The strong next."""
        return FALSE if f == FALSE else self._formula(Kind.NEXT, (f,))

    def until(self, f: int, g: int) -> int:
        """The formula that g comes, and f holds until then."""
        if g in (TRUE, FALSE) or f in (FALSE, g):
            return g
        if f == TRUE and not g & 1 and self.kinds[g >> 1] is Kind.UNTIL and self.operands[g >> 1][0] == TRUE:
            return g
        return self._formula(Kind.UNTIL, (f, g))

    def of(self, items: Sequence[Item], atoms: Mapping[str, int], reading: Next) -> int:
        """The formula of a postfix form, in which `atoms` are the levels of names."""
        stack: list[int] = []
        for item in items:
            kind = item.kind
            if kind == "name":
                stack.append(self.atom(atoms[item.text]))
            elif kind in _CONSTANTS:
                stack.append(self.next(TRUE) ^ 1 if kind == "last" else _CONSTANTS[kind])
            elif kind in _UNARY:
                stack.append(self._unary(kind, stack.pop(), reading))
            else:
                right, left = stack.pop(), stack.pop()
                stack.append(self._binary(kind, left, right))
        return stack.pop()

    def _unary(self, kind: str, f: int, reading: Next) -> int:
        match kind:
            case "!":
                return f ^ 1
            case "F":
                return self.until(TRUE, f)
            case "G":
                return self.until(TRUE, f ^ 1) ^ 1
        is_strong = kind == "X[!]" or (kind == "X" and reading is Next.STRONG)
        return self.next(f) if is_strong else self.next(f ^ 1) ^ 1

    def _binary(self, kind: str, f: int, g: int) -> int:
        match kind:
            case "&":
                return self.all_of((f, g))
            case "|":
                return self.any_of((f, g))
            case "->":
                return self.any_of((f ^ 1, g))
            case "<->":
                return self.same(f, g)
            case "U":
                return self.until(f, g)
            case "R":
                return self.until(f ^ 1, g ^ 1) ^ 1
            case "W":
                return self.until(g ^ 1, self.all_of((f ^ 1, g ^ 1))) ^ 1
        return self.until(g, self.all_of((f, g)))  # M


def ltlf_automaton(parsed: ParsedFormula, atoms: Mapping[str, int], reading: Next, budget: Budget) -> Automaton:
    """The smallest automaton of a formula; `atoms` are the levels of its names."""
    formulas = Formulas()
    return Translation(formulas, len(atoms), budget).automaton(formulas.of(parsed.items, atoms, reading))


_CONSTANTS: Final = {"true": TRUE, "false": FALSE, "last": -1}
_UNARY: Final = frozenset({"!", "F", "G", "X", "X[!]", "WX"})


class Translation:
    """The automata of the parts of one formula."""

    def __init__(self, formulas: Formulas, atoms: int, budget: Budget) -> None:
        self._formulas = formulas
        self._atoms = atoms
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
        if kind is Kind.NEXT:
            return minimal(later(self.automaton(operands[0] ^ negated), if_last=bool(negated)), self._budget)
        left, right = operands
        # f U (g | h) is (f U g) | (f U h), and (f & g) U h is (f U h) & (g U h).
        if right & 1 and formulas.kinds[right >> 1] is Kind.AND:
            parts = [self.automaton(formulas.until(left, g ^ 1) ^ negated) for g in formulas.operands[right >> 1]]
            return self._joined(parts, Operation.AND if negated else Operation.OR)
        return self._direct(f)

    def _joined(self, parts: list[Automaton], operation: Operation) -> Automaton:
        """The product of all, two at a time: those that share most atoms first, small ones before large ones."""
        neutral = ANYTHING if operation is Operation.AND else NOTHING
        absorbing = NOTHING if operation is Operation.AND else ANYTHING
        parts = [part for part in parts if part.initial > 1 or part.roots[part.initial] != neutral]
        while len(parts) > 1:
            i, j = self._next_pair(parts)
            both = minimal(product(parts[i], parts[j], operation, self._budget), self._budget)
            if both.initial < 2 and both.roots[both.initial] == absorbing:
                return both
            del parts[j]
            parts[i] = both
        if parts:
            return parts[0]
        constant = Automaton()
        constant.initial = 1 if neutral == ANYTHING else 0
        return constant

    def _next_pair(self, parts: list[Automaton]) -> tuple[int, int]:
        best, pair = None, (0, 1)
        for i in range(len(parts)):
            for j in range(i + 1, len(parts)):
                a, b = parts[i], parts[j]
                shared = len(a.atoms & b.atoms)
                score = (-shared / max(1, min(len(a.atoms), len(b.atoms))), a.size * b.size)
                if best is None or score < best:
                    best, pair = score, (i, j)
        return pair

    def _direct(self, f: int) -> Automaton:
        return minimal(_Direct(self._formulas, self._atoms, self._budget).automaton(f), self._budget)


class _Direct:
    """One formula as diagrams over atoms, `end` and subformulas of the next position."""

    def __init__(self, formulas: Formulas, atoms: int, budget: Budget) -> None:
        self._formulas = formulas
        self._budget = budget
        self._diagrams = Diagrams(budget)
        self._end = atoms
        self._goes_on = self._diagrams.node(atoms, 1, 0)
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

    def _now_of(self, f: int) -> int:
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
