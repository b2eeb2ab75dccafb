"""The definition of LTLf on finite traces, operator by operator: what translations are tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.language.ltlf.syntax import Item, Next, ParsedFormula, next_of, parse_ltlf

Values: TypeAlias = list[bool]
"""Whether a formula holds at each position of a trace."""


def holds(formula: str, trace: Iterable[Iterable[str]], *, next: Next | str | None = None) -> bool:  # noqa: A002
    """Whether a finite trace satisfies an LTLf formula.

    A formula with past operators only is judged at the last position, any other at the first. On the empty trace,
    propositions, `X[!]`, `F`, `U` and `M` are false, and `WX`, `G`, `R`, `W` and `last` true.

    Args:
        formula: The formula.
        trace: Its labels, one for each position.
        next: The reading of a bare `X` at the last position, "strong" (false) or "weak" (true). It may be left out
            where both readings give the same answer.

    Raises:
        RewardMachineError: The text is no formula, or a reading of `X` must be chosen.

    >>> holds("F(key & F door) & G !lava", [{"key"}, set(), {"door"}])
    True
    """
    parsed = parse_ltlf(formula)
    labels = [frozenset(label) for label in trace]
    reading = next_of(next)
    if reading is not None or not parsed.has_bare_next:
        return satisfies(parsed, labels, reading or Next.STRONG)
    strong, weak = (satisfies(parsed, labels, each) for each in Next)
    if strong != weak:
        raise ambiguous_next()
    return strong


def ambiguous_next() -> RewardMachineError:
    """The error where the two readings of `X` differ."""
    return RewardMachineError(
        "at the last position, X is false in some tools and true in others, and here it matters: write X[!] (there is "
        "a next position, and it satisfies ...) or WX (if there is one), or choose with next='strong' or next='weak'"
    )


def satisfies(parsed: ParsedFormula, labels: Sequence[Label], reading: Next) -> bool:
    """Whether the trace satisfies the formula."""
    if not labels:
        return _on_empty_trace(parsed, reading)
    stack: list[Values] = []
    for item in parsed.items:
        kind = reading_of(item.kind, reading)
        if kind in _LEAVES:
            stack.append(_LEAVES[kind](item, labels))
        elif kind in _UNARY:
            stack.append(_UNARY[kind](stack.pop()))
        else:
            right = stack.pop()
            stack.append(_BINARY[kind](stack.pop(), right))
    return stack.pop()[-1 if parsed.is_past else 0]


def reading_of(kind: str, reading: Next) -> str:
    """The operator that a bare `X` stands for; other operators are themselves."""
    if kind != "X":
        return kind
    return "X[!]" if reading is Next.STRONG else "WX"


def _on_empty_trace(parsed: ParsedFormula, reading: Next) -> bool:
    stack: list[bool] = []
    for item in parsed.items:
        kind = reading_of(item.kind, reading)
        if kind in _EMPTY_LEAVES:
            stack.append(_EMPTY_LEAVES[kind])
        elif kind == "!":
            stack.append(not stack.pop())
        elif kind in _EMPTY_UNARY:
            stack[-1] = _EMPTY_UNARY[kind]
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(_EMPTY_BINARY[kind] if kind in _EMPTY_BINARY else _CONNECTIVES[kind](left, right))
    return stack.pop()


_EMPTY_LEAVES: Final = {"name": False, "true": True, "false": False, "last": True}
_EMPTY_UNARY: Final = {"X[!]": False, "WX": True, "F": False, "G": True, "Y": False, "O": False, "H": True}
_EMPTY_BINARY: Final = {"U": False, "M": False, "S": False, "R": True, "W": True}
_CONNECTIVES: Final[Mapping[str, Callable[[bool, bool], bool]]] = {
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "->": lambda a, b: not a or b,
    "<->": lambda a, b: a == b,
}


def _connective(kind: str) -> Callable[[Values, Values], Values]:
    return lambda a, b: list(map(_CONNECTIVES[kind], a, b))


def _eventually(a: Values) -> Values:
    return [any(a[i:]) for i in range(len(a))]


def _always(a: Values) -> Values:
    return [all(a[i:]) for i in range(len(a))]


def _until(a: Values, b: Values) -> Values:
    """There is a position with b, and all before have a."""
    return [any(b[j] and all(a[i:j]) for j in range(i, len(a))) for i in range(len(a))]


def _release(a: Values, b: Values) -> Values:
    """All positions have b, up to one with a, which counts, or to the end."""
    return [all(b[j] or any(a[i:j]) for j in range(i, len(a))) for i in range(len(a))]


def _weak_until(a: Values, b: Values) -> Values:
    return [u or g for u, g in zip(_until(a, b), _always(a), strict=True)]


def _strong_release(a: Values, b: Values) -> Values:
    return [r and f for r, f in zip(_release(a, b), _eventually(a), strict=True)]


def _since(a: Values, b: Values) -> Values:
    """There is a position up to now with b, and all after it have a."""
    return [any(b[j] and all(a[j + 1 : i + 1]) for j in range(i + 1)) for i in range(len(a))]


_LEAVES: Final[Mapping[str, Callable[[Item, Sequence[Label]], Values]]] = {
    "name": lambda item, labels: [item.text in label for label in labels],
    "true": lambda _, labels: [True] * len(labels),
    "false": lambda _, labels: [False] * len(labels),
    "last": lambda _, labels: [False] * (len(labels) - 1) + [True],
}
_UNARY: Final[Mapping[str, Callable[[Values], Values]]] = {
    "!": lambda a: [not value for value in a],
    "X[!]": lambda a: [*a[1:], False],
    "WX": lambda a: [*a[1:], True],
    "F": _eventually,
    "G": _always,
    "Y": lambda a: [False, *a[:-1]],
    "O": lambda a: [any(a[: i + 1]) for i in range(len(a))],
    "H": lambda a: [all(a[: i + 1]) for i in range(len(a))],
}
_BINARY: Final[Mapping[str, Callable[[Values, Values], Values]]] = {
    **{kind: _connective(kind) for kind in _CONNECTIVES},
    "U": _until,
    "R": _release,
    "W": _weak_until,
    "M": _strong_release,
    "S": _since,
}
