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

EdgeKey: TypeAlias = tuple[str, str, int]
"""Source, target and number: what makes an edge of the root."""


def machine_of(atoms: Iterable[clingo.Symbol], task: LearningTask, states: int) -> RewardMachine:
    """The root whose edges are the atoms `call`, `pos` and `neg`, ordered by source, target and number."""
    names = {constant: name for name, constant in root_states(task, states).items()}
    edges = _Edges(task, names)
    for atom in atoms:
        source, target, number, _, constant = atom.arguments
        edges.add(atom.name, (str(source), str(target), number.number), str(constant))
    rejecting = frozenset({REJECTING} & set(names.values()))
    return RewardMachine(task.name, tuple(names.values()), edges.ordered(), rejecting=rejecting)


class _Edges:
    """Edges whose parts come one by one, in constants."""

    def __init__(self, task: LearningTask, states: dict[str, str]) -> None:
        self._states = states
        self._order = {constant: position for position, constant in enumerate(states)}
        self._machines = {constant: name for name, constant in constants_of(task).machines.items()}
        self._propositions = {proposition(p): p for p in task.propositions}
        self._callees: dict[EdgeKey, str] = {}
        self._literals: dict[str, dict[EdgeKey, set[str]]] = {"pos": {}, "neg": {}}

    def add(self, part: str, key: EdgeKey, constant: str) -> None:
        """Takes in an atom: `call` with a machine, `pos` or `neg` with a proposition."""
        if part == "call":
            self._callees[key] = self._machines[constant]
        else:
            self._literals[part].setdefault(key, set()).add(self._propositions[constant])

    def ordered(self) -> tuple[Edge, ...]:
        return tuple(map(self._edge, sorted(self._callees, key=self._rank)))

    def _rank(self, key: EdgeKey) -> tuple[int, int, int]:
        source, target, number = key
        return self._order[source], self._order[target], number

    def _edge(self, key: EdgeKey) -> Edge:
        formula = conjunction(*(self._literals[sign].get(key, ()) for sign in ("pos", "neg")))
        return Edge(self._states[key[0]], self._states[key[1]], formula, self._callees[key])
