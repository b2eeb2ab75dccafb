"""The runs of a study, one by one: what the study says of each, and the key that tells it from all others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.presets import Preset, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.domain import BASE_SEED
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.envs.scenarios import instance_seed_of
from rewardmachines.files.overrides import changed
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, Limits, RunOrder, TrainArguments, learn_order, train_order
from rewardmachines.runs.stopping import Budget
from rewardmachines.studies.baselines.algorithm import flat_order, method_named
from rewardmachines.studies.study import Block, Command, Study, parts_of

_KEY: Final = 16
"""Hexadecimal digits of a key."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    study: str
    """The name of the study that asks for it. Others may ask for the same run."""
    block: Block
    """Its block, which says everything that follows from none of the fields below."""
    domain: str
    setting: str
    tasks: tuple[str, ...]
    """The tasks of the run."""
    what: str
    """The algorithm, or the method, of the run."""
    seed: int

    @property
    def command(self) -> Command:
        """What makes the run."""
        return self.block.command

    @property
    def preset(self) -> Preset:
        """The preset of its settings."""
        return self.block.preset

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes of settings that its block asks for, NAME=VALUE."""
        seconds = self.block.learner_seconds
        return (*self.block.set, *(() if seconds is None else (f"learner_seconds={seconds:g}",)))

    @property
    def title(self) -> str:
        """The run in a line, for people."""
        tasks = self.tasks[0] if len(self.tasks) == 1 else f"{len(self.tasks)} tasks"
        return f"{self.block.name}: {self.setting} {tasks}, {self.what}, seed {self.seed}"

    # -- the key

    @cached_property
    def key(self) -> str:
        """A digest of what the study says of the run, and of the number of its rules.

        Equal runs of different studies have the same key, and are run once. It does not depend on how the program
        represents settings: when their meaning changes, the number of the rules is raised.
        """
        return _digest({**self._said, "seed": self.seed})

    @cached_property
    def key_without_seed(self) -> str:
        """A digest that runs share which differ in nothing but their seeds, and so in their instances."""
        return _digest(self._said)

    @property
    def _said(self) -> dict[str, Any]:
        block = self.block
        return {
            "rules": block.rules,
            "command": block.command.value,
            "domain": self.domain,
            "setting": self.setting,
            "tasks": self.tasks,
            "what": self.what,
            "preset": None if block.command is Command.FLAT else block.preset.value,
            "set": sorted(block.set),
            "instances": [block.instances, block.own_instances],
            "limits": [block.max_steps, block.steps, block.episodes, block.stop_at, block.learner_seconds],
        }

    # -- the order

    @property
    def settings(self) -> Any:
        """The settings of the run.

        Raises:
            RewardMachineError: There is no such setting, or it cannot have such a value.
        """
        return _settings(self.block, self.domain, self.setting, self.what)

    @property
    def _place(self) -> DomainPlace:
        block = self.block
        seed = instance_seed_of(self.seed) if block.own_instances else BASE_SEED
        return DomainPlace(self.domain, self.setting, block.instances, seed, max_steps=block.max_steps)

    def order(self, folder: Path, *, resume: bool = False) -> RunOrder:
        """The order to carry the run out.

        Args:
            folder: The folder of the run.
            resume: Whether to go on with the run that is there.

        Raises:
            RewardMachineError: There is a run already, or none to resume, or it was begun with something else.
        """
        block, place, files = self.block, self._place, RunFolder(folder)
        if block.command is Command.FLAT:
            return flat_order(
                files,
                place,
                self.tasks[0],
                self.what,
                settings=self.settings,
                seed=self.seed,
                episodes=block.episodes,
                resume=resume,
            )
        asked: dict[str, Any] = {
            "setting": self.setting,
            "preset": block.preset,
            "settings": self.settings,
            "seed": self.seed,
            "instances": place.instances,
            "instance_seed": place.instance_seed,
            "max_steps": place.max_steps,
            "limits": Limits(block.steps, block.episodes, stop_at=block.stop_at),
        }
        if block.command is Command.TRAIN:
            return train_order(TrainArguments(self.domain, self.tasks[0], self.what, **asked), files, resume=resume)
        return learn_order(LearnArguments(self.domain, self.tasks, **asked), files, resume=resume)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY]


@cache
def _settings(block: Block, domain_name: str, setting: str, what: str) -> Any:
    """The settings that a block asks for: those of its preset, and its changes."""
    seconds = block.learner_seconds
    if block.command is Command.TRAIN:
        return changed(preset(block.preset, domain_name, setting, what), block.set)
    if block.command is Command.FLAT:
        settings = changed(method_named(what).config(), block.set)
        return settings if seconds is None else replace(settings, learner_seconds=seconds)
    config = changed(lhrm_preset(block.preset, domain_name, setting), block.set, within="agent")
    if seconds is None:
        return config
    return replace(config, run_learner_seconds=seconds, learner_seconds=min(config.learner_seconds, seconds))


# -- the runs of a study


def planned_runs(study: Study, seeds: int | None = None) -> tuple[PlannedRun, ...]:
    """All runs of a study, block by block; of a study of studies, study by study.

    Args:
        study: The study.
        seeds: The number of runs of each kind; what the blocks say, if not given.

    Raises:
        RewardMachineError: A block speaks of a setting, task or method that does not exist, or of a setting that
            cannot have such a value. The message names the block.
    """
    if study.studies:
        return tuple(run for part in parts_of(study) for run in planned_runs(part, seeds))
    runs: list[PlannedRun] = []
    for block in study.blocks:
        try:
            runs += _runs(study.name, block if seeds is None else replace(block, seeds=seeds))
        except RewardMachineError as problem:
            raise RewardMachineError(f"study {study.name}, runs '{block.name}': {problem}") from None
    return tuple(runs)


def _runs(study: str, block: Block) -> Iterator[PlannedRun]:
    """A run for each setting, group of tasks, algorithm or method, and seed, all of which are checked."""
    _check(block)
    whats = {Command.LEARN: ("lhrm",), Command.TRAIN: block.algorithms, Command.FLAT: block.methods}[block.command]
    for setting in block.settings:
        known = domain(domain_of(setting))
        each = [(task,) for task in block.tasks]
        groups = each if block.command is not Command.LEARN or block.each_task else [block.tasks or tuple(known.tasks)]
        for group, what, seed in product(groups, whats, range(block.seeds)):
            tasks = tuple(map(known.task_name, group))
            run = PlannedRun(study, block, known.name, known.setting_name(setting), tasks, what, seed)
            _settings(block, run.domain, run.setting, what)  # raises if there can be no such settings
            yield run


def _check(block: Block) -> None:
    """Checks what no run of a block could be without."""
    if block.seeds < 1:
        raise RewardMachineError(f"at least one seed is needed, not {block.seeds}")
    if not block.tasks and (block.command is not Command.LEARN or block.each_task):
        raise RewardMachineError('say which tasks, such as tasks = ["milk-bucket"]')
    if block.command is Command.FLAT and not block.methods:
        raise RewardMachineError('say which methods learn flat machines, such as methods = ["jirp"]')
    seconds = block.learner_seconds  # searches without an end could not be compared with
    if seconds is not None and not 0 < seconds < inf:
        raise RewardMachineError(f"learner_seconds is a number of seconds, such as 600, not {seconds:g}")
    Budget(block.steps, block.episodes)  # raises if there can be no such limits
