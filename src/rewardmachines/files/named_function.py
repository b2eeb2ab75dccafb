"""Functions by name, such as `my_lake:make`: the settings of a run name them, and hold no code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from typing import Any

from rewardmachines.core.errors import RewardMachineError


def name_of(function: Callable[..., Any]) -> str | None:
    """The name by which another process finds a function, `module:function`; None if there is none.

    Functions that depend on variables around them have none, and those of a script that is run have none either:
    importing the script would run it.

    >>> from collections import Counter
    >>> name_of(Counter), name_of(lambda: 0)
    ('collections:Counter', None)
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = attrgetter(name)(sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return f"{module}:{name}" if found is function else None


def named_function(name: str, purpose: str, *, is_asked_for: bool = False) -> Callable[..., Any]:
    """Imports a function. Code of its module is run, so a line on standard error says which module it is.

    Args:
        name: The name, `module:function`.
        purpose: The purpose of the function, for messages, such as "the environment of 'key'".
        is_asked_for: Whether the user has just asked for this function by its name, so that no line is needed.

    Raises:
        RewardMachineError: There is no such function.
    """
    module, _, path = name.partition(":")
    if not module or not path:
        raise RewardMachineError(f"{purpose} is named as module:function, not '{name}'")
    if not is_asked_for and module not in sys.modules:
        print(f"importing {module}, for {purpose} ({name})", file=sys.stderr, flush=True)
    try:
        found = attrgetter(path)(import_module(module))
    except Exception as problem:  # whatever the module does when it is imported
        kind = type(problem).__name__
        raise RewardMachineError(f"{purpose} cannot be found as {name} ({kind}: {problem})") from None
    if not callable(found):
        raise RewardMachineError(f"{purpose} cannot be made: {name} is not a function")
    function: Callable[..., Any] = found
    return function
