"""Label expressions of the Hanoi Omega-Automata format, as formulas in disjunctive normal form.

A disjunction is of conjunctions, these are of negations, and a negation, with any number of `!`, is of the number of a
proposition, an alias, `t`, `f` or a disjunction in parentheses.
"""

from __future__ import annotations

from typing import Final

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import FALSE, TRUE, Formula, absorbed, conjunction
from rewardmachines.exchange.hoa_tokens import HoaToken, Tokens

MAX_DEPTH: Final = 60
MAX_WORK: Final = 10_000_000
"""The largest number of literals that one text may expand to: products of disjunctions make short texts very large."""
_WORTH_ABSORBING: Final = 64


class LabelExpressions:
    """Reads label expressions from where the tokens stand.

    An expression is read for its truth or for its falsity: `!` changes sides, and falsity turns `&` into `|`.
    """

    def __init__(self, tokens: Tokens, propositions: tuple[str, ...]) -> None:
        self._tokens = tokens
        self._propositions = propositions
        self._aliases: dict[str, tuple[Formula | None, Formula | None]] = {}
        self._depth = 0
        self._work = 0

    def define(self, alias: HoaToken) -> None:
        """Reads what an alias stands for, both ways; None where that would be too large to be used."""
        if alias.text in self._aliases:
            raise self._tokens.problem(f"the alias {alias.text} is defined twice: rename one", alias)
        first = self._tokens.token
        falsity = self._read_if_small(positive=False)
        self._tokens.go_back(first)
        self._aliases[alias.text] = (falsity, self._read_if_small(positive=True))

    def read(self) -> Formula:
        """Reads the label expression that comes next."""
        return self._disjunction(positive=True)

    def _read_if_small(self, *, positive: bool) -> Formula | None:
        try:
            return self._disjunction(positive=positive)
        except TooLargeError:
            while not self._tokens.token.kind.startswith(("header", "--", "end")):
                self._tokens.take(self._tokens.token.kind)
            self._depth = 0
            return None

    def _disjunction(self, *, positive: bool) -> Formula:
        parts = [self._conjunction(positive=positive)]
        while self._tokens.take("|"):
            parts.append(self._conjunction(positive=positive))
        return self._any(parts) if positive else self._all(parts)

    def _conjunction(self, *, positive: bool) -> Formula:
        parts = [self._negation(positive=positive)]
        while self._tokens.take("&"):
            parts.append(self._negation(positive=positive))
        return self._all(parts) if positive else self._any(parts)

    def _negation(self, *, positive: bool) -> Formula:
        while self._tokens.take("!"):
            positive = not positive
        return self._atom(positive=positive)

    def _atom(self, *, positive: bool) -> Formula:
        token = self._tokens.token
        if token.kind == "int":
            return self._literal(positive=positive)
        if self._tokens.take("alias"):
            return self._meaning(token, positive=positive)
        if token.text in ("t", "f"):
            self._tokens.take("identifier")
            return TRUE if (token.text == "t") == positive else FALSE
        if self._tokens.take("("):
            return self._parenthesis(positive=positive)
        raise self._tokens.unexpected("the number of a proposition, an alias such as '@a', 't', 'f', '!' or '('")

    def _literal(self, *, positive: bool) -> Formula:
        token = self._tokens.token
        number = self._tokens.number("the number of a proposition")
        if number >= len(self._propositions):
            declared = f"AP: declares {len(self._propositions)}, counted from 0"
            raise self._tokens.problem(f"there is no proposition {number}: {declared}", token)
        name = self._propositions[number]
        return conjunction({name}) if positive else conjunction((), {name})

    def _meaning(self, alias: HoaToken, *, positive: bool) -> Formula:
        if alias.text not in self._aliases:
            definition = f"Alias: {alias.text} ..."
            raise self._tokens.problem(f"this alias is not defined before: write '{definition}' in the header", alias)
        meaning = self._aliases[alias.text][positive]
        if meaning is None:
            raise TooLargeError(f"HOA, line {alias.line}: the alias {alias.text} stands for too large a formula")
        return meaning

    def _parenthesis(self, *, positive: bool) -> Formula:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._tokens.problem(f"parentheses are nested more than {MAX_DEPTH} deep: define an alias")
        formula = self._disjunction(positive=positive)
        self._tokens.expect(")", "')'")
        self._depth -= 1
        return formula

    def _any(self, parts: list[Formula]) -> Formula:
        if len(parts) == 1:
            return parts[0]
        self._charge(sum(len(part.disjuncts) for part in parts))
        return Formula(frozenset().union(*(part.disjuncts for part in parts)))

    def _all(self, parts: list[Formula]) -> Formula:
        if len(parts) == 1:
            return parts[0]
        single = [part for part in parts if len(part.disjuncts) == 1]
        self._charge(sum(map(_weight, single)))
        result = _both(single)
        for part in parts:
            if len(part.disjuncts) != 1:
                result = self._product(result, part)
        return result

    def _product(self, a: Formula, b: Formula) -> Formula:
        self._charge(_weight(a) * len(b.disjuncts) + _weight(b) * len(a.disjuncts))
        result = a & b
        if len(result.disjuncts) > _WORTH_ABSORBING:
            return result
        self._charge(_weight(result) * len(result.disjuncts))
        return absorbed(result)

    def _charge(self, work: int) -> None:
        self._work += work
        if self._work > MAX_WORK:
            line = self._tokens.token.line
            raise TooLargeError(f"HOA, line {line}: up to here, the labels have too many disjuncts: simplify them")


def _weight(formula: Formula) -> int:
    return sum(1 + len(d.required) + len(d.forbidden) for d in formula.disjuncts)


def _both(parts: list[Formula]) -> Formula:
    """The conjunction of formulas of one disjunct each, in one go: it may be thousands."""
    only = [next(iter(part.disjuncts)) for part in parts]
    required = frozenset().union(*(c.required for c in only))
    forbidden = frozenset().union(*(c.forbidden for c in only))
    return FALSE if required & forbidden else conjunction(required, forbidden)
