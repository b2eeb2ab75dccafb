"""LHRM in a folder: it can be watched, killed and resumed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import domain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.learner_registry import check_learner, learner_names, make_learner
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.resumable import LearnMoment, ResumableLearning
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.loop import chunks_in_folder


class Chunk(NamedTuple):
    """What callbacks are told of a chunk."""

    run: Lhrm
    """The algorithm after the chunk."""
    row: Row
    moment: LearnMoment


Callback = Callable[[Chunk], object]


def learn(
    folder: str | Path,
    spec: LearnSpec | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    callbacks: Sequence[Callback] = (),
    resume: bool = False,
    learner: MachineLearner | None = None,
) -> LearnRun:
    """Learns machines and policies in a new folder, or goes on in one.

    Args:
        folder: Where the run is kept.
        spec: What is learned; not needed to resume.
        stop_at: The mean return of three consecutive evaluations with which it ends, once all tasks have it.
        steps: How many all environments together may take.
        seconds: How long the run may take; pauses do not count.
        episodes: How many all tasks together may take.
        callbacks: Each is called with every chunk.
        resume: Whether to go on with the run in the folder.
        learner: Who learns machines, if not whom the spec names. See `learning_rows`.

    Returns:
        The run as it is on disk.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    chunks = learning_rows(
        folder,
        spec,
        stop_at=stop_at,
        steps=steps,
        seconds=seconds,
        episodes=episodes,
        resume=resume,
        learner=learner,
    )
    with closing(chunks):
        for chunk in chunks:
            for callback in callbacks:
                callback(chunk)
    return load_learning(folder)


def learning_rows(
    folder: str | Path,
    spec: LearnSpec | None = None,
    *,
    stop_at: float | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    episodes: int | None = None,
    resume: bool = False,
    learner: MachineLearner | None = None,
) -> Generator[Chunk]:
    """Learns, and yields every chunk. Whoever stops asking leaves a checkpoint behind.

    It ends when the mean return of three consecutive evaluations is at least `stop_at` for all tasks at once, those
    given up aside. It ends early when its budget is spent, or when all tasks were given up. To resume, nothing but the
    folder is needed: what was asked for when the run began holds, except for what is given anew; steps, seconds and
    episodes go together.

    Args:
        folder: Where the run is kept.
        spec: What is learned; not needed to resume.
        stop_at: As above: 0 for never; what is usual for the domain, if not given.
        steps: How many all environments together may take.
        seconds: How long the run may take; pauses do not count.
        episodes: How many all tasks together may take.
        resume: Whether to go on with the run in the folder.
        learner: Who learns machines, if not whom the spec names. The folder keeps the name of its class; whoever
            resumes the run gives it again, unless a learner is registered by that name.
    """
    files, budget = LearnFolder(Path(folder)), Budget(steps, episodes, seconds)
    if spec is not None and learner is not None:
        spec = replace(spec, learner=type(learner).__name__)
    order = _order_again(files, spec, stop_at, budget) if resume else _new_order(files, spec, stop_at, budget)
    spec = order.spec
    _check_learner(spec.learner, learner, files)
    with Solvers() as solvers:
        # What is wrong is said before anything is written.
        learner = learner or make_learner(spec.learner, solvers, spec.config.learner_budget)
        run = Lhrm(spec.worlds(), spec.config, solvers, seed=spec.seed, learner=learner)

        def is_over(seconds: float) -> bool:
            is_spent = order.budget.is_spent(run.tally.steps, run.tally.episodes, seconds)
            return is_spent or run.is_stuck or (order.stop_at > 0 and run.is_done(order.stop_at))

        chunks = chunks_in_folder(
            files, ResumableLearning(run, files), lambda: files.write_order(order), is_over, resume=resume
        )
        with closing(chunks):
            for rows, moment in chunks:
                yield Chunk(run, rows[0], cast("LearnMoment", moment))


def _check_learner(name: str, given: MachineLearner | None, files: LearnFolder) -> None:
    """A run whose learner was given as an object cannot go on with another one."""
    if given is not None:
        if type(given).__name__ != name:
            message = f"{files.path}: the run was begun with the learner '{name}', not '{type(given).__name__}'"
            raise RewardMachineError(message)
    elif files.config.exists() and name not in learner_names():
        message = f"{files.path}: the run was begun with the learner '{name}', which is not known here"
        raise RewardMachineError(f"{message}: register it, or give it again with learner=")
    else:
        check_learner(name)


def _new_order(files: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: Budget) -> LearnOrder:
    files.check_free()
    if spec is None:
        raise RewardMachineError("a new run needs a spec")
    return LearnOrder(spec, budget, domain(spec.domain).solved_return if stop_at is None else stop_at)


def _order_again(files: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: Budget) -> LearnOrder:
    """What a run is resumed with: a budget that is given anew replaces the old one."""
    order = files.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{files.path}: the run was begun with other settings: {differs}")
    stop_at = order.stop_at if stop_at is None else stop_at
    return LearnOrder(order.spec, budget if budget.is_limited else order.budget, stop_at)
