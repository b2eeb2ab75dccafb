"""From text to formulas. The scanner also serves the task language.

formula  =  implication { "<->" implication }
implication = disjunction [ "->" implication ]
disjunction = conjunction { "|" conjunction }
conjunction = negation { "&" negation }
negation = { "!" } ( name | "true" | "false" | "(" formula ")" )
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from rewardmachines.core.errors import SyntaxProblem, TooLargeError
from rewardmachines.core.formula import FALSE, MAX_DISJUNCTS, Formula, absorbed, conjunction

MAX_CHARACTERS: Final = 100_000
MAX_DEPTH: Final = 60

_TOKEN: Final = re.compile(
    r"""\s*(?:
        (?P<name>\w+(?:[.\-]\w+)*)
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<symbol><->|->|&&|\|\||[!~¬&∧|∨();,\[\]])
    )""",
    re.VERBOSE,
)
_SPELLINGS: Final = {
    "~": "!", "¬": "!", "not": "!",
    "&&": "&", "∧": "&", "and": "&",
    "||": "|", "∨": "|", "or": "|",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "name", "end", or the symbol or keyword itself."""

    kind: str
    text: str
    position: int


class Scanner:
    """Reads one text from left to right, and says where it stopped making sense.

    `what` names the kind of text in messages ("formula", "task").
    """

    def __init__(self, text: str, what: str, keywords: frozenset[str] = frozenset()) -> None:
        if len(text) > MAX_CHARACTERS:
            raise TooLargeError(
                f"a {what} of {len(text):,} characters is too long: at most {MAX_CHARACTERS:,} are read; split it up"
            )
        self._text = text
        self._what = what
        self._keywords = keywords | {"true", "false"}
        self._tokens = self._scan()
        self._next = 0
        self._depth = 0

    def _scan(self) -> list[Token]:
        tokens = []
        position = 0
        end = len(self._text.rstrip())
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                position += len(self._text[position:]) - len(self._text[position:].lstrip())
                raise self.problem(self._unreadable(position), position)
            tokens.append(self._token(match))
            position = match.end()
        tokens.append(Token("end", "", end))
        return tokens

    def _token(self, match: re.Match[str]) -> Token:
        group = match.lastgroup
        assert group is not None
        start = match.start(group)
        text = match.group(group)
        if group == "quoted":
            if not text:
                raise self.problem("a name cannot be empty", start)
            return Token("name", re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL), start - 1)
        symbol = _SPELLINGS.get(text, text)
        is_symbol = group == "symbol" or text in _SPELLINGS or text in self._keywords
        return Token(symbol if is_symbol else "name", text, start)

    def _unreadable(self, position: int) -> str:
        if self._text[position] == '"':
            return "this quoted name is not closed"
        return f"{self._text[position]!r} means nothing here; names with such characters go in double quotes"

    def problem(self, message: str, position: int) -> SyntaxProblem:
        start = max(0, position - 30)
        excerpt = self._text[start : position + 30].replace("\n", " ")
        before, after = ("…" if start else ""), ("…" if position + 30 < len(self._text) else "")
        return SyntaxProblem(f"{self._what}, character {position + 1}: {message} (in '{before}{excerpt}{after}')")

    @property
    def token(self) -> Token:
        """The next token, not yet taken."""
        return self._tokens[self._next]

    def take(self, *kinds: str) -> Token | None:
        """The next token, if it is of one of these kinds."""
        token = self.token
        if token.kind not in kinds:
            return None
        self._next += 1
        return token

    def expect(self, kind: str, message: str) -> Token:
        token = self.take(kind)
        if token is None:
            raise self.unexpected(message)
        return token

    def unexpected(self, wanted: str) -> SyntaxProblem:
        found = "the text ends" if self.token.kind == "end" else f"found '{self.token.text}'"
        return self.problem(f"expected {wanted}, but {found}", self.token.position)

    def enter(self) -> None:
        """Goes one pair of parentheses deeper."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.problem(f"nested more than {MAX_DEPTH} deep", self.token.position)

    def leave(self) -> None:
        self._depth -= 1


def parse_formula(text: str) -> Formula:
    """The formula in disjunctive normal form; contradictory disjuncts drop out.

    >>> str(parse_formula("(a | b) & !c"))
    '(a & !c) | (b & !c)'
    """
    scanner = Scanner(text, "formula")
    formula = read_formula(scanner)
    if scanner.token.kind != "end":
        raise scanner.unexpected("'&', '|' or the end")
    return formula


def read_formula(scanner: Scanner) -> Formula:
    """A formula from where the scanner stands, as far as it goes."""
    return _dnf(_read_equivalence(scanner), positive=True)


@dataclass(frozen=True, slots=True)
class _Atom:
    name: str


@dataclass(frozen=True, slots=True)
class _Not:
    operand: _Tree


@dataclass(frozen=True, slots=True)
class _All:
    """A conjunction; of nothing, it is true."""

    operands: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Any:
    """A disjunction; of nothing, it is false."""

    operands: tuple[_Tree, ...]


_Tree: TypeAlias = "_Atom | _Not | _All | _Any"


def _read_equivalence(scanner: Scanner) -> _Tree:
    left = _read_implication(scanner)
    while scanner.take("<->"):
        right = _read_implication(scanner)
        left = _Any((_All((left, right)), _All((_Not(left), _Not(right)))))
    return left


def _read_implication(scanner: Scanner) -> _Tree:
    parts = [_read_disjunction(scanner)]
    while scanner.take("->"):
        parts.append(_read_disjunction(scanner))
    if len(parts) > MAX_DEPTH:
        raise scanner.problem(f"a chain of more than {MAX_DEPTH} '->'", scanner.token.position)
    tree = parts.pop()
    while parts:
        tree = _Any((_Not(parts.pop()), tree))
    return tree


def _read_disjunction(scanner: Scanner) -> _Tree:
    operands = [_read_conjunction(scanner)]
    while scanner.take("|"):
        operands.append(_read_conjunction(scanner))
    return operands[0] if len(operands) == 1 else _Any(tuple(operands))


def _read_conjunction(scanner: Scanner) -> _Tree:
    operands = [_read_negation(scanner)]
    while scanner.take("&"):
        operands.append(_read_negation(scanner))
    return operands[0] if len(operands) == 1 else _All(tuple(operands))


def _read_negation(scanner: Scanner) -> _Tree:
    negated = False
    while scanner.take("!"):
        negated = not negated
    tree = _read_atom(scanner)
    return _Not(tree) if negated else tree


def _read_atom(scanner: Scanner) -> _Tree:
    if name := scanner.take("name"):
        return _Atom(name.text)
    if scanner.take("true"):
        return _All(())
    if scanner.take("false"):
        return _Any(())
    if scanner.take("("):
        scanner.enter()
        tree = _read_equivalence(scanner)
        scanner.expect(")", "')'")
        scanner.leave()
        return tree
    raise scanner.unexpected("a proposition, 'true', '!' or '('")


def _dnf(tree: _Tree, *, positive: bool) -> Formula:
    """The tree, or its negation, in disjunctive normal form."""
    match tree:
        case _Atom(name):
            return conjunction({name}) if positive else conjunction((), {name})
        case _Not(operand):
            return _dnf(operand, positive=not positive)
        case _All(operands) | _Any(operands):
            parts = [_dnf(operand, positive=positive) for operand in operands]
            return _product(parts) if isinstance(tree, _All) == positive else _union(parts)


def _product(parts: list[Formula]) -> Formula:
    literals = [part for part in parts if len(part.disjuncts) == 1]
    result = _literals(literals)
    for part in parts:
        if len(part.disjuncts) != 1:
            result = result & part
            if len(result.disjuncts) <= _WORTH_ABSORBING:
                result = absorbed(result)
    return result


def _literals(parts: list[Formula]) -> Formula:
    """The conjunction of formulas of one disjunct each, in one go: it may be thousands."""
    only = [next(iter(part.disjuncts)) for part in parts]
    required = frozenset().union(*(c.required for c in only))
    forbidden = frozenset().union(*(c.forbidden for c in only))
    return FALSE if required & forbidden else conjunction(required, forbidden)


def _union(parts: list[Formula]) -> Formula:
    disjuncts = frozenset().union(*(part.disjuncts for part in parts))
    if len(disjuncts) > MAX_DISJUNCTS:
        raise TooLargeError(f"the formula would have more than {MAX_DISJUNCTS} disjuncts")
    return Formula(disjuncts)


_WORTH_ABSORBING: Final = 256
