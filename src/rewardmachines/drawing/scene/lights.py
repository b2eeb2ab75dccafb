"""The states and calls that are lit in a drawing of a running hierarchy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rewardmachines.core.machine import Edge
from rewardmachines.core.traversal import HierarchyState


@dataclass(frozen=True, slots=True)
class Lights:
    """States are pairs of a machine and a state of it; `calls` are the edges that callers wait on, by machine."""

    present: tuple[str, str] | None = None
    waiting: frozenset[tuple[str, str]] = frozenset()
    calls: frozenset[tuple[str, str, str, str]] = frozenset()

    def is_called(self, machine: str, edge: Edge) -> bool:
        """Whether the machine waits for the callee of this edge."""
        return (machine, edge.source, edge.target, edge.callee) in self.calls


NO_LIGHTS: Final = Lights()


def lights_at(state: HierarchyState | None) -> Lights:
    """The present state, the states in which its callers wait, and their calls."""
    if state is None:
        return NO_LIGHTS
    return Lights(
        present=(state.machine, state.state),
        waiting=frozenset((call.caller, call.source) for call in state.stack),
        calls=frozenset((call.caller, call.source, call.target, call.callee) for call in state.stack),
    )
