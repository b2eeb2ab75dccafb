"""Domains that installed packages offer. They are found by name, and nothing is loaded to find them.

A package offers a domain as an entry point, by the domain's name:

    [project.entry-points."rewardmachines.domains"]
    corridor = "my_package.corridor:CORRIDOR"
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Final

from rewardmachines.files.extras import to_install

GROUP: Final = "rewardmachines.domains"
"""The group of entry points that are domains."""


_OWN: Final[Mapping[str, tuple[str, EntryPoint]]] = {
    "xland": ("xminigrid", EntryPoint("xland", "rewardmachines.envs.xland.domain:XLAND", GROUP))
}
"""Domains that this package has for worlds of others, each with the package that it needs: an extra of the domain's
name installs it."""


def offered_domains() -> dict[str, EntryPoint]:
    """The entry points of domains that can be loaded, by the names of the domains, in lower case.

    These are our own for worlds of other packages, if those are installed, and those that other packages offer.
    """
    own = {name: offer for name, (needed, offer) in _OWN.items() if find_spec(needed) is not None}
    return own | {offer.name.casefold(): offer for offer in entry_points(group=GROUP)}


def missing_extra(name: str) -> str | None:
    """A hint on how to install a domain of another package; None if there is no such domain.

    >>> missing_extra("craftworld")
    """
    needed = _OWN.get(name.casefold())
    if needed is None or find_spec(needed[0]) is not None:
        return None
    return f"the domain '{name.casefold()}' needs another package: {to_install(name.casefold())}"
