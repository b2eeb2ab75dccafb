"""XLand-MiniGrid itself: loaded when it is needed, and asked for its worlds."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.grid_words import Vocabulary
from rewardmachines.files.extras import to_install

KINDS: Final = ("wall", "ball", "square", "pyramid", "goal", "key", "door", "hex", "star")
"""The kinds of things of the suite. Doors are locked, closed or open."""
COLOURS: Final = ("red", "green", "blue", "purple", "yellow", "grey", "black", "orange", "white", "brown", "pink")
"""The colours of the suite."""
ACTIONS: Final = ("forward", "turn right", "turn left", "pick up", "put down", "toggle")
"""The name of each action, by its number in the suite."""
VOCABULARY: Final = Vocabulary(
    title="XLand-MiniGrid",
    colours=COLOURS,
    relations={
        "carried": ("ball", "square", "pyramid", "key", "hex", "star"),
        "ahead": KINDS,
        "here": ("door", "goal"),
        "open": ("door",),
        "closed": ("door",),
        "locked": ("door",),
    },
)
"""The words of the suite."""


def part(name: str) -> Any:
    """A module of the suite. It is imported late, because it is an extra.

    Args:
        name: The module's name, such as `core.constants`; the package itself, if empty.

    Raises:
        RewardMachineError: The suite is not installed.
    """
    try:
        return import_module(f"xminigrid.{name}" if name else "xminigrid")
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] != "xminigrid":
            raise
        raise RewardMachineError(f"XLand-MiniGrid is not installed: {to_install('xland')}") from None


def tile_numbers(kind: str) -> tuple[int, ...]:
    """The numbers that a kind of thing has in grids of the suite: three for doors, one for all others.

    The numbers are those of the suite itself, so that another version of it may change them.
    """
    tiles = part("core.constants").Tiles
    names = ("DOOR_LOCKED", "DOOR_CLOSED", "DOOR_OPEN") if kind == "door" else (kind.upper(),)
    return tuple(int(getattr(tiles, name)) for name in names)


def colour_number(colour: str) -> int:
    """The number that a colour has in grids of the suite."""
    return int(getattr(part("core.constants").Colors, colour.upper()))


@cache
def world_of(identifier: str, things: tuple[str, ...]) -> tuple[Any, Any]:
    """An environment of the suite with its parameters.

    Args:
        identifier: One of its ids, such as `XLand-MiniGrid-R4-9x9`.
        things: The objects of environments of XLand, such as `red-ball`. Others have things of their own.

    Raises:
        RewardMachineError: There is no such environment, it has things of its own, or there is no such thing.
    """
    suite = part("")
    known = suite.registered_environments()
    if identifier not in known:
        raise RewardMachineError(f"XLand-MiniGrid has no environment '{identifier}'{suggestion(identifier, known)}")
    environment, parameters = suite.make(identifier)
    if not things:
        return environment, parameters
    if not hasattr(parameters, "ruleset"):
        raise RewardMachineError(f"'{identifier}' has things of its own: leave out {', '.join(things)}")
    import jax.numpy as jnp  # here, because the suite's words are read where JAX is not needed

    tiles = jnp.asarray([_tile(thing) for thing in things], jnp.uint8)
    return environment, parameters.replace(ruleset=parameters.ruleset.replace(init_tiles=tiles))


def _tile(thing: str) -> tuple[int, int]:
    colour, _, kind = thing.partition("-")
    if colour not in COLOURS or kind not in VOCABULARY.relations["carried"]:
        raise RewardMachineError(f"XLand-MiniGrid has no '{thing}' that lies about: write such as red-ball")
    return tile_numbers(kind)[0], colour_number(colour)
