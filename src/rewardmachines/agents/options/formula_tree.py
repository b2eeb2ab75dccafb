"""The formula tree: which formulas share a Q-function, given the labels seen so far (Appendix C.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from rewardmachines.core.formula import Conjunction, Label, quote

ROOT: Final = None
"""The root of the tree. It stands for `true`, but is no formula: `true` itself may be one of its children."""

Node: TypeAlias = Conjunction | None


class FormulaTree:
    """Below each formula are longer ones that agree with it on every label seen.

    The children of the root are the formulas that own a Q-function; those below them share it.
    """

    def __init__(self) -> None:
        self._labels: set[Label] = set()
        self._children: dict[Node, list[Conjunction]] = {ROOT: []}
        self._parents: dict[Conjunction, Node] = {}

    @property
    def labels(self) -> frozenset[Label]:
        """The labels seen so far."""
        return frozenset(self._labels)

    @property
    def roots(self) -> tuple[Conjunction, ...]:
        """The formulas that own a Q-function, the first inserted first."""
        return tuple(self._children[ROOT])

    def __contains__(self, formula: Conjunction) -> bool:
        return formula in self._parents

    def __len__(self) -> int:
        return len(self._parents)

    def __iter__(self) -> Iterator[Conjunction]:
        """The formulas, from the top down, a branch at a time."""
        return self._below(ROOT)

    def subsumes(self, general: Conjunction, special: Conjunction) -> bool:
        """Whether `special` has every literal of `general`, and both agree on every label seen."""
        return general.subsumes(special) and all(general.holds(label) == special.holds(label) for label in self._labels)

    def root_of(self, formula: Conjunction) -> Conjunction:
        """The formula whose Q-function the given formula uses."""
        while (parent := self._parents[formula]) is not ROOT:
            formula = parent
        return formula

    def add(self, formula: Conjunction) -> None:
        """Adds a formula; one that is already there changes nothing."""
        if formula not in self:
            self._children[formula] = []
            self._insert(formula)

    def observe(self, label: Label) -> None:
        """Moves the formulas that differ from their parents on the label, together with their subtrees."""
        if label in self._labels:
            return
        self._labels.add(label)
        # A stray formula is false of the label, and so is its subtree, which agrees with it: no stray is below another.
        strays = [formula for formula in self if self._is_stray(formula, label)]
        for formula in strays:
            self._siblings(formula).remove(formula)
            self._insert(formula)

    def __str__(self) -> str:
        """On one line, as in `true( a( a&!b ), b )`."""
        return self._show(ROOT)

    def _insert(self, formula: Conjunction) -> None:
        """Inserts a formula as deep as a child, the first, subsumes it; siblings that it subsumes move below it."""
        parent: Node = ROOT
        while (child := self._subsuming_child(parent, formula)) is not None:
            parent = child
        siblings = self._children[parent]
        subsumed = [sibling for sibling in siblings if self.subsumes(formula, sibling)]
        self._children[parent] = [sibling for sibling in siblings if sibling not in subsumed] + [formula]
        self._children[formula] += subsumed
        self._parents[formula] = parent
        self._parents.update(dict.fromkeys(subsumed, formula))

    def _is_stray(self, formula: Conjunction, label: Label) -> bool:
        parent = self._parents[formula]
        return parent is not ROOT and parent.holds(label) != formula.holds(label)

    def _subsuming_child(self, parent: Node, formula: Conjunction) -> Conjunction | None:
        return next((child for child in self._children[parent] if self.subsumes(child, formula)), None)

    def _siblings(self, formula: Conjunction) -> list[Conjunction]:
        return self._children[self._parents[formula]]

    def _below(self, node: Node) -> Iterator[Conjunction]:
        for child in self._children[node]:
            yield child
            yield from self._below(child)

    def _show(self, node: Node) -> str:
        name = "true" if node is ROOT else _compact(node)
        children = ", ".join(map(self._show, self._children[node]))
        return f"{name}( {children} )" if children else name


def inherited(before: tuple[Conjunction, ...], tree_after: FormulaTree) -> dict[Conjunction, Conjunction]:
    """The former root whose network each new root takes over.

    A formula that is no longer a root passes its network on if its root had none; of several, the first does. The
    networks of other new roots are reset.
    """
    heirs: dict[Conjunction, Conjunction] = {}
    for former in before:
        root = tree_after.root_of(former)
        if root not in before:
            heirs.setdefault(root, former)
    return heirs


def _compact(formula: Conjunction) -> str:
    literals = [*map(quote, sorted(formula.required)), *("!" + quote(p) for p in sorted(formula.forbidden))]
    return "&".join(literals) or "true"
