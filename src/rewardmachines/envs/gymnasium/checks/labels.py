"""Checks of the results of labelling functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

import numpy as np

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.gymnasium.checks.faults import LabelingError, short

_USUAL: Final = frozenset((set, frozenset))


def read_label(returned: Any, propositions: frozenset[str]) -> Label:
    """The label that was meant.

    Args:
        returned: A set, list or tuple of propositions, or a dict that says of propositions whether they are true.
        propositions: Those that there are.

    Raises:
        LabelingError: It is something else, or a proposition is unknown. The message begins with what was returned, so
            that "the labelling function returned " can stand before it.
    """
    if type(returned) in _USUAL and propositions.issuperset(returned):
        return frozenset(returned)
    if isinstance(returned, (Set, list, tuple)):
        try:
            label = frozenset(returned)
        except TypeError:  # something in it cannot be hashed, so it is no string either
            label = None
        if label is None or not label <= propositions:
            raise LabelingError(_wrong_member(returned, propositions))
        return label
    if isinstance(returned, Mapping):
        return _true_ones(returned, propositions)
    raise LabelingError(_wrong_type(returned))


def read_labels(given: Iterable[Any], propositions: Iterable[str]) -> tuple[Label, ...]:
    """The labels of an environment's own list of possible labels.

    Raises:
        LabelingError: One of them is none.
    """
    known = frozenset(propositions)
    try:
        return tuple(read_label(one, known) for one in given)
    except LabelingError as problem:
        raise LabelingError(f"one of `labels` is {problem}") from None


def read_propositions(given: Iterable[str]) -> tuple[str, ...]:
    """The propositions of an environment.

    Raises:
        LabelingError: They are one text, not strings, or one is there twice.
    """
    if isinstance(given, str):
        raise LabelingError(f"propositions is the text {given!r}: give a list, such as [{given!r}]")
    propositions: tuple[Any, ...] = tuple(given)
    if wrong := [one for one in propositions if not isinstance(one, str)]:
        raise LabelingError(f"propositions are strings, but {short(wrong[0])} is of type {type(wrong[0]).__name__}")
    if twice := [one for i, one in enumerate(propositions) if one in propositions[:i]]:
        raise LabelingError(f"the proposition {twice[0]!r} is there twice")
    return propositions


def _true_ones(returned: Mapping[Any, Any], propositions: frozenset[str]) -> Label:
    if not propositions.issuperset(returned):
        raise LabelingError(_wrong_member(returned, propositions))
    for name, value in returned.items():
        if not isinstance(value, (bool, np.bool_)):
            raise LabelingError(f"a dict in which {name!r} is {short(value)}: give True or False for each proposition")
    return frozenset(name for name, value in returned.items() if value)


def _wrong_member(returned: Iterable[Any], propositions: Iterable[str]) -> str:
    """The fault of a collection with a member that is no proposition."""
    wrong = next(one for one in returned if not isinstance(one, str) or one not in propositions)
    if not isinstance(wrong, str):
        return f"{short(returned)}, in which {short(wrong)} is no string but of type {type(wrong).__name__}"
    known = sorted(propositions)
    return f"{wrong!r}, which is not among the propositions ({', '.join(known)}){suggestion(wrong, known)}"


def _wrong_type(returned: Any) -> str:
    if returned is None:
        return "None: return a set of propositions, set() where none is true"
    if isinstance(returned, str):
        return f"the text {returned!r}: return a set, such as {{{returned!r}}}"
    if isinstance(returned, np.ndarray):
        return (
            f"a NumPy array, {short(returned)}, which could mean anything: return the set of propositions that are "
            "true, or a dict of booleans"
        )
    return f"{short(returned)}, of type {type(returned).__name__}: return a set of propositions"
