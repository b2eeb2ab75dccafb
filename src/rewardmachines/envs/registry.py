"""Where domains are found: those of the paper, those that were registered, and those of installed packages.

A package offers a domain as an entry point of the group `rewardmachines.domains`, by the domain's name:

    [project.entry-points."rewardmachines.domains"]
    corridor = "my_package.corridor:CORRIDOR"

It is loaded when somebody asks for the domain, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.craftworld.domain import CRAFTWORLD
from rewardmachines.envs.domain import Domain
from rewardmachines.envs.waterworld.domain import WATERWORLD
from rewardmachines.library import add_task_set, remove_task_set

GROUP: Final = "rewardmachines.domains"
"""Of entry points."""

BUILT_IN: Final[Mapping[str, Domain]] = {known.name: known for known in (CRAFTWORLD, WATERWORLD)}
"""The domains of the paper, by their names."""
_ADDED: Final[dict[str, Domain]] = {}


def register_domain(domain: Domain) -> None:
    """Makes a domain known by its name, to all commands and functions, until the process ends.

    Args:
        domain: The domain. Registering the same one again changes nothing.

    Raises:
        DuplicateNameError: There is another domain of that name.
    """
    if domain.name in BUILT_IN or _ADDED.get(domain.name, domain) is not domain:
        raise DuplicateNameError(f"there is another domain called '{domain.name}'")
    add_task_set(domain.task_set)
    _ADDED[domain.name] = domain


def unregister_domain(name: str) -> None:
    """Forgets a domain that was registered; those of the paper and of installed packages stay."""
    _ADDED.pop(name.casefold(), None)
    remove_task_set(name.casefold())


def domain_names() -> tuple[str, ...]:
    """The names of all domains that can be found; nothing is loaded."""
    return tuple(dict.fromkeys((*BUILT_IN, *_ADDED, *_offered())))


def domains() -> tuple[Domain, ...]:
    """All domains that can be found.

    Raises:
        RewardMachineError: A package offers one that cannot be loaded.
    """
    return tuple(map(domain, domain_names()))


def domain(name: str) -> Domain:
    """The domain of that name, in any case.

    Args:
        name: Such as `craftworld`.

    Returns:
        The domain, loaded from the package that offers it if need be.

    Raises:
        RewardMachineError: There is none, or it cannot be loaded.

    >>> domain("CraftWorld").default_setting
    'op'
    """
    key = name.casefold()
    if found := BUILT_IN.get(key) or _ADDED.get(key):
        return found
    if offer := _offered().get(key):
        register_domain(_loaded(offer))
        return _ADDED[key]
    known = domain_names()
    hint = suggestion(key, known) or f"; there are {', '.join(known)}"
    raise RewardMachineError(f"there is no domain '{name}'{hint}")


def domain_of(setting: str) -> str:
    """The domain that has this setting; the first, should several have one of the same name."""
    for name in domain_names():
        if setting.casefold() in domain(name).settings:
            return name
    known = [setting for each in domains() for setting in each.settings]
    hint = suggestion(setting.casefold(), known) or f"; there are {', '.join(known)}"
    raise RewardMachineError(f"there is no setting '{setting}'{hint}")


def _offered() -> dict[str, EntryPoint]:
    """Entry points of installed packages by the names of their domains."""
    return {offer.name.casefold(): offer for offer in entry_points(group=GROUP)}


def _loaded(offer: EntryPoint) -> Domain:
    """The domain of an entry point. Whatever goes wrong inside another package is told in one line that names it."""
    package = offer.dist.name if offer.dist is not None else offer.value
    where = f"the package '{package}' offers the domain '{offer.name}'"
    try:
        found = offer.load()
    except Exception as problem:
        kind = type(problem).__name__
        raise RewardMachineError(f"{where}, but it cannot be loaded ({kind}: {problem}): update or remove it") from None
    if not isinstance(found, Domain) or found.name != offer.name.casefold():
        raise RewardMachineError(f"{where}, but {offer.value} is no Domain of that name: update or remove it")
    return found
