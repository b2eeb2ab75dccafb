"""The verbs: train policies for a given hierarchy, or learn hierarchies and policies; in a domain or any environment.

run = rm.train("craftworld", "cake", setting="opl", folder="runs/cake")
run = rm.train(make_lake, "lookout ; goal", steps=200_000)
run = rm.learn("craftworld", setting="op")
run = rm.learn({"hut": make_hut, "round": (make_round, 2)}, steps=400_000)
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.presets import Preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.scenarios import instance_seed_of
from rewardmachines.lhrm.learners import MachineLearner
from rewardmachines.rollout.interface import Encode
from rewardmachines.runs.folder import RunFolder, folders_of_seeds
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.orders import (
    Arguments,
    LearnArguments,
    RunOrder,
    TrainArguments,
    carry_out,
    order_of,
    orders_of_seeds,
)
from rewardmachines.runs.places import Fresh
from rewardmachines.runs.run import Run

Callback = Callable[[Chunk], object]
"""Called with every chunk: the run in memory, the row of the chunk, and when it was done."""
Tasks = Sequence[str] | str | None


class RunOptions(TypedDict, total=False):
    """The keyword arguments of both verbs except `seeds`, by which overloads distinguish return types."""

    setting: str | None
    preset: Preset | str | None
    settings: Any
    network: NetworkConfig | None
    seed: int | None
    own_instances: bool
    instances: int | Fresh | None
    instance_seed: int | None
    max_steps: int | None
    encode: Encode | None
    bank: Bank | str | Path | None
    steps: int | None
    episodes: int | None
    seconds: float | None
    stop_at: float | None
    folder: str | Path | None
    resume: bool
    callbacks: Sequence[Callback]


class TrainOptions(RunOptions, total=False):
    """The keyword arguments of `train` except `seeds`."""

    agent: str | None
    name: str | None
    labels: Iterable[Iterable[str]] | None
    trains_bank: bool | None


@overload
def train(
    where: Any = None, task: str | Hierarchy | None = None, *, seeds: None = None, **options: Unpack[TrainOptions]
) -> Run: ...
@overload
def train(
    where: Any = None, task: str | Hierarchy | None = None, *, seeds: int, **options: Unpack[TrainOptions]
) -> list[Run]: ...
def train(
    where: Any = None,
    task: str | Hierarchy | None = None,
    *,
    agent: str | None = None,
    setting: str | None = None,
    preset: Preset | str | None = None,
    settings: Any = None,
    network: NetworkConfig | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    own_instances: bool = False,
    instances: int | Fresh | None = None,
    instance_seed: int | None = None,
    max_steps: int | None = None,
    name: str | None = None,
    labels: Iterable[Iterable[str]] | None = None,
    encode: Encode | None = None,
    bank: Bank | str | Path | None = None,
    trains_bank: bool | None = None,
    steps: int | None = None,
    episodes: int | None = None,
    seconds: float | None = None,
    stop_at: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Run | list[Run]:
    """Trains policies for a task whose hierarchy is given, until it is learned or the budget is spent.

    In a folder, the run can be looked at, killed and resumed. To resume it, only the folder is needed: arguments that
    are not given are those of the run, and new limits replace the old ones.

    Args:
        where: A domain by its name; or an environment with labels (`LabelingWrapper`): a function that makes it, the
            name of such a function (`module:function`), an id of Gymnasium, an environment, or a vector environment,
            which is stepped as it is if its environments follow the hierarchy (`HierarchyWrapper`).
        task: The task: a task of the domain, a task expression such as `"lookout ; goal"`, or a hierarchy.
        agent: The agent: `hrl`, `flat-hrl`, `crm`, or one that was registered.
        setting: The setting of the domain, such as `op`; its first, if not given.
        preset: The preset of settings for a domain: `fast`, `paper` or `table`.
        settings: The values of settings that change, by name, such as `{"batch": 64, "network.hidden": [128]}`; or a
            function that changes the usual ones; or all settings of the agent.
        network: The body of the networks, in a Gymnasium environment; without it, the shape of observations decides.
        seed: Of everything that is left to chance.
        seeds: The number of runs that are trained side by side, with consecutive seeds, in a domain. Their folders
            have the name `folder` and their seeds.
        own_instances: Whether each of several seeds has instances of its own, as in the paper.
        instances: The number of instances of a domain, or `"fresh"` to train in ever new ones; in a Gymnasium
            environment, the number of fixed beginnings, `reset(seed=0)` and so on.
        instance_seed: The seed of the first instance of a domain.
        max_steps: Steps after which an episode is truncated (default 1000).
        name: The name of the task, where it is given as an expression or a hierarchy.
        labels: The labels that can be seen in a Gymnasium environment; all combinations of propositions, if not given.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
        bank: A bank of skills, or its folder: only what is not in it is learned. The task may then be an expression
            over propositions and machines of the bank.
        trains_bank: Whether the policies of the bank are trained further.
        steps: The steps that the run may take; 2,000,000, if no limit is given.
        episodes: The episodes that it may take.
        seconds: The time that it may take, in which pauses do not count.
        stop_at: The mean return in three consecutive evaluations that is good enough; 0 for never, 0.95 if not given.
        folder: The folder of the run. Without one, the run lives as long as the object that is returned.
        resume: Whether to go on with the run in the folder.
        callbacks: Functions that are called with every chunk.

    Returns:
        The run; with `seeds`, a list of runs.

    Raises:
        RewardMachineError: Something is missing or does not fit; there is a run in the folder already, or none to
            resume, or it was begun with something else.
    """
    return _carried_out(TrainArguments, **locals())  # all arguments, by their names


class LearnOptions(RunOptions, total=False):
    """The keyword arguments of `learn` except `seeds`."""

    noise: float | None
    label_noise: float | None
    outcome_noise: float | None
    learner: MachineLearner | str | None


@overload
def learn(where: Any = None, tasks: Tasks = None, *, seeds: None = None, **options: Unpack[LearnOptions]) -> Run: ...
@overload
def learn(where: Any = None, tasks: Tasks = None, *, seeds: int, **options: Unpack[LearnOptions]) -> list[Run]: ...
def learn(
    where: Any = None,
    tasks: Tasks = None,
    *,
    setting: str | None = None,
    preset: Preset | str | None = None,
    settings: Any = None,
    network: NetworkConfig | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    own_instances: bool = False,
    instances: int | Fresh | None = None,
    instance_seed: int | None = None,
    max_steps: int | None = None,
    noise: float | None = None,
    label_noise: float | None = None,
    outcome_noise: float | None = None,
    encode: Encode | None = None,
    learner: MachineLearner | str | None = None,
    bank: Bank | str | Path | None = None,
    steps: int | None = None,
    episodes: int | None = None,
    seconds: float | None = None,
    stop_at: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Run | list[Run]:
    """Learns hierarchies and policies of tasks together, from labelled interaction alone (LHRM).

    A task without a machine that explains its traces is given up, and all other tasks go on; `run.missing` says why. In
    a folder, the run can be looked at, killed and resumed, as by `train`.

    Args:
        where: A domain by its name; or the environment of each task by its name, as `train` takes it, with its level
            if that is not 1: `{"hut": make_hut, "round": (make_round, 2)}`; or a list of `GymTask`; or, for a single
            task, the function that makes its environment: `make_hut` makes that of the task `hut`.
        tasks: The tasks of a domain; all, if not given.
        setting: The setting of the domain, such as `op`; its first, if not given.
        preset: The preset of settings for a domain: `fast`, `paper` or `table`.
        settings: The values of settings that change, by name, such as `{"batch": 64, "goals": [25]}`; or a function
            that changes the usual ones; or all settings of LHRM.
        network: The body of the networks, in Gymnasium environments; without it, the shape of observations decides.
        seed: Of everything that is left to chance.
        seeds: The number of runs that learn side by side, with consecutive seeds, in a domain. Their folders have the
            name `folder` and their seeds.
        own_instances: Whether each of several seeds has instances of its own, as in the paper.
        instances: The number of instances of a domain, or `"fresh"` to learn in ever new ones; in Gymnasium
            environments, the number of fixed beginnings of each task.
        instance_seed: The seed of the first instance of a domain.
        max_steps: Steps after which an episode is truncated (default 1000).
        noise: The share of episodes whose trace may be wrong: counterexamples then refute a machine together, and not
            one by one.
        label_noise: The share of label events of a domain that the agent observes wrongly while it learns.
        outcome_noise: The share of episodes of a domain whose outcome the agent observes wrongly while it learns.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
        learner: The learner of machines, or the name of a registered one; the exact one, if not given.
        bank: A bank of skills, or its folder, whose machines any task may call.
        steps: The steps that all environments together may take.
        episodes: The episodes that all tasks together may take.
        seconds: The time that the run may take, in which pauses do not count.
        stop_at: The mean return in three consecutive evaluations that is good enough for every task; 0 for never. If
            not given, the domain says what counts as solved, and 0.95 in Gymnasium environments.
        folder: The folder of the run. Without one, the run lives as long as the object that is returned.
        resume: Whether to go on with the run in the folder.
        callbacks: Functions that are called with every chunk.

    Returns:
        The run; with `seeds`, a list of runs.

    Raises:
        RewardMachineError: Something is missing or does not fit; there is a run in the folder already, or none to
            resume, or it was begun with something else.
    """
    return _carried_out(LearnArguments, **locals())  # all arguments, by their names


def _carried_out(
    arguments: type[Arguments],
    *,
    folder: str | Path | None,
    seeds: int | None,
    own_instances: bool,
    resume: bool,
    callbacks: Sequence[Callback],
    **given: Any,
) -> Run | list[Run]:
    """Carries out what is asked for by the arguments of a verb, which are those of its record and those named here."""
    if folder is None and resume:
        raise RewardMachineError("say which folder holds the run to resume: folder=...")
    if own_instances and seeds is None:
        raise RewardMachineError("own_instances: several seeds have them; say how many with seeds=")
    asked = arguments(**given)
    temporary = TemporaryFolder() if folder is None else None
    files = RunFolder(temporary.path / "run" if temporary is not None else Path(folder or ""))
    if seeds is not None and resume:
        orders = _orders_again(asked, files, seeds, own_instances=own_instances)
    else:
        orders = [order_of(asked, files, resume=resume, keeps=temporary is None)]
        if seeds is not None:
            orders = orders_of_seeds(orders[0], seeds, own_instances=own_instances)
    with closing(carry_out(orders)) as chunks:
        for _, chunk in chunks:
            for callback in callbacks:
                callback(chunk)
    runs = [Run(order.folder.path, replace(order.given, vector=None)) for order in orders]
    for run in runs:
        run.temporary = temporary
    return runs[0] if seeds is None else runs


def _orders_again(asked: Arguments, files: RunFolder, seeds: int, *, own_instances: bool) -> list[RunOrder]:
    """The orders to go on with runs of several seeds.

    Raises:
        RewardMachineError: They are not there, or others beside them.
    """
    found = folders_of_seeds(files)
    if asked.seed is not None:
        found = {seed: own for seed, own in found.items() if asked.seed <= seed < asked.seed + seeds}
    if len(found) != seeds:
        there = f"there are {len(found)} runs to resume" if found else "there is no run to resume"
        raise RewardMachineError(f"{files.path}-*: {there}, not {seeds}")
    orders = []
    for seed, own in found.items():
        instance_seed = instance_seed_of(seed) if own_instances else asked.instance_seed
        orders.append(order_of(replace(asked, seed=seed, instance_seed=instance_seed), own, resume=True))
    return orders


class TemporaryFolder:
    """A folder that is deleted with the last object that knows this one, or when the program ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="rewardmachines-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
