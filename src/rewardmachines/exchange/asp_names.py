"""Names as answer set programs can spell them."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import LEAF, RewardMachine

ROOT: Final = "mr"
TOP: Final = "mtop"
INITIAL: Final = "u0"
ACCEPTING: Final = "ua"
REJECTING: Final = "ur"

_KEYWORDS: Final = frozenset({"not"})
_CONSTANT: Final = re.compile(r"[a-z][a-z0-9_]*")


def proposition(name: str) -> str:
    """The name itself if it can be a constant, in double quotes otherwise; no two names are spelled alike.

    >>> print(proposition("iron"), proposition("Iron ore"), proposition("not"))
    iron "Iron ore" "not"
    """
    if _CONSTANT.fullmatch(name) and name not in _KEYWORDS:
        return name
    return '"' + printable(name).replace("\\", "\\\\").replace('"', '\\"') + '"'


def printable(name: str) -> str:
    r"""The name on one line: backslashes doubled, characters that cannot be printed as `\u{...}`."""
    return "".join(
        "\\\\" if character == "\\" else character if character.isprintable() else f"\\u{{{ord(character):x}}}"
        for character in name
    )


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of a hierarchy's machines and, by machine, of their states.

    All accepting states of a machine are `ua` and all rejecting ones `ur`: nothing leaves them, so they are alike. The
    initial state is `u0` even where it is terminal.
    """

    machines: dict[str, str]
    states: dict[str, dict[str, str]]

    @staticmethod
    def of(hierarchy: Hierarchy) -> Constants:
        """The constants of a hierarchy's machines and states."""
        machines = {LEAF: TOP, hierarchy.root: ROOT}
        for machine in hierarchy.reachable():
            if machine.name != hierarchy.root:
                machines[machine.name] = _fresh(machine.name, "m", {*machines.values()})
        return Constants(machines, {machine.name: _states(machine) for machine in hierarchy.reachable()})


def _states(machine: RewardMachine) -> dict[str, str]:
    taken = {INITIAL, ACCEPTING, REJECTING}
    constants: dict[str, str] = {}
    for state in machine.states:
        if state == machine.initial:
            constants[state] = INITIAL
        elif machine.is_terminal(state):
            constants[state] = ACCEPTING if state in machine.accepting else REJECTING
        else:
            constants[state] = _fresh(state, "u", taken)
            taken.add(constants[state])
    return constants


def _fresh(name: str, prefix: str, taken: Container[str]) -> str:
    """A constant that resembles the name; numbered if that one is taken."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if not plain[:1].isalpha():
        plain = f"{prefix}_{plain}".rstrip("_")
    constant, number = plain, 1
    while constant in taken or constant in _KEYWORDS:
        number += 1
        constant = f"{plain}_{number}"
    return constant
