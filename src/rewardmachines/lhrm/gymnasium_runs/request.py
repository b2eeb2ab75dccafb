"""What is asked of a run on Gymnasium environments: a new one, or that the one in a folder goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias, cast

from rewardmachines.agents.gymnasium.environments import MAX_STEPS
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.ending import is_over
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.resumable import ResumableGymnasium
from rewardmachines.lhrm.gymnasium_runs.spec import (
    GymnasiumOrder,
    GymnasiumSpec,
    check_same,
    load_order,
    save_order,
    spec_of,
)
from rewardmachines.lhrm.learner_registry import EXACT
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.resumable import Chunk, LearnMoment, moment_of
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.loop import chunks_in_folder

STOP_AT: Final = 0.95
"""The mean return with which a task is learned, if none is asked for."""


AskedLhrmConfig: TypeAlias = LhrmConfig | Callable[[LhrmConfig], LhrmConfig] | None
"""Settings that are asked for: all of them, a function that changes the usual ones, or none for the usual ones."""


@dataclass(frozen=True)
class Request:
    """What is asked for. None stands for what is usual, or for what a run that is resumed was begun with."""

    tasks: Sequence[GymTask] | None
    config: AskedLhrmConfig
    network: NetworkConfig | None
    encode: Encode | None
    max_steps: int | None
    seed: int | None
    learner: MachineLearner | str | None
    stop_at: float | None
    budget: Budget
    begun: GymnasiumSpec | None = None
    """The specification of the run that goes on; none for a new one."""


def completed(request: Request, files: LearnFolder | None, *, resume: bool) -> Request:
    """The request, completed by what a run in a folder was begun with, or else by what is usual.

    Args:
        request: What is asked for.
        files: The folder of the run, if it has one.
        resume: Whether the run in the folder goes on. Modules of its environments are imported if no tasks are given.

    Raises:
        RewardMachineError: There is no run, or one is in the way; or its environments cannot be found.
    """
    if files is not None and resume:
        return _resumed(request, files)
    if files is not None:
        files.check_free()
    if request.tasks is None:
        raise RewardMachineError("there is no task to learn")
    return replace(
        request,
        max_steps=MAX_STEPS if request.max_steps is None else request.max_steps,
        seed=0 if request.seed is None else request.seed,
        stop_at=STOP_AT if request.stop_at is None else request.stop_at,
    )


def _resumed(request: Request, files: LearnFolder) -> Request:
    files.check_run()
    order, where = load_order(files.config), str(files.path)
    spec = order.spec
    is_same = request.config is None and request.network is None
    return replace(
        request,
        tasks=spec.gym_tasks(where) if request.tasks is None else request.tasks,
        config=spec.config if is_same else request.config,
        encode=spec.senses.encode(where) if request.encode is None else request.encode,
        max_steps=spec.max_steps if request.max_steps is None else request.max_steps,
        seed=spec.seed if request.seed is None else request.seed,
        stop_at=order.stop_at if request.stop_at is None else request.stop_at,
        budget=request.budget if request.budget.is_limited else order.budget,
        begun=spec,
    )


def worlds_of(request: Request) -> GymnasiumWorlds:
    """The worlds of a request that is complete."""
    assert request.tasks is not None
    assert request.max_steps is not None
    assert request.seed is not None
    return GymnasiumWorlds(request.tasks, encode=request.encode, max_steps=request.max_steps, seed=request.seed)


def order_of(request: Request, worlds: GymnasiumWorlds, config: LhrmConfig, where: str) -> GymnasiumOrder:
    """The order to carry out.

    Args:
        request: What is asked for, completed.
        worlds: Its worlds.
        config: The settings, with networks that fit observations.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: The run that goes on was begun with other settings, or a new one would never end.
    """
    assert request.stop_at is not None
    begun = request.begun
    spec = spec_of(worlds, config, _learner_name(request))
    if begun is not None:
        check_same(spec, begun, where)
    return GymnasiumOrder(spec, request.budget, request.stop_at)


def _learner_name(request: Request) -> str:
    """The name of the learner: as it is registered, or that of its class, or the one that the run was begun with."""
    if request.learner is None:
        return EXACT if request.begun is None else request.begun.learner
    return request.learner if isinstance(request.learner, str) else type(request.learner).__name__


def chunks_of(
    run: Lhrm, worlds: GymnasiumWorlds, order: GymnasiumOrder, files: LearnFolder | None, *, resume: bool
) -> Generator[Chunk]:
    """Learns until the run is over, and yields every chunk.

    Args:
        run: The algorithm, which has not begun.
        worlds: Its worlds.
        order: What is learned, and when it ends.
        files: The folder of the run; without one, nothing is written.
        resume: Whether the run in the folder goes on.
    """
    ends = partial(is_over, run, order.budget, order.stop_at)
    if files is None:
        began = time.monotonic()
        while not ends(time.monotonic() - began):
            row = run.advance()
            yield Chunk(run, row, moment_of(run, round(time.monotonic() - began, 3)))
        return

    def write_settings() -> None:
        files.make_subfolders()
        save_order(order, files.config)

    resumable = ResumableGymnasium(run, worlds, files)
    with closing(chunks_in_folder(files, resumable, write_settings, ends, resume=resume)) as chunks:
        for rows, moment in chunks:
            yield Chunk(run, rows[0], cast("LearnMoment", moment))
