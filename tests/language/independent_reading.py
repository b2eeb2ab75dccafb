"""What a task means, read independently of the compiler: what is left to do is rewritten label by label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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

    Alternatives that the label ends, too, all lead to the same rest: then it does not matter which.
    """
    able = [i for i, side in enumerate(e.sides) if starts(side, label, tasks, tie)]
    matters = e.kind == "&" or not all(ends(e.sides[i], label, tasks, tie) for i in able)
    if not able or (len(able) > 1 and matters and tie is Tie.NEITHER):
        return None
    return able[-1] if tie is Tie.RIGHT else able[0]


def ends(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> bool:
    """Whether the label, which starts what is to be done, also ends it, without a call."""
    if isinstance(e, Do):
        return e.name not in tasks
    if e.kind != "|":
        return False
    i = chosen(e, label, tasks, tie)
    assert i is not None
    return ends(e.sides[i], label, tasks, tie)


def then(first: Expression, rest: tuple[Expression, ...]) -> Expression:
    """The first and then the rest, without steps that are done."""
    if first == DONE:
        return rest[0] if len(rest) == 1 else Op(";", rest)
    return Op(";", (first, *rest)) if rest else first


def advance(e: Expression, label: frozenset[str], tasks: Mapping[str, Expression], tie: Tie) -> Expression:
    """What is left to do of a step that the label starts."""
    if isinstance(e, Do):
        return advance(tasks[e.name], label, tasks, tie) if e.name in tasks else DONE
    if e.kind == ";":
        return then(advance(e.sides[0], label, tasks, tie), e.sides[1:])
    i = chosen(e, label, tasks, tie)
    assert i is not None
    rest = e.sides[:i] + e.sides[i + 1 :]
    left = advance(e.sides[i], label, tasks, tie)
    if e.kind == "|" or not rest:
        return left
    return then(left, (rest[0] if len(rest) == 1 else Op("&", rest),))


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


LETTERS = ("a", "b", "c", "d")
letter_sets = st.frozensets(st.sampled_from((*LETTERS, "x")), max_size=3)
"""Labels, also with what may have to be avoided."""
