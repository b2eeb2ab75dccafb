"""Environments by the names of the functions that make them, `module:function`, for all commands."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.gymnasium.episode_records import ReplayWarning
from rewardmachines.agents.gymnasium.observations import CHANNELS_FIRST, Encode
from rewardmachines.cli.run_options import find_modules_here
from rewardmachines.cli.shared import tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEndWarning
from rewardmachines.runs.config_file import command_of
from rewardmachines.runs.named_function import named_function

_ENV: Final = re.compile(r"(?:(?P<task>[^=]+)=)?(?P<function>[\w.]+:[\w.]+)(?:@(?P<level>\d{1,3}))?")
_MAKE: Final = "make_"
"""What the names of functions that make environments often begin with."""


def environment_function(name: str, purpose: str) -> Callable[..., Any]:
    """Imports the function that makes an environment. Modules of the present folder are found.

    Args:
        name: The name of the function, `module:function`.
        purpose: What it makes, for messages, such as "the environment of 'key'".

    Raises:
        RewardMachineError: There is no such function.
    """
    find_modules_here()
    return named_function(name, purpose, is_asked_for=True)


def encoding(name: str | None) -> Encode | None:
    """What `--encode` names: `channels-first`, or a function, whose module is imported. None stays None.

    Raises:
        RewardMachineError: There is no such function.
    """
    if name is None or name == CHANNELS_FIRST:
        return None if name is None else CHANNELS_FIRST
    return environment_function(name, "encode")


@dataclass(frozen=True)
class NamedTask:
    """A task whose environment a function makes."""

    name: str
    level: int
    function: str
    """The name of the function, `module:function`."""

    def make_env(self) -> Callable[[], Any]:
        """The function that makes its environment; its module is imported."""
        return environment_function(self.function, f"the environment of '{self.name}'")


def read_task(text: str) -> NamedTask:
    """Reads `[TASK=]MODULE:FUNCTION[@LEVEL]`.

    >>> read_task("my_lake:make_hut"), read_task("round trip=my_lake:make@2").level
    (NamedTask(name='hut', level=1, function='my_lake:make_hut'), 2)
    """
    found = _ENV.fullmatch(text)
    if found is None:
        raise RewardMachineError(f"--env {text}: write [TASK=]MODULE:FUNCTION[@LEVEL], such as hut=my_lake:make_hut@1")
    function = found["function"]
    own = function.rpartition(":")[2].rpartition(".")[2]
    name = found["task"] or own.removeprefix(_MAKE) or own
    return NamedTask(name, int(found["level"] or 1), function)


def is_run_of(folder: Path | None, command: str) -> bool:
    """Whether a folder holds a run that this command, as `config.json` calls it, has made."""
    config = None if folder is None else folder / "config.json"
    return config is not None and config.exists() and command_of(config) == command


def refuse(given: Mapping[str, bool]) -> None:
    """Refuses options that mean nothing for environments of somebody else.

    Args:
        given: The options by name, and whether each is given.

    Raises:
        RewardMachineError: One of them is.
    """
    if foreign := [name for name, is_given in given.items() if is_given]:
        more = ": start the command once for each --seed" if foreign[0] == "--seeds" else ": leave it out"
        raise RewardMachineError(f"environments of your own go without {foreign[0]}{more}")


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Prints warnings as lines, without the place in the code where they come from."""
    with warnings.catch_warnings():
        for category in (DeadEndWarning, ReplayWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = lambda message, *_args, **_options: tell(f"warning: {message}")
        yield
