"""Regular expressions over labels, with formulas as letters.

choice   = sequence { "|" sequence }
sequence = repeated { ";" repeated }
repeated = letter { "*" | "+" | "?" | "{" number [ "," [ number ] ] "}" }
letter   = name | "[" formula "]" | "." | "(" choice ")" | "(" ")"

An expression becomes an automaton as formulas do: the diagram has atoms first, then whether the label is the last, then
one variable for each letter that may have been read, which stands for what may follow it (Glushkov's positions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.formula import TRUE, Formula, conjunction
from rewardmachines.core.text import Scanner, Token, read_formula
from rewardmachines.language.ltlf.diagrams import Allowance, Automaton, Diagrams, automaton_of, minimal

MAX_LETTERS: Final = 2_000
"""The largest number of letters, with repetitions written out."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One label that satisfies a formula."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class Sequence:
    """Expressions one after the other; without any, the empty trace."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several expressions."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """An expression several times; without a `most`, any number of times."""

    part: Expression
    least: int
    most: int | None


Expression: TypeAlias = Letter | Sequence | Choice | Repeated


@dataclass(frozen=True, slots=True)
class ParsedRegex:
    """A regular expression as its letters, numbered from the left, and what may follow each."""

    text: str
    names: tuple[str, ...]
    """The propositions, in the order in which they are mentioned."""
    letters: tuple[Formula, ...]
    first: frozenset[int]
    last: frozenset[int]
    follow: tuple[frozenset[int], ...]
    accepts_empty: bool


def parse_regex(text: str, description: str = "regular expression") -> ParsedRegex:
    """The expression of a text; `description` says in messages whose text it is."""
    scanner = Scanner(text, description, symbols="*+?.{}")
    names: dict[str, None] = {}
    expression = _read_choice(scanner, names)
    if scanner.token.kind != "end":
        raise scanner.unexpected("';', '|', a repetition such as '*', or the end")
    positions = _Positions(description)
    whole = positions.of(expression)
    follow = tuple(map(frozenset, positions.follow))
    return ParsedRegex(
        text, tuple(names), tuple(positions.letters), whole.first, whole.last, follow, whole.accepts_empty
    )


def regex_automaton(parsed: ParsedRegex, atoms: Mapping[str, int], budget: Allowance) -> Automaton:
    """The smallest automaton of an expression; `atoms` are the levels of its names."""
    diagrams = Diagrams(budget)
    end = len(atoms)
    tails = [(follow, i in parsed.last) for i, follow in enumerate(parsed.follow)]
    variables = {tail: end + 1 + number for number, tail in enumerate(dict.fromkeys(tails))}
    """Letters with the same continuations share a variable."""
    read: list[int] = []
    for formula, tail in zip(parsed.letters, tails, strict=True):
        rest = diagrams.node(end, diagrams.variable(variables[tail]), int(tail[1]))
        read.append(diagrams.both(_diagram(formula, diagrams, atoms), rest))
    known: dict[int, int] = {}
    follows = {level: tail[0] for tail, level in variables.items()}

    def any_of(letters: frozenset[int]) -> int:
        found = 0
        for letter in sorted(letters):
            found = diagrams.either(found, read[letter])
        return found

    def replacement(level: int) -> int:
        if level not in known:
            known[level] = any_of(follows[level])
        return known[level]

    return minimal(automaton_of(diagrams, end, any_of(parsed.first), replacement, budget), budget)


def _diagram(formula: Formula, diagrams: Diagrams, atoms: Mapping[str, int]) -> int:
    found = 0
    for disjunct in formula.ordered():
        term = 1
        for name in sorted(disjunct.propositions, key=atoms.__getitem__, reverse=True):
            children = (0, term) if name in disjunct.required else (term, 0)
            term = diagrams.node(atoms[name], *children)
        found = diagrams.either(found, term)
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    accepts_empty: bool
    first: frozenset[int]
    last: frozenset[int]


class _Positions:
    """The letters of an expression, and what may follow each of them."""

    def __init__(self, description: str) -> None:
        self._description = description
        self.letters: list[Formula] = []
        self.follow: list[set[int]] = []

    def of(self, expression: Expression) -> _Part:
        match expression:
            case Letter(formula):
                if len(self.letters) == MAX_LETTERS:
                    raise TooLargeError(
                        f"{self._description}: more than {MAX_LETTERS:,} letters, with repetitions written out"
                    )
                position = len(self.letters)
                self.letters.append(formula)
                self.follow.append(set())
                return _Part(False, frozenset({position}), frozenset({position}))
            case Sequence(parts):
                return self._sequence([self.of(part) for part in parts])
            case Choice(parts):
                sides = [self.of(part) for part in parts]
                first = frozenset().union(*(side.first for side in sides))
                last = frozenset().union(*(side.last for side in sides))
                return _Part(any(side.accepts_empty for side in sides), first, last)
            case Repeated(part, least, most):
                times = [self.of(part) for _ in range(max(least, 1) if most is None else most)]
                if most is None:
                    self._link(times[-1].last, times[-1].first)
                return self._sequence([*times[:least], *(_Part(True, p.first, p.last) for p in times[least:])])

    def _sequence(self, parts: list[_Part]) -> _Part:
        whole = _Part(True, frozenset(), frozenset())
        for part in parts:
            self._link(whole.last, part.first)
            first = whole.first | part.first if whole.accepts_empty else whole.first
            last = whole.last | part.last if part.accepts_empty else part.last
            whole = _Part(whole.accepts_empty and part.accepts_empty, first, last)
        return whole

    def _link(self, last: frozenset[int], first: frozenset[int]) -> None:
        for position in last:
            self.follow[position] |= first


def _read_choice(scanner: Scanner, names: dict[str, None]) -> Expression:
    parts = [_read_sequence(scanner, names)]
    while scanner.take("|"):
        parts.append(_read_sequence(scanner, names))
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _read_sequence(scanner: Scanner, names: dict[str, None]) -> Expression:
    parts = [_read_repeated(scanner, names)]
    while scanner.take(";"):
        parts.append(_read_repeated(scanner, names))
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _read_repeated(scanner: Scanner, names: dict[str, None]) -> Expression:
    expression = _read_letter(scanner, names)
    repetitions = 0
    while token := scanner.take("*", "+", "?", "{"):
        repetitions += 1
        if repetitions > MAX_REPETITIONS:
            raise scanner.problem(f"repeated more than {MAX_REPETITIONS} times over", token.position)
        least, most = _BOUNDS[token.kind] if token.kind in _BOUNDS else _read_bounds(scanner, token)
        expression = Repeated(expression, least, most)
    return expression


_BOUNDS: Final[Mapping[str, tuple[int, int | None]]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
MAX_REPETITIONS: Final = 10
"""The largest number of repetitions of one letter, as in `a*?+`."""


def _read_bounds(scanner: Scanner, bracket: Token) -> tuple[int, int | None]:
    least = _read_number(scanner)
    most: int | None = least
    if scanner.take(","):
        most = None if scanner.token.kind == "}" else _read_number(scanner)
    scanner.expect("}", "'}', as in {2}, {2,} or {2,5}")
    if most is not None and (most < least or most == 0):
        raise scanner.problem("the numbers of times are out of order or zero", bracket.position)
    return least, most


def _read_number(scanner: Scanner) -> int:
    token = scanner.expect("name", "a number of times, as in {2,5}")
    if not token.text.isascii() or not token.text.isdigit() or len(token.text) > len(str(MAX_LETTERS)):
        raise scanner.problem(f"'{token.text}' is no number of times up to {MAX_LETTERS:,}", token.position)
    return int(token.text)


def _read_letter(scanner: Scanner, names: dict[str, None]) -> Expression:
    if name := scanner.take("name"):
        names[name.text] = None
        return Letter(conjunction({name.text}))
    if scanner.take(".", "true"):
        return Letter(TRUE)
    if scanner.take("["):
        formula = read_formula(scanner)
        names.update(dict.fromkeys(sorted(formula.propositions)))
        scanner.expect("]", "'&', '|' or ']'")
        return Letter(formula)
    if scanner.take("("):
        if scanner.take(")"):
            return Sequence(())
        scanner.enter()
        expression = _read_choice(scanner, names)
        scanner.expect(")", "';', '|', a repetition or ')'")
        scanner.leave()
        return expression
    if scanner.token.kind in ("!", "&"):
        raise scanner.problem("a letter with operators goes in brackets: [a & !b]", scanner.token.position)
    raise scanner.unexpected("a proposition, '[', '(' or '.'")
