"""Domains that installed packages offer. They are found by name, and nothing is loaded to find them.

A package offers a domain as an entry point, by the domain's name:

    [project.entry-points."rewardmachines.domains"]
    corridor = "my_package.corridor:CORRIDOR"
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Final

GROUP: Final = "rewardmachines.domains"
"""The group of entry points that are domains."""


def offered_domains() -> dict[str, EntryPoint]:
    """The entry points of installed packages, by the names of the domains that they offer, in lower case."""
    return {offer.name.casefold(): offer for offer in entry_points(group=GROUP)}
