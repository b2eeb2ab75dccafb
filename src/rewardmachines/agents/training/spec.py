"""What is to be trained, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.training.session import Budget, Spec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.runs.config_file import TRAIN, load_settings, save_settings

SEEDS: Final = 2**32
"""So many seeds there are, from 0; beyond, the generators would take several for the same, or none."""


def check_seed(seed: int, seeds: int = 1) -> None:
    """Raises what is wrong with consecutive seeds, so many from the first, if anything is."""
    if not 0 <= seed <= SEEDS - seeds:
        last = "" if seeds == 1 else f", and so must be the last of {seeds:,}"
        raise RewardMachineError(f"a seed lies between 0 and {SEEDS - 1:,}{last}, not {_short(seed)}")


def _short(number: int) -> str:
    return str(number) if abs(number) < 10**20 else "one of so many digits"


@dataclass(frozen=True)
class Order:
    """A complete order to train."""

    spec: Spec
    steps: int | None
    """Of each seed; no limit, if not given."""
    stop_at: float | None = None
    """The mean return, over three evaluations, that is good enough."""
    episodes: int | None = None
    """Of each seed; no limit, if not given."""

    def __post_init__(self) -> None:
        check_seed(self.spec.seed, self.spec.seeds)
        if self.steps is None and self.episodes is None:
            raise RewardMachineError("say for how long to train: a number of steps, or of episodes")
        _ = self.budget

    @property
    def budget(self) -> Budget:
        return Budget(self.steps, self.episodes)


def standard_spec(
    domain_name: str,
    setting: str,
    task: str,
    algorithm: Algorithm | str = Algorithm.HRL,
    *,
    settings: Preset | str = Preset.FAST,
    **changes: Any,
) -> Spec:
    """A task with the settings of a preset; `changes` are other fields of the spec, such as `seeds=5`.

    >>> standard_spec("craftworld", "op", "cake", seeds=5).config.environments
    16
    """
    known = domain(domain_name)
    setting, algorithm = known.setting_name(setting), Algorithm(algorithm)
    config = preset(settings, known.name, setting, algorithm)
    return replace(Spec(known.name, setting, task, algorithm, config), **changes)


def save_order(order: Order, path: Path) -> None:
    save_settings(path, TRAIN, order)


def load_order(path: Path) -> Order:
    order: Order = load_settings(path, TRAIN, Order)
    return order
