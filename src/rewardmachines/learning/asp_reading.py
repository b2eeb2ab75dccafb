"""An answer set as the machine that it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from rewardmachines.core.formula import conjunction
from rewardmachines.core.machine import REJECTING, Edge, RewardMachine
from rewardmachines.exchange.asp_names import proposition
from rewardmachines.learning.asp_facts import constants_of, root_states
from rewardmachines.learning.task import LearningTask

if TYPE_CHECKING:
    import clingo

Place: TypeAlias = tuple[str, str, int]
"""Source, target and number: what makes an edge of the root."""


def machine_of(atoms: Iterable[clingo.Symbol], task: LearningTask, states: int) -> RewardMachine:
    """The root whose edges are the atoms `call`, `pos` and `neg`, ordered by source, target and number."""
    names = {constant: name for name, constant in root_states(task, states).items()}
    edges = _Edges(task, names)
    for atom in atoms:
        source, target, number, _, what = atom.arguments
        edges.add(atom.name, (str(source), str(target), number.number), str(what))
    rejecting = frozenset({REJECTING} & set(names.values()))
    return RewardMachine(task.name, tuple(names.values()), edges.ordered(), rejecting=rejecting)


class _Edges:
    """Edges whose parts come one by one, in constants."""

    def __init__(self, task: LearningTask, states: dict[str, str]) -> None:
        self._states = states
        self._order = {constant: position for position, constant in enumerate(states)}
        self._machines = {constant: name for name, constant in constants_of(task).machines.items()}
        self._propositions = {proposition(p): p for p in task.propositions}
        self._callees: dict[Place, str] = {}
        self._literals: dict[str, dict[Place, set[str]]] = {"pos": {}, "neg": {}}

    def add(self, part: str, place: Place, what: str) -> None:
        if part == "call":
            self._callees[place] = self._machines[what]
        else:
            self._literals[part].setdefault(place, set()).add(self._propositions[what])

    def ordered(self) -> tuple[Edge, ...]:
        return tuple(map(self._edge, sorted(self._callees, key=self._rank)))

    def _rank(self, place: Place) -> tuple[int, int, int]:
        source, target, number = place
        return self._order[source], self._order[target], number

    def _edge(self, place: Place) -> Edge:
        formula = conjunction(*(self._literals[sign].get(place, ()) for sign in ("pos", "neg")))
        return Edge(self._states[place[0]], self._states[place[1]], formula, self._callees[place])
