"""The runs of a study: the settings of each, and the key that identifies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.presets import Preset, preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.domain import BASE_SEED
from rewardmachines.envs.registry import domain, domain_of
from rewardmachines.envs.scenarios import fresh_fields, instance_seed_of
from rewardmachines.files.overrides import changed
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.runs.config import DomainPlace
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, RunOrder, TrainArguments, order_of
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.studies.baselines.algorithm import flat_order, method_named
from rewardmachines.studies.study import Block, RunKind, Study, parts_of

_KEY: Final = 16
"""Hexadecimal digits of a key."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study."""

    study: str
    """The name of the study that asks for it. Others may ask for the same run."""
    block: Block
    """Its block, which holds everything that follows from none of the fields below."""
    domain: str
    setting: str
    tasks: tuple[str, ...]
    """The tasks of the run."""
    what: str
    """The algorithm, or the method, of the run."""
    seed: int

    @property
    def command(self) -> RunKind:
        """The command of the run."""
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
        """The title of the run in tables."""
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
            "preset": None if block.command is RunKind.FLAT else block.preset.value,
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
        if block.instances == "fresh":  # common to all seeds
            sizes: dict[str, Any] = fresh_fields(domain(self.domain), self.setting)
            return DomainPlace(self.domain, self.setting, max_steps=block.max_steps, **sizes)
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
        if block.command is RunKind.FLAT:
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
            "instances": block.instances,
            "instance_seed": place.instance_seed,
            "max_steps": place.max_steps,
            "steps": block.steps,
            "episodes": block.episodes,
            "stop_at": block.stop_at,
        }
        if block.command is RunKind.TRAIN:
            return order_of(TrainArguments(self.domain, self.tasks[0], agent=self.what, **asked), files, resume=resume)
        return order_of(LearnArguments(self.domain, self.tasks, **asked), files, resume=resume)


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_KEY]


@cache
def _settings(block: Block, domain_name: str, setting: str, what: str) -> Any:
    """The settings that a block asks for: those of its preset, and its changes."""
    seconds, is_fresh = block.learner_seconds, block.instances == "fresh"
    if block.command is RunKind.TRAIN:
        return changed(preset(block.preset, domain_name, setting, what, fresh=is_fresh), block.set)
    if block.command is RunKind.FLAT:
        settings = changed(method_named(what).config(), block.set)
        return settings if seconds is None else replace(settings, learner_seconds=seconds)
    config = changed(lhrm_preset(block.preset, domain_name, setting, fresh=is_fresh), block.set, within="agent")
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
    whats = {RunKind.LEARN: ("lhrm",), RunKind.TRAIN: block.algorithms, RunKind.FLAT: block.methods}[block.command]
    for setting in block.settings:
        known = domain(domain_of(setting))
        each = [(task,) for task in block.tasks]
        groups = each if block.command is not RunKind.LEARN or block.each_task else [block.tasks or tuple(known.tasks)]
        for group, what, seed in product(groups, whats, range(block.seeds)):
            tasks = tuple(map(known.task_name, group))
            run = PlannedRun(study, block, known.name, known.setting_name(setting), tasks, what, seed)
            _settings(block, run.domain, run.setting, what)  # raises if there can be no such settings
            yield run


def _check(block: Block) -> None:
    """Checks what no run of a block could be without."""
    if block.seeds < 1:
        raise RewardMachineError(f"at least one seed is needed, not {block.seeds}")
    if not block.tasks and (block.command is not RunKind.LEARN or block.each_task):
        raise RewardMachineError('say which tasks, such as tasks = ["milk-bucket"]')
    if block.command is RunKind.FLAT and block.instances == "fresh":
        raise RewardMachineError('methods that learn flat machines have fixed instances: leave out instances = "fresh"')
    if block.command is RunKind.FLAT and not block.methods:
        raise RewardMachineError('say which methods learn flat machines, such as methods = ["jirp"]')
    seconds = block.learner_seconds  # searches without an end could not be compared with
    if seconds is not None and not 0 < seconds < inf:
        raise RewardMachineError(f"learner_seconds is a number of seconds, such as 600, not {seconds:g}")
    if block.stop_at is not None and not 0 <= block.stop_at < inf:
        raise RewardMachineError(f"stop_at is a return, such as 0.95, and 0 for never, not {block.stop_at:g}")
    RunBudget(block.steps, block.episodes)  # raises if there can be no such limits


_NAMES: Final[tuple[Callable[[PlannedRun], Iterable[str]], ...]] = (
    lambda run: (run.block.name,),
    lambda run: (run.setting,),
    lambda run: run.tasks,
    lambda run: (run.what,),
)
"""The names of a run, by kind: its block, its setting, its tasks, and its algorithm or method."""


def chosen_runs(runs: Sequence[PlannedRun], names: Iterable[str]) -> tuple[PlannedRun, ...]:
    """The runs that have all of the names. Names of one kind, such as two settings, are alternatives.

    Args:
        runs: All runs of a study.
        names: Names of blocks, settings, tasks, algorithms or methods; all runs are chosen if there are none.

    Raises:
        RewardMachineError: Nothing in the study has such a name, or no run has all of them.
    """
    wanted: dict[int, set[str]] = {}
    for name in names:
        wanted.setdefault(_kind(runs, name), set()).add(name.casefold())
    chosen = tuple(
        run for run in runs if all(some & _folded(_NAMES[kind](run)) for kind, some in wanted.items())
    )  # fmt: skip
    if not chosen:
        raise RewardMachineError(f"no run of the study is all of {', '.join(names)}: leave out an --only")
    return chosen


def _kind(runs: Sequence[PlannedRun], name: str) -> int:
    """The index in `_NAMES` of the kind that has such a name. Blocks come first, since users name them."""
    for kind, names_of in enumerate(_NAMES):
        if any(name.casefold() in _folded(names_of(run)) for run in runs):
            return kind
    known = dict.fromkeys(each for names_of in _NAMES for run in runs for each in names_of(run))
    blocks = dict.fromkeys(run.block.name for run in runs)
    hint = suggestion(name, known) or f"; its runs are called {', '.join(blocks)}"
    raise RewardMachineError(f"--only {name}: the study has no runs, setting, task or algorithm of that name{hint}")


def _folded(names: Iterable[str]) -> set[str]:
    return {name.casefold() for name in names}
