"""Which options there are in a state, in plain Python (Appendix C.2), as a judge of faster implementations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF

TRUE = Conjunction()


@dataclass(frozen=True)
class Option:
    """ω[callee, φ | machine, state, Φ]: to satisfy a formula, or to run a machine, from a state under a context."""

    callee: str
    formula: Conjunction
    machine: str
    state: str
    context: Conjunction = TRUE

    @property
    def is_call(self) -> bool:
        return self.callee != LEAF

    def __str__(self) -> str:
        callee = self.callee if self.is_call else "leaf"
        return f"w[{callee}, {self.formula} | {self.machine}, {self.state}, {self.context}]"


Candidate: TypeAlias = tuple[str, Conjunction]


def conjoined(a: Conjunction, b: Conjunction) -> Conjunction | None:
    """The literals of both; None if they contradict each other."""
    return None if a.contradicts(b) else Conjunction(a.required | b.required, a.forbidden | b.forbidden)


def available(
    hierarchy: Hierarchy, labels: Collection[Label], machine: str, state: str, context: Conjunction = TRUE
) -> list[Candidate]:
    """What may be chosen in a state under a context: the callees and disjuncts, in the order of the edges."""
    found = [
        (edge.callee, disjunct)
        for edge in hierarchy[machine].outgoing(state)
        for disjunct in edge.formula.ordered()
        if _is_open(hierarchy, labels, edge.callee, disjunct, context)
        and _can_end(hierarchy, labels, machine, edge.target)
    ]
    return list(dict.fromkeys(found))


def _is_open(
    hierarchy: Hierarchy, labels: Collection[Label], callee: str, disjunct: Conjunction, context: Conjunction
) -> bool:
    """Whether some label seen satisfies the formula under the context, or the callee can be run to acceptance."""
    joint = conjoined(disjunct, context)
    if joint is None:
        return False
    if callee == LEAF:
        return any(joint.holds(label) for label in labels)
    return any(
        _reaches(hierarchy, labels, callee, first, hierarchy[callee].accepting)
        for first in _successors(hierarchy, labels, callee, hierarchy[callee].initial, joint)
    )


def _successors(
    hierarchy: Hierarchy, labels: Collection[Label], machine: str, state: str, context: Conjunction
) -> set[str]:
    return {
        edge.target
        for edge in hierarchy[machine].outgoing(state)
        if any(_is_open(hierarchy, labels, edge.callee, d, context) for d in edge.formula.disjuncts)
    }


def _reaches(hierarchy: Hierarchy, labels: Collection[Label], machine: str, state: str, goals: Collection[str]) -> bool:
    """Whether open edges lead from the state to a goal; after an edge the context is true."""
    found, waiting = {state}, [state]
    while waiting:
        new = _successors(hierarchy, labels, machine, waiting.pop(), TRUE) - found
        found |= new
        waiting += new
    return not found.isdisjoint(goals)


def _can_end(hierarchy: Hierarchy, labels: Collection[Label], machine: str, state: str) -> bool:
    described = hierarchy[machine]
    return _reaches(hierarchy, labels, machine, state, described.accepting | described.rejecting)
