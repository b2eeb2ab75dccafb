"""Labels, and the formulas in disjunctive normal form that they satisfy (Section 2 of the paper)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, TypeAlias

from rewardmachines.core.errors import ContradictionError, TooLargeError

Label: TypeAlias = frozenset[str]
"""The propositions observed together; all others are false."""


class Bottom(Enum):
    """The type of `BOT`, apart from labels so that it can never be mistaken for the empty one."""

    BOT = "⊥"


BOT: Final = Bottom.BOT
"""The label of the step after a return: it satisfies no formula, not even `true`."""

Observation: TypeAlias = Label | Literal[Bottom.BOT]

MAX_DISJUNCTS: Final = 20_000
"""Formulas with more disjuncts than this are refused rather than left to exhaust the memory."""

PLAIN_NAME: Final = re.compile(r"\w+(?:[.\-]\w+)*")
RESERVED: Final = frozenset({"true", "false", "and", "or", "not", "avoid"})


def quote(name: str) -> str:
    """The name as formulas and tasks spell it: bare if it is plain, in double quotes otherwise."""
    if PLAIN_NAME.fullmatch(name) and name not in RESERVED:
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Propositions that must, and must not, be observed together.

    Invariant: `required` and `forbidden` are disjoint. Empty, it is true of every label.
    """

    required: Label = frozenset()
    forbidden: Label = frozenset()

    def __post_init__(self) -> None:
        if clash := self.required & self.forbidden:
            raise ContradictionError(f"{', '.join(sorted(clash))}: both required and forbidden")

    @property
    def propositions(self) -> Label:
        """The propositions that it mentions."""
        return self.required | self.forbidden

    def holds(self, label: Observation) -> bool:
        """Whether a label satisfies the conjunction."""
        return label is not BOT and self.required <= label and self.forbidden.isdisjoint(label)

    def contradicts(self, other: Conjunction) -> bool:
        """Whether no label satisfies both conjunctions."""
        return not (self.required.isdisjoint(other.forbidden) and self.forbidden.isdisjoint(other.required))

    def subsumes(self, other: Conjunction) -> bool:
        """Whether every label that satisfies `other` satisfies this one too."""
        return self.required <= other.required and self.forbidden <= other.forbidden

    def __str__(self) -> str:
        literals = [quote(p) for p in sorted(self.required)] + ["!" + quote(p) for p in sorted(self.forbidden)]
        return " & ".join(literals) or "true"


@dataclass(frozen=True, slots=True)
class Formula:
    """A disjunction of conjunctions. Without any, it is false; the order of writing does not matter."""

    disjuncts: frozenset[Conjunction] = frozenset()

    @property
    def propositions(self) -> Label:
        """The propositions that it mentions."""
        return frozenset().union(*(d.propositions for d in self.disjuncts))

    @property
    def is_true(self) -> bool:
        """Whether the formula is *written* as true; a tautology such as `a | !a` is not."""
        return _EMPTY in self.disjuncts

    @property
    def is_false(self) -> bool:
        """Whether the formula has no disjuncts, so that no label satisfies it."""
        return not self.disjuncts

    def holds(self, label: Observation) -> bool:
        """Whether a label satisfies the formula."""
        return any(d.holds(label) for d in self.disjuncts)

    def satisfied(self, label: Observation) -> Formula:
        """The disjuncts that the label satisfies: φ(L) in the paper."""
        return Formula(frozenset(d for d in self.disjuncts if d.holds(label)))

    def ordered(self) -> list[Conjunction]:
        """The disjuncts, short ones first, positive ones before negative ones."""
        if len(self.disjuncts) < 2:
            return list(self.disjuncts)
        return sorted(self.disjuncts, key=lambda d: (len(d.required) + len(d.forbidden), len(d.forbidden), str(d)))

    def __and__(self, other: Formula) -> Formula:
        """DNF(self ∧ other); pairs of disjuncts that contradict each other drop out."""
        if len(self.disjuncts) * len(other.disjuncts) > MAX_DISJUNCTS * 10:
            raise TooLargeError(f"the formula would have more than {MAX_DISJUNCTS:,} disjuncts")
        product = frozenset(
            Conjunction(a.required | b.required, a.forbidden | b.forbidden)
            for a in self.disjuncts
            for b in other.disjuncts
            if not a.contradicts(b)
        )
        return _bounded(product)

    def __or__(self, other: Formula) -> Formula:
        return _bounded(self.disjuncts | other.disjuncts)

    def __str__(self) -> str:
        if self.is_false:
            return "false"
        if len(self.disjuncts) == 1:
            return str(next(iter(self.disjuncts)))
        return " | ".join(f"({d})" if len(d.propositions) > 1 else str(d) for d in self.ordered())

    def __repr__(self) -> str:
        return f"<{self}>"


def _bounded(disjuncts: frozenset[Conjunction]) -> Formula:
    if len(disjuncts) > MAX_DISJUNCTS:
        raise TooLargeError(f"the formula would have more than {MAX_DISJUNCTS:,} disjuncts")
    return Formula(disjuncts)


_EMPTY: Final = Conjunction()
FALSE: Final = Formula()
TRUE: Final = Formula(frozenset({_EMPTY}))


def conjunction(required: Iterable[str] = (), forbidden: Iterable[str] = ()) -> Formula:
    """A formula of one disjunct."""
    return Formula(frozenset({Conjunction(frozenset(required), frozenset(forbidden))}))


def absorbed(formula: Formula) -> Formula:
    """The formula without the disjuncts that another one subsumes: `a | a & b` becomes `a`."""
    kept: list[Conjunction] = []
    for disjunct in formula.ordered():
        if not any(k.subsumes(disjunct) for k in kept):
            kept.append(disjunct)
    return Formula(frozenset(kept))
