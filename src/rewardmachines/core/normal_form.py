"""Formulas as they are written, and how they become disjunctive normal forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import FALSE, MAX_DISJUNCTS, Formula, absorbed, conjunction


@dataclass(frozen=True, slots=True)
class Atom:
    """A proposition."""

    name: str


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    operand: Tree


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction; of nothing, it is true."""

    operands: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction; of nothing, it is false."""

    operands: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Same:
    """An equivalence."""

    left: Tree
    right: Tree


Tree: TypeAlias = "Atom | Not | AllOf | AnyOf | Same"


def normal_form(tree: Tree) -> Formula:
    """The formula in disjunctive normal form; contradictory disjuncts drop out.

    Raises:
        TooLargeError: If it would have too many disjuncts, or take too long to find.
    """
    try:
        return _NormalForms().of(tree, positive=True)
    except RecursionError:
        raise TooLargeError("the formula is nested too deeply: split it over several edges or states") from None


class _NormalForms:
    """Disjunctive normal forms of the parts of one formula.

    Each part is worked out once: an equivalence needs both of its sides twice, as they are and negated.
    """

    def __init__(self) -> None:
        self._done: dict[tuple[int, bool], Formula] = {}
        self._work = 0

    def of(self, tree: Tree, *, positive: bool) -> Formula:
        """The tree, or its negation, in disjunctive normal form."""
        # By identity: to compare or hash the trees would take as long as what is saved.
        key = (id(tree), positive)
        if key not in self._done:
            self._done[key] = self._worked_out(tree, positive)
        return self._done[key]

    def _worked_out(self, tree: Tree, positive: bool) -> Formula:
        match tree:
            case Atom(name):
                return conjunction({name}) if positive else conjunction((), {name})
            case Not(operand):
                return self.of(operand, positive=not positive)
            case Same(left, right):
                both = [self.of(left, positive=True), self.of(right, positive=positive)]
                neither = [self.of(left, positive=False), self.of(right, positive=not positive)]
                return _union([self._product(both), self._product(neither)])
            case AllOf(operands) | AnyOf(operands):
                parts = list(dict.fromkeys(self.of(operand, positive=positive) for operand in operands))
                return self._product(parts) if isinstance(tree, AllOf) == positive else _union(parts)

    def _product(self, parts: list[Formula]) -> Formula:
        result = _literals([part for part in parts if len(part.disjuncts) == 1])
        for part in parts:
            if len(part.disjuncts) != 1:
                self._spend(len(result.disjuncts) * len(part.disjuncts))
                result = result & part
                if len(result.disjuncts) <= _WORTH_ABSORBING:
                    self._spend(len(result.disjuncts) ** 2 // 8)
                    result = absorbed(result)
        return result

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > _MAX_WORK:
            raise TooLargeError(
                f"it takes more than {_MAX_WORK:,} steps to write the formula as a disjunction of at most "
                f"{MAX_DISJUNCTS:,} disjuncts: split it over several edges or states"
            )


def _literals(parts: list[Formula]) -> Formula:
    """The conjunction of formulas of one disjunct each, in one go: it may be thousands."""
    only = [next(iter(part.disjuncts)) for part in parts]
    required = frozenset().union(*(c.required for c in only))
    forbidden = frozenset().union(*(c.forbidden for c in only))
    return FALSE if required & forbidden else conjunction(required, forbidden)


def _union(parts: list[Formula]) -> Formula:
    disjuncts = frozenset().union(*(part.disjuncts for part in parts))
    if len(disjuncts) > MAX_DISJUNCTS:
        raise TooLargeError(f"the formula would have more than {MAX_DISJUNCTS:,} disjuncts")
    return Formula(disjuncts)


_WORTH_ABSORBING: Final = 256
_MAX_WORK: Final = 1_000_000
