"""From the text of an LTLf formula to its postfix form.

equivalence = implication { "<->" implication }
implication = disjunction [ "->" implication ]
disjunction = conjunction { "|" conjunction }
conjunction = until { "&" until }
until       = unary [ ( "U" | "R" | "W" | "M" | "S" ) until ]
unary       = ( "!" | "X" | "X[!]" | "WX" | "F" | "G" | "Y" | "H" | "O" ) unary | atom
atom        = name | "true" | "false" | "last" | "(" equivalence ")"

The parser keeps its own stack, so that no nesting of parentheses is too deep for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from rewardmachines.core.errors import RewardMachineError, SyntaxProblem
from rewardmachines.core.text import Scanner, Token

FUTURE_UNARY: Final = frozenset({"X", "X[!]", "WX", "F", "G"})
PAST_UNARY: Final = frozenset({"Y", "H", "O"})
FUTURE_BINARY: Final = frozenset({"U", "R", "W", "M"})
KEYWORDS: Final = frozenset({"X", "WX", "F", "G", "U", "R", "W", "M", "Y", "H", "O", "S", "last"})
"""Names that are operators: propositions of such a name go in double quotes."""

MAX_DEPTH: Final = 200
"""Operators nested deeper than this are refused; `&` and `|` in a chain count once."""

_UNARY: Final = FUTURE_UNARY | PAST_UNARY | {"!"}
_STRENGTHS: Final = {"<->": 1, "->": 2, "|": 3, "&": 4, "U": 5, "R": 5, "W": 5, "M": 5, "S": 5}
_FROM_THE_RIGHT: Final = frozenset({"->", "U", "R", "W", "M", "S"})


class Next(Enum):
    """The reading of a bare `X` at the last position: STRONG is false there, as in LTLf2DFA, WEAK true, as in TLSF."""

    STRONG = "strong"
    WEAK = "weak"


@dataclass(frozen=True, slots=True)
class Item:
    """A name, a constant or an operator; the operands of an operator come before it."""

    kind: str
    """"name", "true", "false", "last", or the operator."""
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class ParsedFormula:
    """A formula in postfix form.

    A formula without future operators is judged at the last position of a trace, any other at the first. In one that
    mixes both, past operators stand inside future ones, and future operators not inside past ones.
    """

    items: tuple[Item, ...]
    text: str
    names: tuple[str, ...]
    """In the order in which they are mentioned."""
    is_past: bool
    """Whether there are past operators and no future ones."""

    @property
    def has_bare_next(self) -> bool:
        """Whether there is an `X` whose reading must be chosen."""
        return any(item.kind == "X" for item in self.items)


def next_of(reading: Next | str | None) -> Next | None:
    """The reading of that name."""
    try:
        return None if reading is None else Next(reading)
    except ValueError:
        raise RewardMachineError(f"next is 'strong' or 'weak', not {reading!r}") from None


def parse_ltlf(text: str, description: str = "LTLf formula") -> ParsedFormula:
    """The postfix form of a text; `description` says in messages whose text it is."""
    scanner = Scanner(text, description, KEYWORDS)
    items = _Parser(scanner).items()
    _check_nesting(items, scanner)
    names = tuple(dict.fromkeys(item.text for item in items if item.kind == "name"))
    past = {item.kind for item in items} & (PAST_UNARY | {"S"})
    future = {item.kind for item in items} & (FUTURE_UNARY | FUTURE_BINARY | {"last"})
    return ParsedFormula(tuple(items), text, names, is_past=bool(past) and not future)


class _Parser:
    """Operators wait on a stack until those that bind tighter have got their operands."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._waiting: list[Item] = []
        self._done: list[Item] = []

    def items(self) -> list[Item]:
        while True:
            self._operand()
            while closing := self._scanner.take(")"):
                self._close(closing)
            token = self._scanner.take(*_STRENGTHS)
            if token is None:
                break
            self._binary(token)
        if self._scanner.token.kind != "end":
            is_open = any(item.kind == "(" for item in self._waiting)
            raise self._scanner.unexpected("an operator or ')'" if is_open else "an operator or the end")
        while self._waiting:
            item = self._waiting.pop()
            if item.kind == "(":
                raise self._scanner.problem("this '(' is not closed", item.position)
            self._done.append(item)
        return self._done

    def _operand(self) -> None:
        while token := self._scanner.take(*_UNARY, "("):
            kind = self._strong(token) if token.kind == "X" else token.kind
            self._waiting.append(Item(kind, token.text, token.position))
        found = self._scanner.take("name", "true", "false", "last")
        if found is None:
            raise self._scanner.unexpected("a proposition, 'true', 'false', 'last', '!', '(' or a temporal operator")
        self._done.append(Item(found.kind, found.text, found.position))
        self._finish_unary()

    def _strong(self, token: Token) -> str:
        """`X`, or `X[!]` if that follows."""
        if not self._scanner.take("["):
            return token.kind
        self._scanner.expect("!", "'!', as in X[!]")
        self._scanner.expect("]", "']', as in X[!]")
        return "X[!]"

    def _finish_unary(self) -> None:
        while self._waiting and self._waiting[-1].kind in _UNARY:
            self._done.append(self._waiting.pop())

    def _binary(self, token: Token) -> None:
        strength = _STRENGTHS[token.kind]
        while self._waiting and (other := _STRENGTHS.get(self._waiting[-1].kind)) is not None:
            if other < strength or (other == strength and token.kind in _FROM_THE_RIGHT):
                break
            self._done.append(self._waiting.pop())
        self._waiting.append(Item(token.kind, token.text, token.position))

    def _close(self, closing: Token) -> None:
        while self._waiting:
            item = self._waiting.pop()
            if item.kind == "(":
                self._finish_unary()
                return
            self._done.append(item)
        raise self._scanner.problem("this ')' closes nothing", closing.position)


@dataclass(frozen=True, slots=True)
class _Nesting:
    """What is known of an operand: its depth, its last operator, and where past and future operators stand in it."""

    depth: int = 0
    kind: str = ""
    past: int | None = None
    """The position of a past operator that stands in no future operator."""
    future: int | None = None
    """The position of a future operator."""


def _check_nesting(items: list[Item], scanner: Scanner) -> None:
    """Refuses what is nested too deeply, and mixtures of past and future whose meaning would not be plain."""
    stack: list[_Nesting] = []
    for item in items:
        if item.kind in ("name", "true", "false"):
            stack.append(_Nesting())
        elif item.kind == "last":
            stack.append(_Nesting(future=item.position))
        else:
            operands = [stack.pop() for _ in range(2 if item.kind in _STRENGTHS else 1)]
            stack.append(_nested(item, operands, scanner))
    whole = stack.pop()
    if whole.past is not None and whole.future is not None:
        raise scanner.problem(
            "a past operator beside future ones: at the first position nothing lies in the past; put it inside a "
            "future operator, as in G(b -> O a) or F(last & O a)",
            whole.past,
        )


def _nested(item: Item, operands: list[_Nesting], scanner: Scanner) -> _Nesting:
    grows = 0 if item.kind in ("&", "|") else 1
    depth = max(o.depth + (grows or int(o.kind != item.kind)) for o in operands)
    if depth > MAX_DEPTH:
        raise _too_deep(item, scanner)
    past = next((o.past for o in operands if o.past is not None), None)
    future = next((o.future for o in operands if o.future is not None), None)
    if item.kind in PAST_UNARY or item.kind == "S":
        if future is not None:
            raise scanner.problem("a future operator inside a past one: only the other way round is read", future)
        past = item.position
    elif item.kind in FUTURE_UNARY | FUTURE_BINARY:
        past, future = None, item.position
    return _Nesting(depth, item.kind, past, future)


def _too_deep(item: Item, scanner: Scanner) -> SyntaxProblem:
    return scanner.problem(f"operators nested more than {MAX_DEPTH} deep", item.position)
