"""Arguments that name a domain and its settings. What there is to choose from is looked up when they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from rewardmachines.library import domain_names, missing_extra, offered_domains
from rewardmachines.library.task_sets import find_task_set


def _read(words: Sequence[str]) -> str | None:
    """The name of a domain, in lower case."""
    known = domain_names()
    if words[0].casefold() not in known:
        if (missing := missing_extra(words[0])) is not None:
            raise ValueError(missing)
        # The parser's own wording for wrong choices, so that both are reworded alike.
        choices = ", ".join(f"'{name}'" for name in known)
        raise ValueError(f"invalid choice '{words[0]}' for argument 'domain'. Expected one of ({choices})")
    return words[0].casefold()


def load_offered_domains() -> None:
    """Loads all domains that installed packages offer, so that the library knows their tasks.

    Raises:
        RewardMachineError: One of them cannot be loaded.
    """
    for name in offered_domains():
        load_domain_of(name)


def load_domain_of(name: str) -> None:
    """Loads the domain of a task of the library if only an installed package knows it; once, and nothing else.

    Args:
        name: A domain or one of its tasks, such as `craftworld` or `craftworld/book`.

    Raises:
        RewardMachineError: The domain cannot be loaded.
    """
    domain_name = name.partition("/")[0].casefold()
    if find_task_set(domain_name) is None and domain_name in offered_domains():
        from rewardmachines.envs.registry import domain  # needs JAX, which takes long to load

        domain(domain_name)


_CHOICE = PrimitiveConstructorSpec[str | None](
    nargs=1,
    metavar="DOMAIN",
    instance_from_str=_read,
    is_instance=lambda value: value is None or isinstance(value, str),
    str_from_instance=lambda value: ["none" if value is None else value],
)

_HELP: Final = tyro.conf.arg(help=f"Where to act: {', '.join(domain_names())}.")

DomainChoice: TypeAlias = Annotated[str, _CHOICE, _HELP, tyro.conf.Positional]
"""A domain that must be given."""
OptionalDomainChoice: TypeAlias = Annotated[str | None, _CHOICE, _HELP, tyro.conf.Positional]
"""A domain, unless another is usual."""
Where: TypeAlias = Annotated[
    str | None,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="WHERE",
        help=f"Where to act: {', '.join(domain_names())}; or an environment of your own: MODULE:FUNCTION that makes it,"
        " wrapped in LabelingWrapper, or its Gymnasium id. Modules in the present folder are found.",
    ),
]
"""A domain or an environment, unless the folder of a run names it."""
SettingChoice: TypeAlias = Annotated[
    str | None,
    tyro.conf.arg(metavar="SETTING", help="One of the domain's settings, such as op; its first if not given."),
]
"""A setting of the domain, or None for its default."""
