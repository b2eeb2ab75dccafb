"""LHRM in a folder, which can be watched, interrupted and resumed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from rewardmachines.agents.bank.bank import Bank, Interface, agreed_digest
from rewardmachines.agents.bank.files import any_bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.ending import is_over
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.resumable import Callback, Chunk, LearnMoment, ResumableLearning
from rewardmachines.lhrm.run import LearnRun, load_learning
from rewardmachines.lhrm.run_learner import learner_of_run
from rewardmachines.lhrm.spec import LearnOrder, LearnSpec, good_return
from rewardmachines.lhrm.worlds.compiled import CompiledWorlds
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import difference
from rewardmachines.runs.loop import RunInFolder, chunks_in_folder


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
    bank: Bank | str | Path | None = None,
) -> LearnRun:
    """Learns machines and policies in a new folder, or resumes a run.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        stop_at: The mean return in three consecutive evaluations with which the run ends, once all tasks have it.
        steps: The steps that all environments together may take.
        seconds: The time that the run may take, in which pauses do not count.
        episodes: The episodes that all tasks together may take.
        callbacks: Functions that are called with every chunk.
        resume: Whether to go on with the run in the folder.
        learner: The learner of machines, instead of the one that the spec names. See `learning_rows`.
        bank: A bank of skills, or its folder. See `learning_rows`.

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
        bank=bank,
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
    bank: Bank | str | Path | None = None,
) -> Generator[Chunk]:
    """Learns, and yields every chunk. If the generator is closed before the end, a checkpoint is written.

    The run ends when the mean return in three consecutive evaluations is at least `stop_at` for all tasks at once,
    except for those given up. It ends early when its budget is spent, or when all tasks were given up. To resume, only
    the folder is needed: the settings with which the run was begun hold. A new `stop_at` replaces the old one, and new
    limits (of steps, episodes and seconds together) replace the old ones.

    Args:
        folder: The folder of the run.
        spec: The specification; not needed to resume.
        stop_at: The mean return that is good enough; 0 for never. Without one, the domain says what counts as solved.
        steps: The steps that all environments together may take.
        seconds: The time that the run may take, in which pauses do not count.
        episodes: The episodes that all tasks together may take.
        resume: Whether to go on with the run in the folder.
        learner: The learner of machines, instead of the one that the spec names. The folder keeps the name of its
            class. To resume the run, the learner must be given again, unless one is registered by that name.
        bank: A bank of skills, or its folder, whose machines are there from the beginning: any task may call them, and
            they are explored with. A copy of it is kept in the folder of the run, so that nobody needs it to resume.
            The specification must have the bank's networks: see `standard_learning`.

    Yields:
        A chunk, with the algorithm after it.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    files, budget = LearnFolder(Path(folder)), Budget(steps, episodes, seconds)
    if spec is not None and learner is not None:
        spec = replace(spec, learner=type(learner).__name__)
    skills = any_bank(bank)
    if spec is not None:
        spec = replace(spec, bank=agreed_digest(spec.bank, skills))
    order = order_of(files, spec, stop_at, budget, resume=resume)
    with Solvers() as solvers:
        prepared = prepare(files, order, solvers, learner, skills)
        run, parts = prepared.run, prepared.parts
        chunks = chunks_in_folder(parts.folder, parts.run, parts.write_settings, parts.is_over, resume=resume)
        with closing(chunks):
            for rows, moment in chunks:
                yield Chunk(run, rows[0], cast("LearnMoment", moment))


class Prepared(NamedTuple):
    """A run that can begin, or go on."""

    run: Lhrm
    """The algorithm, which has not begun."""
    parts: RunInFolder[Row]
    """The run as the loop over chunks needs it."""


def prepare(
    files: LearnFolder,
    order: LearnOrder,
    solvers: Solvers,
    learner: MachineLearner | None = None,
    bank: Bank | None = None,
) -> Prepared:
    """Makes everything that a run needs, so that mistakes are found before anything is written.

    Args:
        files: The folder of the run.
        order: What is learned, and when it ends.
        solvers: What the exact learner of machines searches with.
        learner: The learner of machines, instead of the one that the order names.
        bank: The bank of skills that the order names; its copy in the folder, if the run goes on.

    Raises:
        RewardMachineError: The learner is not known, or not the one that the run was begun with; or the bank does not
            fit the run.
    """
    spec = order.spec
    learner = learner_of_run(spec.learner, learner, files, solvers)
    worlds = spec.worlds()
    if spec.bank is not None:
        bank = files.read_bank(spec) if bank is None else bank
    if bank is not None:
        _check_bank(bank, spec, worlds)
    run = Lhrm(worlds, spec.config, solvers, seed=spec.seed, learner=learner, bank=bank)

    ends = partial(is_over, run, order.budget, order.stop_at)
    resumable = ResumableLearning(run, files)
    return Prepared(run, RunInFolder(files, resumable, lambda: files.write_order(order, bank), ends))


def _check_bank(bank: Bank, spec: LearnSpec, worlds: CompiledWorlds) -> None:
    """Checks that policies of the bank can act where the run learns.

    Raises:
        RewardMachineError: They cannot; the message names what differs.
    """
    scenario, agent = worlds.scenario, spec.config.agent
    where = f"{scenario.domain.title} {scenario.setting.upper()}"
    bank.check_interface(Interface.of(scenario, agent.observation), where)
    bank.check_config(agent)


def order_of(
    files: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: Budget, *, resume: bool
) -> LearnOrder:
    """The order to begin a run, or to go on with the one in a folder. Arguments as for `learning_rows`.

    Raises:
        RewardMachineError: There is a run already, or none to resume, or it was begun with other settings.
    """
    return _order_again(files, spec, stop_at, budget) if resume else _new_order(files, spec, stop_at, budget)


def _new_order(files: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: Budget) -> LearnOrder:
    files.check_free()
    if spec is None:
        raise RewardMachineError("a new run needs a spec")
    return LearnOrder(spec, budget, good_return(spec) if stop_at is None else stop_at)


def _order_again(files: LearnFolder, spec: LearnSpec | None, stop_at: float | None, budget: Budget) -> LearnOrder:
    """The order with which a run is resumed: new limits replace the old ones."""
    order = files.read_order()
    if spec is not None and (differs := difference(spec, order.spec)):
        raise RewardMachineError(f"{files.path}: the run was begun with other settings: {differs}")
    stop_at = order.stop_at if stop_at is None else stop_at
    return LearnOrder(order.spec, budget if budget.is_limited else order.budget, stop_at)
