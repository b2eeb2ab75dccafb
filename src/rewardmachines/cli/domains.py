"""Arguments that name a domain and its settings. What there is to choose from is looked up when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Annotated, Final, TypeAlias

import tyro
from tyro.constructors import PrimitiveConstructorSpec

GROUP: Final = "rewardmachines.domains"
"""Of entry points, as in `rewardmachines.envs.registry`."""


def _read(words: Sequence[str]) -> str | None:
    """The name of a domain, in lower case."""
    from rewardmachines.envs.registry import domain_names  # needs JAX, which the help of a command should not wait for

    known = domain_names()
    if words[0].casefold() not in known:
        # What the parser itself says of wrong choices, so that both are reworded alike.
        choices = ", ".join(f"'{name}'" for name in known)
        raise ValueError(f"invalid choice '{words[0]}' for argument 'domain'. Expected one of ({choices})")
    return words[0].casefold()


def load_offered() -> None:
    """Loads the domains that installed packages offer, so that the library knows their tasks."""
    if entry_points(group=GROUP):
        from rewardmachines.envs.registry import domains  # needs JAX, which nobody should wait for without need

        domains()


_CHOICE = PrimitiveConstructorSpec[str | None](
    nargs=1,
    metavar="DOMAIN",
    instance_from_str=_read,
    is_instance=lambda value: value is None or isinstance(value, str),
    str_from_instance=lambda value: [str(value)],
)

DomainChoice: TypeAlias = Annotated[str, _CHOICE, tyro.conf.Positional]
"""A domain that must be given."""
OptionalDomainChoice: TypeAlias = Annotated[str | None, _CHOICE, tyro.conf.Positional]
"""A domain, unless the folder of a run tells."""
SettingChoice: TypeAlias = Annotated[str | None, tyro.conf.arg(metavar="SETTING")]
"""A setting of the domain, or None for its default."""
