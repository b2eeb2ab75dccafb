"""What commands that make runs have in common: where to act, how, and where to keep it."""

from __future__ import annotations

import glob
import os
import re
import sys
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import jax

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.cli.arguments.of_runs import Device, RunArguments
from rewardmachines.cli.numbers import read_whole
from rewardmachines.cli.shared import Command
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenario import BASE_SEED, INSTANCES
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.compiled_cache import keep_compiled
from rewardmachines.runs.config_file import difference

_PLATFORMS: Final = "JAX_PLATFORMS"
"""The environment variable that tells JAX where to compute."""
FRESH: Final = "fresh"
"""What is written instead of a number of instances to learn in fresh ones."""
_UNITS: Final = {"s": 1, "m": 60, "h": 3600}


def read_budget(text: str) -> Budget:
    """A number of steps, or a time with its unit.

    >>> read_budget("1.5h")
    Budget(steps=None, episodes=None, seconds=5400.0)
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?) ?([smh])", text.strip())
    if found is not None and (seconds := float(found[1]) * _UNITS[found[2]]):
        return Budget(seconds=seconds)
    try:
        steps = read_whole(text)
    except ValueError:
        steps = 0
    if steps < 1:
        raise RewardMachineError(
            f"--budget {text}: write a number of steps, such as 500000 or 1e6, or a time, such as 90s, 30m or 2h"
        )
    return Budget(steps=steps)


@dataclass(frozen=True)
class RunCommand(RunArguments, Command, ABC):
    """A command that makes a run."""

    hears_interrupt: ClassVar[bool] = True
    typed: frozenset[str] = frozenset()
    """The names of the arguments that were typed, also with their default values."""

    def _is_given(self, name: str) -> bool:
        """Whether an argument is given: it was typed, or has another value than its default."""
        return name in self.typed or bool(getattr(self, name) != getattr(type(self), name))

    def _given_places(self, spec: Any) -> dict[str, Any]:
        """The fields of the specification of a run that arguments say where, how long and with which seed.

        Args:
            spec: The specification that the run was begun with.
        """
        plain = ("setting", "seed", "max_steps", "instance_seed")
        given = {name: getattr(self, name) for name in plain if self._is_given(name)}
        if self._is_given("instances"):
            given |= {"fresh": spec.fresh or 1} if self._is_fresh else {"instances": self._instance_count, "fresh": 0}
        return given

    @property
    def _is_fresh(self) -> bool:
        """Whether to learn in fresh instances."""
        return self.instances == FRESH

    @property
    def _instance_count(self) -> int | None:
        """The number of instances that is given; None if there is none.

        Raises:
            RewardMachineError: It is neither a number nor the word for fresh instances.
        """
        if self.instances is None or self._is_fresh:
            return None
        try:
            return read_whole(self.instances)
        except ValueError:
            raise RewardMachineError(f"--instances {self.instances}: write a number, or fresh") from None

    @property
    def _own_beginnings(self) -> int | None:
        """The number of fixed beginnings of an environment of one's own; None for any.

        Raises:
            RewardMachineError: Fresh instances are asked for, which only a domain can draw.
        """
        if self._is_fresh:
            raise RewardMachineError("--instances fresh: only a domain draws instances; without --instances, an "
                                     "environment of your own begins anywhere")  # fmt: skip
        return self._instance_count

    @property
    def _first_seed(self) -> int:
        """The seed of the first instance."""
        return BASE_SEED if self.instance_seed is None else self.instance_seed

    def _grids(self, most: int | None = None) -> dict[str, int]:
        """The instances of a domain, as fields of a specification; of fresh ones, the domain says how many there are.

        Args:
            most: The largest number of instances, if there is one.
        """
        seed = {} if self._is_fresh and self.instance_seed is None else {"instance_seed": self._first_seed}
        if self._is_fresh:
            return seed
        count = INSTANCES if self._instance_count is None else self._instance_count
        return seed | {"instances": count if most is None else min(count, most)}

    def _limits(self) -> Budget:
        """The limits that are given on the command line."""
        limits = Budget() if self.budget is None else read_budget(self.budget)
        return replace(limits, episodes=self.episodes)

    def _where(self, bank: Bank | None = None) -> tuple[str | None, str]:
        """The domain, if it is known, and its setting; those of the bank if they are not given.

        Args:
            bank: The bank of skills that the run begins with, if there is one.
        """
        name = self.domain or (None if bank is None else bank.domain)
        if bank is not None and self.setting is None and name == bank.domain:
            return name, bank.setting
        return name, "" if name is None else self.setting or domain(name).default_setting


def check_resumed(folder: Path, asked: object, begun: object) -> None:
    """Refuses to go on with a run that was begun with other settings than those that are asked for now.

    Args:
        folder: The folder of the run.
        asked: Its specification with what is asked for now.
        begun: The specification that it was begun with.

    Raises:
        RewardMachineError: They differ.
    """
    if differs := difference(asked, begun):
        raise RewardMachineError(f"{folder}: the run was begun with other settings: {differs}")


def folders_of_seeds(base: Path, seed: int, seeds: int) -> list[Path]:
    """The folders of runs with consecutive seeds, whose names end with them.

    >>> [folder.name for folder in folders_of_seeds(Path("runs/mine"), 3, 2)]
    ['mine-3', 'mine-4']
    """
    return [Path(f"{base}-{number}") for number in range(seed, seed + seeds)]


def begun_folders(base: Path) -> list[Path]:
    """The folders of runs that were begun and whose names are this one and a seed, by seed."""
    found = (path for path in base.parent.glob(f"{glob.escape(base.name)}-*") if (path / "config.json").exists())
    seeds = {path: path.name.rpartition("-")[2] for path in found}
    return sorted((path for path, seed in seeds.items() if seed.isdecimal()), key=lambda path: int(seeds[path]))


def common_name(folders: Sequence[Path]) -> str:
    """The name by which all of these folders are found again: that of a single one, or of several without a seed."""
    return str(folders[0]) if len(folders) == 1 else str(folders[0]).rpartition("-")[0]


def find_modules_here() -> None:
    """Lets modules of the present folder be imported, as Python does for scripts: they may hold environments."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def prepare_device(wanted: Device | None = None) -> None:
    """Makes sure that JAX computes where it was asked to, and that programs are compiled once on a machine.

    Args:
        wanted: Where to compute; a GPU if there is one, or what JAX_PLATFORMS says, if not given.

    Raises:
        RewardMachineError: There is no such device.
    """
    if wanted == "cpu":
        os.environ[_PLATFORMS] = "cpu"  # for processes that are started later
        settings: Any = jax.config
        settings.update("jax_platforms", "cpu")
    try:
        backend = jax.default_backend()
    except (RuntimeError, AssertionError):  # JAX asserts that a platform it was told to use is there
        asked = os.environ.get(_PLATFORMS, "")
        raise RewardMachineError(f"JAX finds no device for {_PLATFORMS}={asked}; leave it out, or write cpu") from None
    if wanted is not None and backend != wanted:
        known = f"JAX computes on {backend} here"
        raise RewardMachineError(f"--device {wanted}: there is none, {known}; leave it out to use what there is")
    keep_compiled()
