"""LTLf formulas as numbers: equal ones are the same number, and most operators are written with a few.

A formula is twice the number of its operator, plus one if it is negated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

from rewardmachines.language.ltlf.syntax import Item, Next

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
    BEFORE = "before"
    """There is a position before, and it satisfies the operand."""
    SINCE = "since"


class Formulas:
    """Formulas, each once, so that equal ones are the same number."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = [Kind.TRUE]
        self.operands: list[tuple[int, ...]] = [()]
        self.is_temporal: list[bool] = [False]
        """Whether there is a temporal operator in it."""
        self.has_past: list[bool] = [False]
        """Whether there is a past operator in it."""
        self._numbers: dict[tuple[Kind, tuple[int, ...]], int] = {}

    def _formula(self, kind: Kind, operands: tuple[int, ...]) -> int:
        key = (kind, operands)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.kinds)
            self.kinds.append(kind)
            self.operands.append(operands)
            inner = () if kind is Kind.ATOM else operands
            is_past = kind in (Kind.BEFORE, Kind.SINCE)
            self.has_past.append(is_past or any(self.has_past[f >> 1] for f in inner))
            is_temporal = is_past or kind in (Kind.NEXT, Kind.UNTIL)
            self.is_temporal.append(is_temporal or any(self.is_temporal[f >> 1] for f in inner))
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

    def before(self, f: int) -> int:
        """The formula that there is a position before, which satisfies f."""
        return FALSE if f == FALSE else self._formula(Kind.BEFORE, (f,))

    def since(self, f: int, g: int) -> int:
        """The formula that g was true, and f after it."""
        return g if g in (TRUE, FALSE) or f in (FALSE, g) else self._formula(Kind.SINCE, (f, g))

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
            case "Y":
                return self.before(f)
            case "O":
                return self.since(TRUE, f)
            case "H":
                return self.since(TRUE, f ^ 1) ^ 1
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
            case "M":
                return self.until(g, self.all_of((f, g)))
        return self.since(f, g)


_CONSTANTS: Final = {"true": TRUE, "false": FALSE, "last": -1}
_UNARY: Final = frozenset({"!", "F", "G", "X", "X[!]", "WX", "Y", "O", "H"})
