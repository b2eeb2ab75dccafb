"""The registry of domains: those of the paper, classics, registered ones, and those of installed packages.

`rewardmachines.library.offered` describes the entry points of packages. They are loaded on first use, not
before. Domains that are registered or loaded get Gymnasium ids, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Final

from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.classic.domain import CRAFT, OFFICE
from rewardmachines.envs.craftworld.domain import CRAFTWORLD
from rewardmachines.envs.domain import Domain
from rewardmachines.envs.gymnasium_ids import ids_of, register_ids, unregister_ids
from rewardmachines.envs.waterworld.domain import WATERWORLD
from rewardmachines.library import add_task_set, domain_names, missing_extra, offered_domains, remove_task_set

BUILT_IN: Final[Mapping[str, Domain]] = {known.name: known for known in (CRAFTWORLD, WATERWORLD)}
"""The domains of the paper, by their names."""
CLASSIC: Final[Mapping[str, Domain]] = {known.name: known for known in (OFFICE, CRAFT)}
"""The domains in which reward machines were first tried, by their names."""
_ADDED: Final[dict[str, Domain]] = {}
"""The domains that were registered or loaded, by their names."""
IDS: Final = {
    identifier: (known.name, setting) for known in BUILT_IN.values() for identifier, setting in ids_of(known).items()
}
"""The Gymnasium ids of the domains of the paper, each with the domain's name and a setting."""


def register() -> None:
    """Makes the built-in domains known to Gymnasium. Importing `rewardmachines.envs` does it where it can."""
    for known in (*BUILT_IN.values(), *CLASSIC.values()):
        register_ids(known)


def register_domain(domain: Domain) -> None:
    """Makes a domain known by its name, to all commands and functions, until the process ends.

    Args:
        domain: The domain. Registering the same one again changes nothing.

    Raises:
        DuplicateNameError: There is another domain of that name or title.
    """
    if domain.name in (*BUILT_IN, *CLASSIC) or _ADDED.get(domain.name, domain) is not domain:
        raise DuplicateNameError(f"there is another domain called '{domain.name}'")
    register_ids(domain)
    add_task_set(domain.task_set)
    _ADDED[domain.name] = domain


def unregister_domain(name: str) -> None:
    """Forgets a domain that was registered; built-in ones and those of installed packages stay."""
    if (known := _ADDED.pop(name.casefold(), None)) is not None:
        unregister_ids(known)
        remove_task_set(known.name)


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
    if known := BUILT_IN.get(key) or CLASSIC.get(key) or _ADDED.get(key):
        return known
    if offer := offered_domains().get(key):
        register_domain(_loaded(offer))
        return _ADDED[key]
    if (missing := missing_extra(key)) is not None:
        raise RewardMachineError(missing)
    names = domain_names()
    hint = suggestion(key, names) or f"; there are {', '.join(names)}"
    raise RewardMachineError(f"there is no domain '{name}'{hint}")


def domain_of(setting: str) -> str:
    """The name of the domain that has a setting.

    Args:
        setting: The name of the setting, in any case.

    Returns:
        The first domain with such a setting, should there be several.

    Raises:
        RewardMachineError: No domain has one.
    """
    key = setting.casefold()
    for registered in (*BUILT_IN.values(), *CLASSIC.values(), *_ADDED.values()):
        if key in registered.settings:
            return registered.name
    for name in domain_names():  # asks all installed packages what they offer, for milliseconds
        if key in domain(name).settings:
            return name
    known = [setting for each in domains() for setting in each.settings]
    hint = suggestion(key, known) or f"; there are {', '.join(known)}"
    raise RewardMachineError(f"there is no setting '{setting}'{hint}")


def _loaded(offer: EntryPoint) -> Domain:
    """The domain of an entry point. An error inside another package becomes one line that names the package."""
    package = offer.dist.name if offer.dist is not None else offer.value
    offered = f"the package '{package}' offers the domain '{offer.name}'"
    try:
        loaded = offer.load()
    except Exception as problem:
        kind = type(problem).__name__
        raise RewardMachineError(
            f"{offered}, but it cannot be loaded ({kind}: {problem}): update or remove it"
        ) from None
    if not isinstance(loaded, Domain) or loaded.name != offer.name.casefold():
        raise RewardMachineError(f"{offered}, but {offer.value} is no Domain of that name: update or remove it")
    return loaded
