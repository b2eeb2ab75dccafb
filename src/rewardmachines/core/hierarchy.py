"""Hierarchies of reward machines: machines that call each other, and one of them the root (Definition 1)."""

from __future__ import annotations

import difflib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rewardmachines.core.errors import (
    CircularCallError,
    DuplicateNameError,
    TerminalInitialError,
    TooLargeError,
    UnknownMachineError,
    UnknownPropositionError,
)
from rewardmachines.core.machine import LEAF, Edge, RewardMachine, location

MAX_HEIGHT: Final = 200
"""Calls nested deeper than this are refused: far beyond any use, and within reach of a plain recursion."""


@dataclass(frozen=True)
class Hierarchy:
    """H = ⟨machines, root, propositions⟩; the leaf is always there and not listed.

    Checked when built: names exist, no machine calls itself, directly or through others. Machines that the root
    never calls may be there too. Whether it is deterministic is a question for `check_determinism`.
    """

    root: str
    machines: tuple[RewardMachine, ...]
    propositions: tuple[str, ...] = ()
    heights: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, RewardMachine] = field(init=False, repr=False, compare=False)
    _memo: dict[str, Any] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        by_name = {m.name: m for m in self.machines}
        if len(by_name) != len(self.machines):
            names = [m.name for m in self.machines]
            raise DuplicateNameError(f"two machines are called '{next(n for n in names if names.count(n) > 1)}'")
        object.__setattr__(self, "_by_name", by_name)
        if not self.propositions:
            mentioned = frozenset().union(*(m.propositions for m in self.machines))
            object.__setattr__(self, "propositions", tuple(sorted(mentioned)))
        self._check_names()
        object.__setattr__(self, "heights", _heights(by_name))
        if (highest := max(self.heights.values())) > MAX_HEIGHT:
            raise TooLargeError(f"calls are nested {highest} deep: at most {MAX_HEIGHT} are allowed")

    def _check_names(self) -> None:
        if self.root not in self._by_name:
            raise UnknownMachineError(f"the root '{self.root}' is not a machine{suggestion(self.root, self._by_name)}")
        known = set(self.propositions)
        if len(known) != len(self.propositions):
            twice = next(p for p in self.propositions if self.propositions.count(p) > 1)
            raise DuplicateNameError(f"the proposition '{twice}' is declared twice")
        for machine in self.machines:
            for edge in machine.edges:
                self._check_edge(machine, edge, known)

    def _check_edge(self, machine: RewardMachine, edge: Edge, propositions: Container[str]) -> None:
        subject = (machine.name, edge)
        if unknown := sorted(p for p in edge.formula.propositions if p not in propositions):
            hint = suggestion(unknown[0], self.propositions)
            raise UnknownPropositionError(
                f"{location(machine, edge)}: the proposition '{unknown[0]}' is not declared{hint}", subject
            )
        if edge.calls_leaf:
            return
        callee = self._by_name.get(edge.callee)
        if callee is None:
            hint = suggestion(edge.callee, self._by_name)
            raise UnknownMachineError(f"{location(machine, edge)}: there is no machine '{edge.callee}'{hint}", subject)
        if callee.is_terminal(callee.initial):
            raise TerminalInitialError(
                f"{location(machine, edge)}: a machine whose initial state is terminal cannot be called", subject
            )

    def __getitem__(self, name: str) -> RewardMachine:
        try:
            return self._by_name[name]
        except KeyError:
            raise UnknownMachineError(f"there is no machine '{name}'{suggestion(name, self._by_name)}") from None

    def __iter__(self) -> Iterator[RewardMachine]:
        return iter(self.machines)

    def __len__(self) -> int:
        return len(self.machines)

    @property
    def height(self) -> int:
        """The height of the root: how many calls are nested before the leaf is reached."""
        return self.heights[self.root]

    @property
    def is_flat(self) -> bool:
        """Whether the root calls no machine but the leaf."""
        return not self[self.root].callees

    def reachable(self) -> tuple[RewardMachine, ...]:
        """The machines that the root calls, directly or not: the root first, then in the order of the calls."""
        machines = {self.root: self[self.root]}
        queue = [self.root]
        while queue:
            for edge in self[queue.pop(0)].edges:
                if not edge.calls_leaf and edge.callee not in machines:
                    machines[edge.callee] = self[edge.callee]
                    queue.append(edge.callee)
        return tuple(machines.values())

    @property
    def used_propositions(self) -> tuple[str, ...]:
        """The propositions that the formulas of reachable machines mention, in the order of `propositions`."""
        mentioned = frozenset().union(*(machine.propositions for machine in self.reachable()))
        return tuple(proposition for proposition in self.propositions if proposition in mentioned)

    def rooted(self, root: str) -> Hierarchy:
        """The hierarchy of one of the machines: it and what it calls."""
        whole = Hierarchy(root, self.machines, self.propositions)
        return Hierarchy(root, whole.reachable(), self.propositions)


def hierarchy(*machines: RewardMachine, root: str | None = None, propositions: Iterable[str] = ()) -> Hierarchy:
    """A hierarchy of these machines.

    Args:
        machines: All machines, those that are called included.
        root: The name of the machine to begin with; the first one, if not given.
        propositions: Those that environments show, if there are more than formulas mention.

    Raises:
        RewardMachineError: A machine is missing, is there twice, or calls itself, directly or not.

    >>> from rewardmachines import hierarchy, machine
    >>> hierarchy(machine("root", [("u0", "uA", "true", "leg")]), machine("leg", [("u0", "uA", "a")])).height
    2
    """
    if not machines:
        raise UnknownMachineError("a hierarchy needs at least one machine")
    return Hierarchy(root or machines[0].name, machines, tuple(propositions))


def suggestion(name: str, known: Iterable[str]) -> str:
    """A suggestion of a similar name, as the end of a message."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _heights(machines: Mapping[str, RewardMachine]) -> dict[str, int]:
    """Leaf first, without recursion: a hierarchy may be thousands of calls deep."""
    heights = {LEAF: 0}
    waiting: list[str] = list(machines)[::-1]
    path: dict[str, None] = {}
    while waiting:
        name = waiting[-1]
        if name in heights:
            waiting.pop()
            continue
        callees = sorted(machines[name].callees - heights.keys())
        if not callees:
            heights[name] = 1 + max((heights[c] for c in machines[name].callees), default=0)
            path.pop(name, None)
            waiting.pop()
            continue
        path[name] = None
        for callee in callees:
            if callee in path:
                names = list(path)
                circle = [*names[names.index(callee) :], callee]
                raise CircularCallError(f"machines call each other in a circle: {' -> '.join(circle)}")
        waiting.extend(callees)
    del heights[LEAF]
    return heights
