"""Random LTLf formulas as texts, and traces for them."""

from __future__ import annotations

from itertools import product
from typing import Final

from hypothesis import strategies as st

from rewardmachines.core.formula import Label

PROPOSITIONS: Final = ("a", "b", "c")
LABELS: Final = [
    frozenset(p for p, seen in zip(PROPOSITIONS, bits, strict=True) if seen)
    for bits in product((False, True), repeat=3)
]
traces: Final[st.SearchStrategy[list[Label]]] = st.lists(st.sampled_from(LABELS), max_size=6)
_CONNECTIVES: Final = ("&", "|", "->", "<->")


def _texts(
    leaves: tuple[str, ...], unary: tuple[str, ...], binary: tuple[str, ...], max_leaves: int
) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(leaves),
        lambda inner: (
            st.builds("{0}({1})".format, st.sampled_from(unary), inner)
            | st.builds("({1}) {0} ({2})".format, st.sampled_from((*binary, *_CONNECTIVES)), inner, inner)
        ),
        max_leaves=max_leaves,
    )


future: Final = _texts(
    (*PROPOSITIONS, "true", "false", "last"), ("!", "X[!]", "WX", "F", "G"), ("U", "R", "W", "M"), max_leaves=6
)
past: Final = _texts(PROPOSITIONS, ("!", "Y", "O", "H"), ("S",), max_leaves=4)
mixed: Final = st.builds(
    "{0}(({1}) {2} ({3}))".format,
    st.sampled_from(("F", "G", "X[!]", "WX")),
    future,
    st.sampled_from(("U", "R", "&", "|")),
    past,
)
formulas: Final = future | past | mixed
