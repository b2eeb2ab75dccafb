"""The checks that modules are loaded with: beartype's, for all functions that it can check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import beartype
from beartype.roar import BeartypeDecorHintPep673Exception, BeartypeDecorHintPep3119Exception


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Checks arguments and results of a function whenever it is called.

    Methods that speak of `Self` stay as they are: they are checked with their class or not at all, and none of them
    takes arrays. So do those that take a protocol, such as an agent, which cannot be checked.
    """
    try:
        return beartype(function)
    except (BeartypeDecorHintPep673Exception, BeartypeDecorHintPep3119Exception):
        return function
