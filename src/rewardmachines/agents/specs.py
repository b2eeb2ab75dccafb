"""What is to be trained, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.session import Spec
from rewardmachines.agents.settings import TRAIN, load_settings, save_settings
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenario import check_setting
from rewardmachines.library import domain


@dataclass(frozen=True)
class Order:
    """A complete order to train."""

    spec: Spec
    steps: int
    """Of each seed."""
    stop_at: float | None = None
    """The mean return, over three evaluations, that is good enough."""

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise RewardMachineError(f"at least one step is needed, not {self.steps}")


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
    name = domain(domain_name).name
    setting, algorithm = check_setting(name, setting), Algorithm(algorithm)
    return replace(Spec(name, setting, task, algorithm, preset(settings, name, setting, algorithm)), **changes)


def save_order(order: Order, path: Path) -> None:
    save_settings(path, TRAIN, order)


def load_order(path: Path) -> Order:
    order: Order = load_settings(path, TRAIN, Order)
    return order
