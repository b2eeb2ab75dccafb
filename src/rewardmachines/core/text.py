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
from functools import cache
from typing import Final

from rewardmachines.core.errors import SyntaxProblem, TooLargeError
from rewardmachines.core.formula import Formula
from rewardmachines.core.normal_form import AllOf, AnyOf, Atom, Not, Same, Tree, normal_form

MAX_CHARACTERS: Final = 100_000
MAX_DEPTH: Final = 60


@cache
def _token_pattern(symbols: str) -> re.Pattern[str]:
    return re.compile(
        rf"""\s*(?:
            (?P<name>\w+(?:[.\-]\w+)*)
          | "(?P<quoted>(?:[^"\\]|\\.)*)"
          | (?P<symbol><->|->|&&|\|\||[!~¬&∧|∨();,\[\]{re.escape(symbols)}])
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

    `description` names the kind of text in messages ("formula", "task"), `symbols` what stands for itself beside the
    symbols of formulas.
    """

    def __init__(self, text: str, description: str, keywords: frozenset[str] = frozenset(), symbols: str = "") -> None:
        if len(text) > MAX_CHARACTERS:
            raise TooLargeError(
                f"{description} too long: {len(text):,} characters, of which at most {MAX_CHARACTERS:,} are read; "
                "split it up"
            )
        self._text = text
        self._description = description
        self._keywords = keywords | {"true", "false"}
        self._pattern = _token_pattern(symbols)
        self._tokens = self._scan()
        self._next = 0
        self._depth = 0

    def _scan(self) -> list[Token]:
        tokens = []
        position = 0
        end = len(self._text.rstrip())
        while position < end:
            match = self._pattern.match(self._text, position)
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
        """An error that names the position and quotes the text around it."""
        start = max(0, position - 30)
        excerpt = self._text[start : position + 30].replace("\n", " ")
        before, after = ("…" if start else ""), ("…" if position + 30 < len(self._text) else "")
        return SyntaxProblem(
            f"{self._description}, character {position + 1}: {message} (in '{before}{excerpt}{after}')"
        )

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
        """The next token, which must be of this kind."""
        token = self.take(kind)
        if token is None:
            raise self.unexpected(message)
        return token

    def unexpected(self, wanted: str) -> SyntaxProblem:
        """An error that says what was wanted in place of the next token."""
        actual = "the text ends" if self.token.kind == "end" else f"found '{self.token.text}'"
        return self.problem(f"expected {wanted}, but {actual}", self.token.position)

    def enter(self) -> None:
        """Goes one pair of parentheses deeper."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.problem(f"nested more than {MAX_DEPTH} deep", self.token.position)

    def leave(self) -> None:
        """Leaves a parenthesis."""
        self._depth -= 1


def parse_formula(text: str) -> Formula:
    """The formula in disjunctive normal form; contradictory disjuncts drop out.

    Args:
        text: Propositions joined by `!`, `&`, `|`, `->` and `<->`, with parentheses, `true` and `false`.

    Raises:
        SyntaxProblem: The text is no formula; the message says where.
        TooLargeError: Its normal form would be too large.

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
    return normal_form(_read_equivalence(scanner))


def _read_equivalence(scanner: Scanner) -> Tree:
    left = _read_implication(scanner)
    count = 1
    while scanner.take("<->"):
        right = _read_implication(scanner)
        count += 1
        if count > MAX_DEPTH:
            raise scanner.problem(f"a chain of more than {MAX_DEPTH} '<->'", scanner.token.position)
        left = Same(left, right)
    return left


def _read_implication(scanner: Scanner) -> Tree:
    parts = [_read_disjunction(scanner)]
    while scanner.take("->"):
        parts.append(_read_disjunction(scanner))
    if len(parts) > MAX_DEPTH:
        raise scanner.problem(f"a chain of more than {MAX_DEPTH} '->'", scanner.token.position)
    tree = parts.pop()
    while parts:
        tree = AnyOf((Not(parts.pop()), tree))
    return tree


def _read_disjunction(scanner: Scanner) -> Tree:
    operands = [_read_conjunction(scanner)]
    while scanner.take("|"):
        operands.append(_read_conjunction(scanner))
    return operands[0] if len(operands) == 1 else AnyOf(tuple(operands))


def _read_conjunction(scanner: Scanner) -> Tree:
    operands = [_read_negation(scanner)]
    while scanner.take("&"):
        operands.append(_read_negation(scanner))
    return operands[0] if len(operands) == 1 else AllOf(tuple(operands))


def _read_negation(scanner: Scanner) -> Tree:
    negated = False
    while scanner.take("!"):
        negated = not negated
    tree = _read_atom(scanner)
    return Not(tree) if negated else tree


def _read_atom(scanner: Scanner) -> Tree:
    if name := scanner.take("name"):
        return Atom(name.text)
    if scanner.take("true"):
        return AllOf(())
    if scanner.take("false"):
        return AnyOf(())
    if scanner.take("("):
        scanner.enter()
        tree = _read_equivalence(scanner)
        scanner.expect(")", "')'")
        scanner.leave()
        return tree
    raise scanner.unexpected("a proposition, 'true', '!' or '('")
