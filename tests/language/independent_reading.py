"""What a task means, read independently of the compiler: what is left to do is rewritten label by label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from hypothesis import strategies as st

from rewardmachines.language import Tie


@dataclass(frozen=True)
class Do:
    """A proposition to be seen, or a task to be done."""

    name: str


@dataclass(frozen=True)
class Op:
    """Several steps: one after the other (;), in any order (&), or one of them (|)."""

    kind: str
    sides: tuple[Expression, ...]


Expression = Do | Op
LETTERS = ("a", "b", "c", "d")
LABELS = [frozenset(some) for size in range(len(LETTERS) + 1) for some in combinations(LETTERS, size)]
_MEANINGS: dict[tuple[object, ...], int] = {}
DONE = Op(";", ())
"""Nothing is left to do."""


def write(e: Expression) -> str:
    """As the compiler reads it."""
    return e.name if isinstance(e, Do) else "(" + f" {e.kind} ".join(map(write, e.sides)) + ")"


def starts(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> bool:
    """Whether the label is the beginning of what is to be done."""
    if isinstance(e, Do):
        return starts(tasks[e.name], label, tasks, tie) if e.name in tasks else e.name in label
    if e.kind == ";":
        return starts(e.sides[0], label, tasks, tie)
    return chosen(e, label, tasks, tie) is not None


def chosen(e: Op, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> int | None:
    """The side that the label starts, if it starts one; where it starts several, the tie says which.

    If alternatives leave the same to do, without a call, it does not matter which.
    """
    able = [i for i, side in enumerate(e.sides) if starts(side, label, tasks, tie)]
    matters = e.kind == "&" or len({_way(e.sides[i], label, tasks, tie) for i in able}) > 1
    calls = [i for i in able if _way(e.sides[i], label, tasks, tie)[0] is not None]
    if not able or (len(able) > 1 and (matters or calls) and tie is Tie.NEITHER):
        return None
    return able[-1] if tie is Tie.RIGHT else able[0]


def _way(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> tuple[str | None, int]:
    """The task that is called on a label which starts the expression, if one is, and what is left to do after it."""
    callee, rest = _first(e, label, tasks, tie)
    return callee, _meaning(rest, tuple(tasks.items()), tie)


def _first(
    e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie
) -> tuple[str | None, Expression]:
    """As `_way`, with what is left to do as an expression."""
    if isinstance(e, Do):
        return (e.name if e.name in tasks else None), DONE
    i = 0 if e.kind == ";" else chosen(e, label, tasks, tie)
    assert i is not None
    callee, left = _first(e.sides[i], label, tasks, tie)
    return callee, left if e.kind == "|" else then(left, _others(e, i))


@cache
def _meaning(e: Expression, tasks: tuple[tuple[str, Expression], ...], tie: Tie) -> int:
    """A number that two expressions share if they do the same on every label, and leave the same to do."""
    known = dict(tasks)
    ways = [_way(e, label, known, tie) if starts(e, label, known, tie) else None for label in LABELS if e != DONE]
    return _MEANINGS.setdefault(tuple(ways), len(_MEANINGS))


def then(first: Expression, rest: tuple[Expression, ...]) -> Expression:
    """The first and then the rest, without steps that are done."""
    if first == DONE:
        return rest[0] if len(rest) == 1 else Op(";", rest)
    return Op(";", (first, *rest)) if rest else first


def _others(e: Op, i: int) -> tuple[Expression, ...]:
    """What is to be done after a side: later ones, or all others in any order."""
    if e.kind == ";":
        return e.sides[i + 1 :]
    rest = e.sides[:i] + e.sides[i + 1 :]
    return rest if len(rest) < 2 else (Op("&", rest),)


def advance(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> Expression:
    """What is left to do of a step that the label starts."""
    if isinstance(e, Do):
        return advance(tasks[e.name], label, tasks, tie) if e.name in tasks else DONE
    i = 0 if e.kind == ";" else chosen(e, label, tasks, tie)
    assert i is not None
    left = advance(e.sides[i], label, tasks, tie)
    return left if e.kind == "|" else then(left, _others(e, i))


@st.composite
def expressions(draw: st.DrawFn, names: tuple[str, ...]) -> Expression:
    """Small expressions of these propositions and tasks."""
    leaves: st.SearchStrategy[Expression] = st.sampled_from(names).map(Do)
    return draw(
        st.recursive(
            leaves,
            lambda inner: st.builds(
                Op, st.sampled_from([";", "&", "|"]), st.lists(inner, min_size=2, max_size=3).map(tuple)
            ),
            max_leaves=6,
        )
    )


letter_sets = st.frozensets(st.sampled_from((*LETTERS, "x")), max_size=3)
"""Labels, also with what may have to be avoided."""
