"""`hrm train --env`: policies for a task in an environment that a function of a module makes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rewardmachines.agents.gymnasium.runs.folder import TrainGymnasiumFolder
from rewardmachines.agents.gymnasium.runs.run import TrainGymnasiumRun, load_gymnasium_training
from rewardmachines.agents.gymnasium.train import train_gymnasium
from rewardmachines.agents.training.rows import Row
from rewardmachines.cli.own_environments.names import environment_function, plain_warnings
from rewardmachines.cli.progress.train import Watched, watching
from rewardmachines.cli.run_options import find_modules_here, prepare_device
from rewardmachines.cli.shared import tell
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.runs.budget import Budget


def default_folder(env: str, task: str, algorithm: str, seed: int) -> Path:
    """The folder of a run that is given none.

    >>> str(default_folder("my_lake:make", "lookout ; goal", "hrl", 0))
    'runs/my_lake-lookout-goal-hrl-0'
    """
    name = f"{env.partition(':')[0]}-{task}-{algorithm}-{seed}"
    return Path("runs") / re.sub(r"[^\w.+&]+", "-", name)


def train_in_own(
    env: str | None,
    hierarchy: Hierarchy | None,
    folder: Path,
    budget: Budget,
    *,
    resume: bool,
    quiet: bool = False,
    **asked: Any,
) -> tuple[TrainGymnasiumRun, list[Row]]:
    """Trains, and shows the progress.

    Args:
        env: The name of the function that makes the environment; None to resume a run by its folder alone.
        hierarchy: The hierarchy of the task; None likewise.
        folder: The folder of the run.
        budget: The limits of the run.
        resume: Whether to go on with the run in the folder.
        quiet: Whether no progress is shown.
        asked: Other arguments of `train_gymnasium`.

    Returns:
        The run as it is on disk, and the rows of the chunks that were computed.
    """
    make_env = None if env is None else environment_function(env, "the environment")
    find_modules_here()
    prepare_device()
    rows: list[Row] = []
    try:
        with plain_warnings(), watching(_watched(folder, budget, resume=resume), quiet=quiet) as watch:
            train_gymnasium(
                make_env,
                hierarchy,
                steps=budget.steps,
                episodes=budget.episodes,
                seconds=budget.seconds,
                folder=folder,
                resume=resume,
                callbacks=[lambda row: watch([row]), rows.append],
                **asked,
            )
    except KeyboardInterrupt:
        if TrainGymnasiumFolder(folder).config.exists():
            tell(f"stopped; go on with: hrm train --resume -o {folder}")
        raise
    return load_gymnasium_training(folder), rows


def _watched(folder: Path, budget: Budget, *, resume: bool) -> Watched:
    """What the progress display is told: what is asked for, or was asked for when the run began."""
    if resume and not budget.is_limited:
        budget = load_gymnasium_training(folder).order.budget
    return Watched(str(folder), budget, seeds=1)
