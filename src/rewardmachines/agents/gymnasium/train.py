"""Agents on Gymnasium environments: the same functions as in the compiled loop, driven from Python.

trained = train_gymnasium(make_env, hierarchy, steps=50_000, folder="runs/mine")
trained.policy.act(observation, label)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.gymnasium.diagnosis import (
    NOTHING,
    Course,
    Diagnosis,
    NotLearnedWarning,
    diagnose,
    write_diagnosis,
)
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import AnyEnv
from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.runs.request import Request, prepare_session, rows_of
from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
from rewardmachines.agents.gymnasium.runs.watch import Watch
from rewardmachines.agents.gymnasium.settings import AskedConfig
from rewardmachines.agents.gymnasium.trained import Trained
from rewardmachines.agents.gymnasium.training import Progress, begin_training
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.training.rows import Row
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.vector import AnyVectorEnv
from rewardmachines.runs.budget import Budget

MakeEnv: TypeAlias = Callable[[], AnyEnv]
Callback: TypeAlias = Callable[[Row], object]
"""Called with the row of every chunk."""


def vectorize(make_env: MakeEnv, count: int) -> AnyVectorEnv:
    """Environments side by side; one that ends is reset within the same step.

    Args:
        make_env: Makes one environment.
        count: How many environments there are.
    """
    return SyncVectorEnv([make_env] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def train_gymnasium(
    envs: MakeEnv | AnyVectorEnv | None = None,
    hierarchy: Hierarchy | None = None,
    *,
    steps: int | None = None,
    config: AskedConfig = None,
    algorithm: Algorithm | str | None = None,
    labels: Iterable[Iterable[str]] | None = None,
    network: NetworkConfig | None = None,
    encode: Encode | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], object] | None = None,
    task: str | None = None,
    instances: int | None = None,
    max_steps: int | None = None,
    stop_at: float | None = None,
    episodes: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Trained:
    """Trains an agent on Gymnasium environments, until the budget is spent or it is good enough.

    In a folder, the run can be looked at, killed and resumed. To resume it, only the folder is needed if a function of
    a module makes the environment; otherwise it is given again. Settings that are not given are those of the run.

    A vector environment, with nothing but the arguments up to `progress`, is stepped as it is, for exactly so many
    steps, and nothing is evaluated. For all else, environments are made one by one, by a function.

    Args:
        envs: A function that makes an environment with labels (`LabelingWrapper`); or environments side by side that
            are labelled and follow the hierarchy, such as those of `vectorize`.
        hierarchy: What is to be done.
        steps: Of all environments together, at most; a run ends with a chunk.
        config: The settings, a `HierarchicalDqnConfig`, or a `CrmConfig` for CRM; or a function that changes the usual
            ones for such observations; those for small problems, if not given.
        algorithm: Which agent; the hierarchical one, if not given.
        labels: Those that can be seen; all combinations of propositions, if not given.
        network: What looks at observations; without it `config` says, and without that their shape decides.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
        seed: For everything that is left to chance; 0, if not given.
        progress: Is called every `config.chunk` vector steps.
        task: The name of the task; that of the hierarchy's root, if not given.
        instances: The number of fixed beginnings, `reset(seed=0)` and so on; any beginnings, if not given.
        max_steps: After which an episode is cut off; 1000, if not given.
        stop_at: The mean return in three consecutive evaluations that is good enough; never, if not given.
        episodes: At most so many episodes.
        seconds: The time that the run may take, in which pauses do not count.
        folder: The folder that the run is written to. Without one, it lives in memory only.
        resume: Whether to go on with the run in the folder.
        callbacks: Functions that are called with the row of every chunk.

    Returns:
        What was learned, with a policy that acts on observations and labels.

    Raises:
        RewardMachineError: The environment or the hierarchy is missing, or they do not fit together; there is a run in
            the folder already, or none to resume, or it was begun with something else.
    """
    request = Request(
        make_env=None if isinstance(envs, VectorEnv) else envs,
        hierarchy=hierarchy,
        task=task,
        algorithm=None if algorithm is None else Algorithm(algorithm),
        config=config,
        network=network,
        labels=labels,
        encode=encode,
        seed=seed,
        instances=instances,
        max_steps=max_steps,
        stop_at=stop_at,
    )
    is_run = folder is not None or resume or callbacks or episodes is not None or seconds is not None
    if isinstance(envs, VectorEnv) and not is_run and not request.needs_episodes:
        return _stepped(envs, request, steps, progress)
    if isinstance(envs, VectorEnv):
        request = replace(request, make_env=_function(envs), environments=envs.num_envs)
    return _trained(replace(request, budget=Budget(steps, episodes, seconds)), folder, progress, callbacks, resume)


def _stepped(
    envs: AnyVectorEnv, request: Request, steps: int | None, progress: Callable[[Progress], object] | None
) -> Trained:
    """Trains in a vector environment as it is."""
    if request.hierarchy is None or steps is None:
        raise RewardMachineError("say what is to be done, and for how many steps: a hierarchy, and steps=...")
    training = begin_training(
        envs,
        request.hierarchy,
        request.config,
        request.algorithm or Algorithm.HRL,
        request.labels,
        request.network,
        request.encode,
        request.seed or 0,
    )
    while training.steps < steps:
        training.advance()
        if progress is not None and training.turns % training.setup.config.chunk == 0:
            progress(training.progress())
    course = Course(training.steps, training.episodes, training.goals, None, cut_off=training.cut_off)
    diagnosis = diagnose(training.setup, training.agent_state, course)
    _tell(diagnosis, None)
    return Trained(training.setup, training.agent_state, training.steps, training.episodes, diagnosis=diagnosis)


def _function(envs: AnyVectorEnv) -> MakeEnv:
    """The function that makes each of the environments side by side.

    Raises:
        RewardMachineError: They were made in another way.
    """
    functions: Sequence[MakeEnv] = getattr(envs, "env_fns", ())
    if not isinstance(envs, SyncVectorEnv) or any(function is not functions[0] for function in functions):
        raise RewardMachineError(
            "the episodes of this vector environment cannot be begun one by one, as a folder, limits and evaluations "
            "need it: pass a function that makes one environment"
        )
    return functions[0]


def _trained(
    request: Request,
    folder: str | Path | None,
    progress: Callable[[Progress], object] | None,
    callbacks: Sequence[Callback],
    resume: bool,
) -> Trained:
    """Trains in environments that are made one by one."""
    if folder is None and resume:
        raise RewardMachineError("say which folder holds the run to resume: folder=...")
    files = None if folder is None else TrainGymnasiumFolder(Path(folder))
    prepared, rows = prepare_session(request, files, resume=resume), list[Row]()
    watch = Watch(prepared.order.stop_at)
    with closing(prepared.session) as session, closing(rows_of(prepared, files, resume=resume)) as made:
        for row in made:
            rows.append(row)
            if watch.is_stalled(row):
                _tell(watch.diagnose(session, row), files, "training is getting nowhere")
            if progress is not None:
                progress(_progress(row))
            for callback in callbacks:
                callback(row)
    training = session.training
    every = rows if files is None else load_gymnasium_training(files.path).rows()
    diagnosis = NOTHING
    if rows:
        diagnosis = Watch(prepared.order.stop_at, every).diagnose(session, rows[-1])
        _tell(diagnosis, files)
    return Trained(
        session.setup, training.agent_state, training.steps, training.episodes, tuple(every), files, diagnosis
    )


def _tell(diagnosis: Diagnosis, files: TrainGymnasiumFolder | None, what: str = "the task is not learned") -> None:
    """Warns of what was found, if there is anything to say, and keeps it in the folder of the run."""
    if files is not None:
        write_diagnosis(files.diagnosis, diagnosis)
    if diagnosis:
        warnings.warn(f"{what}\n{diagnosis}\nMore in docs/tuning.md.", NotLearnedWarning, stacklevel=4)


def _progress(row: Row) -> Progress:
    return Progress(
        steps=row.steps,
        episodes=row.episodes,
        mean_return=row.goals / row.ended if row.ended else None,
        exploration=row.exploration,
        formula_loss=row.formula_loss,
        call_loss=row.call_loss,
    )
