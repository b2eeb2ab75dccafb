"""The runs of a study, one by one: what each is asked for, and the key that tells it from all others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import inf
from typing import Any, Final, TypeAlias

from rewardmachines.agents.presets import Preset, good_training_return, published_episodes
from rewardmachines.agents.training.spec import TrainOrder, standard_spec
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.envs.scenario import BASE_SEED, instance_seed_of
from rewardmachines.experiments.baselines.spec import BaselineOrder, BaselineSpec
from rewardmachines.experiments.study import Block, Command, Study, parts_of
from rewardmachines.lhrm.presets import published_learning_episodes
from rewardmachines.lhrm.spec import LearnOrder, good_return, standard_learning
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.overrides import changed
from rewardmachines.runs.records import to_plain

AnyOrder: TypeAlias = TrainOrder | LearnOrder | BaselineOrder

STEPS: Final = 2_000_000
"""How many steps `fast` training takes if a study says nothing."""
_KEY: Final = 16
"""Hexadecimal digits of a key."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    study: str
    """The name of the study that asks for it. Others may ask for the same run."""
    block: str
    """The name of its block."""
    command: Command
    preset: Preset
    order: AnyOrder
    """What it is asked for."""

    @cached_property
    def key(self) -> str:
        """A hash of what defines the run: equal runs of different studies have the same, and are run once."""
        return _hash(self._content())

    @cached_property
    def key_without_seed(self) -> str:
        """A hash that runs share which differ in nothing but their seeds, and so in their instances."""
        content = self._content()
        for name in ("seed", "instance_seed"):
            content["spec"].pop(name, None)
        return _hash(content)

    def _content(self) -> dict[str, Any]:
        content = {"command": self.command.value, **to_plain(self.order, brief=True)}
        content["budget"].pop("seconds", None)  # a run that may take longer is the same run
        return content

    @property
    def seed(self) -> int:
        """The seed of the run, or the first of several."""
        return self.order.spec.seed

    @property
    def what(self) -> str:
        """The algorithm, or the method, of the run."""
        spec: Any = self.order.spec
        if self.command is Command.TRAIN:
            return str(spec.algorithm.value)
        return "lhrm" if self.command is Command.LEARN else str(spec.method)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of the run."""
        spec: Any = self.order.spec
        return spec.tasks if self.command is Command.LEARN else (spec.task,)

    @property
    def seeds(self) -> int:
        """How many runs it is in the paper's sense: training takes several seeds side by side."""
        return getattr(self.order.spec, "seeds", 1)

    @property
    def title(self) -> str:
        """What the run is, for people."""
        spec: Any = self.order.spec
        tasks = self.tasks[0] if len(self.tasks) == 1 else f"{len(self.tasks)} tasks"
        seed = f"seed {spec.seed}" if self.seeds == 1 else f"seeds {spec.seed} to {spec.seed + self.seeds - 1}"
        return f"{self.block}: {spec.setting} {tasks}, {self.what}, {seed}"


def _hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY]


def planned_runs(study: Study, seeds: int | None = None) -> tuple[PlannedRun, ...]:
    """All runs of a study, block by block; of a study of studies, study by study.

    Args:
        study: The study.
        seeds: How many runs of each kind there are; what the blocks say, if not given.

    Raises:
        RewardMachineError: A block speaks of a setting, task or method that does not exist, or of a setting that
            cannot have such a value. The message names the block.
    """
    if study.studies:
        return tuple(run for part in parts_of(study) for run in planned_runs(part, seeds))
    runs: list[PlannedRun] = []
    for block in study.blocks:
        wanted = block if seeds is None else replace(block, seeds=seeds)
        try:
            _check_seconds(wanted)
            runs += [replace(run, study=study.name) for run in _MAKE[block.command](wanted)]
        except RewardMachineError as problem:
            raise RewardMachineError(f"study {study.name}, runs '{block.name}': {problem}") from None
    return tuple(runs)


def _check_seconds(block: Block) -> None:
    """Searches that may take forever would never be interrupted, and nobody could compare with them."""
    seconds = block.learner_seconds
    if seconds is not None and not 0 < seconds < inf:
        raise RewardMachineError(f"learner_seconds is a number of seconds, such as 600, not {seconds:g}")


def _seeds(block: Block) -> range:
    if block.seeds < 1:
        raise RewardMachineError(f"at least one seed is needed, not {block.seeds}")
    return range(block.seeds)


def _learn(block: Block) -> Iterator[PlannedRun]:
    """A run for each setting and seed, and where the block says so, for each task."""
    for setting, tasks, seed in product(block.settings, _task_groups(block), _seeds(block)):
        name = domain_of(setting)
        spec = standard_learning(
            name,
            setting,
            tasks,
            settings=block.preset,
            seed=seed,
            instances=block.instances,
            instance_seed=instance_seed_of(seed) if block.own_instances else BASE_SEED,
            max_steps=block.max_steps,
        )
        config = changed(spec.config, block.set, within="agent")
        if block.learner_seconds is not None:
            seconds = min(config.learner_seconds, block.learner_seconds)
            config = replace(config, run_learner_seconds=block.learner_seconds, learner_seconds=seconds)
        stop_at = good_return(spec, block.preset) if block.stop_at is None else block.stop_at
        budget = Budget(block.steps, block.episodes)
        if not budget.is_limited and block.preset is Preset.PAPER:
            budget = Budget(episodes=published_learning_episodes(setting, name))
        order = LearnOrder(replace(spec, config=config), budget, stop_at)
        yield PlannedRun("", block.name, Command.LEARN, block.preset, order)


def _task_groups(block: Block) -> Sequence[tuple[str, ...] | None]:
    """The tasks of each run of LHRM; None for all tasks of a domain."""
    if not block.each_task:
        return [block.tasks or None]
    _check_tasks(block)
    return [(task,) for task in block.tasks]


def _train(block: Block) -> Iterator[PlannedRun]:
    """A run for each setting, task and algorithm; its seeds are trained side by side."""
    _check_tasks(block)
    seeds = _seeds(block)
    for setting, task, algorithm in product(block.settings, block.tasks, block.algorithms):
        name = domain_of(setting)
        spec = standard_spec(
            name,
            setting,
            domain(name).task_name(task),
            algorithm,
            settings=block.preset,
            seeds=len(seeds),
            own_instances=block.own_instances,
            instances=block.instances,
            max_steps=block.max_steps,
        )
        if block.set:
            spec = replace(spec, config=changed(spec.config, block.set))
        budget = Budget(block.steps, block.episodes)
        if not budget.is_limited:
            is_paper = block.preset is Preset.PAPER
            budget = Budget(episodes=published_episodes(setting, name)) if is_paper else Budget(STEPS)
        order = TrainOrder(spec, budget, good_training_return(block.preset) if block.stop_at is None else block.stop_at)
        yield PlannedRun("", block.name, Command.TRAIN, block.preset, order)


def _flat(block: Block) -> Iterator[PlannedRun]:
    """A run for each setting, task, method and seed."""
    _check_tasks(block)
    if not block.methods:
        raise RewardMachineError('say which methods learn flat machines, such as methods = ["jirp"]')
    for setting, task, method, seed in product(block.settings, block.tasks, block.methods, _seeds(block)):
        name = domain_of(setting)
        spec = BaselineSpec(
            method=method,
            domain=name,
            setting=domain(name).setting_name(setting),
            task=domain(name).task_name(task),
            seed=seed,
            instances=block.instances,
            instance_seed=instance_seed_of(seed) if block.own_instances else BASE_SEED,
            max_steps=block.max_steps,
        )
        order = BaselineOrder(spec)
        if block.episodes is not None:
            order = replace(order, budget=Budget(episodes=block.episodes))
        if block.learner_seconds is not None:
            order = replace(order, learner_seconds=block.learner_seconds)
        yield PlannedRun("", block.name, Command.FLAT, block.preset, order)


def _check_tasks(block: Block) -> None:
    if not block.tasks:
        raise RewardMachineError('say which tasks, such as tasks = ["milk-bucket"]')


_MAKE: Final = {Command.LEARN: _learn, Command.TRAIN: _train, Command.FLAT: _flat}
