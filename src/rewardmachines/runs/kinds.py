"""Algorithms beside training and LHRM, by the name of the agent that configs give: the flat baselines of studies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rewardmachines.core.errors import DuplicateNameError
from rewardmachines.rollout.algorithm import ChunkedRun


@dataclass(frozen=True)
class AlgorithmKind:
    """An algorithm that runs in a domain, in folders like all others, and trains no policies."""

    agent: str
    """The name of the agent in configs, which is none of `agents/registry`."""
    settings: Callable[[str], type[Any]]
    """The class of its settings, by the name of the learner of machines."""
    make: Callable[[Any, Any], ChunkedRun]
    """Makes the algorithm of a `RunConfig` and of its `Scenario`."""


_KINDS: Final[dict[str, AlgorithmKind]] = {}


def register_algorithm(kind: AlgorithmKind) -> None:
    """Registers an algorithm by the name of its agent, until the process ends.

    Raises:
        DuplicateNameError: There is another algorithm of that name.
    """
    if _KINDS.get(kind.agent, kind) != kind:
        raise DuplicateNameError(f"there is another algorithm called '{kind.agent}'")
    _KINDS[kind.agent] = kind


def algorithm_kind(agent: str) -> AlgorithmKind | None:
    """The registered algorithm of a name; None for the agents that training and LHRM know."""
    return _KINDS.get(agent)
