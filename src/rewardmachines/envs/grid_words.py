"""Propositions of grid worlds in plain words: a colour that may be left out, a thing, and what is the case with it.

`red-key-carried`, `door-open` and `goal-here` are such propositions. Which words there are depends on the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion


@dataclass(frozen=True)
class Fact:
    """One thing that is the case: which relation holds of what kind of thing, in which colour (None is any)."""

    relation: str
    kind: str
    colour: str | None


@dataclass(frozen=True)
class Vocabulary:
    """The words of a family of grid worlds."""

    title: str
    """The name of the family in messages."""
    colours: tuple[str, ...]
    relations: Mapping[str, tuple[str, ...]]
    """The relations, each with the kinds of things that it can hold of."""

    @cached_property
    def propositions(self) -> tuple[str, ...]:
        """All propositions that can be asked for."""
        return tuple(
            f"{colour}{kind}-{relation}"
            for relation, kinds in self.relations.items()
            for kind in kinds
            for colour in ("", *(f"{colour}-" for colour in self.colours))
        )

    def read(self, proposition: str) -> Fact:
        """The fact that a proposition states.

        Args:
            proposition: Such as `red-key-carried`.

        Raises:
            RewardMachineError: There is no such proposition.
        """
        if proposition not in self.propositions:
            hint = suggestion(proposition, self.propositions) or "; write such as red-key-carried or door-open"
            raise RewardMachineError(f"{self.title} has no proposition '{proposition}'{hint}")
        *colour, kind, relation = proposition.split("-")
        return Fact(relation, kind, colour[0] if colour else None)
