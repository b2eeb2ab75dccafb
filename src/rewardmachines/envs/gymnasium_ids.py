"""The Gymnasium ids of domains, such as `rewardmachines/CraftWorld-OP-v0`, one for each setting.

A domain with one setting only is called by its title alone, as in `rewardmachines/Office-v0`.

Gymnasium gets their entry points and loads the environments when one is made. Where it is not installed, nothing
happens: training does not need it.
"""

from __future__ import annotations

import re
from importlib.util import find_spec

from rewardmachines.core.errors import DuplicateNameError
from rewardmachines.envs.domain import Domain


def ids_of(domain: Domain) -> dict[str, str]:
    """The Gymnasium ids of a domain, each with its setting. Characters that ids cannot have are left out."""
    is_one = len(domain.settings) == 1
    names = {setting: domain.title if is_one else f"{domain.title}-{setting.upper()}" for setting in domain.settings}
    return {f"rewardmachines/{_only_id_characters(name)}-v0": setting for setting, name in names.items()}


def register_ids(domain: Domain) -> None:
    """Makes `gymnasium.make("rewardmachines/CraftWorld-OP-v0", task="book")` work for a domain; also `make_vec`.

    Args:
        domain: One that the registry finds by its name. Registering it again changes nothing.

    Raises:
        DuplicateNameError: Another domain has one of its ids.
    """
    if find_spec("gymnasium") is None:
        return
    import gymnasium  # here, because training must not need it

    options = {
        identifier: {"domain": domain.name, "setting": setting} for identifier, setting in ids_of(domain).items()
    }
    for identifier, own in options.items():
        known = gymnasium.registry.get(identifier)
        if known is not None and known.kwargs != own:
            raise DuplicateNameError(f"the Gymnasium id {identifier} belongs to another domain: change the title")
    for identifier in options.keys() - gymnasium.registry.keys():
        gymnasium.register(
            identifier,
            entry_point="rewardmachines.envs.gymnasium.single:ScenarioEnv",
            vector_entry_point="rewardmachines.envs.gymnasium.vector:ScenarioVectorEnv",
            kwargs=options[identifier],
        )


def unregister_ids(domain: Domain) -> None:
    """Makes Gymnasium forget the ids of a domain."""
    if find_spec("gymnasium") is None:
        return
    import gymnasium

    for identifier in ids_of(domain):
        gymnasium.registry.pop(identifier, None)


def _only_id_characters(text: str) -> str:
    return re.sub(r"[^\w:.-]+", "", text)
