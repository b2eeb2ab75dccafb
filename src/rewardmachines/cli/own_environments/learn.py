"""`hrm learn --env`: machines and policies of tasks in environments that functions of a module make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rewardmachines.cli.own_environments.names import NamedTask, plain_warnings, read_task
from rewardmachines.cli.progress.learn import Heading, watching_learning
from rewardmachines.cli.run_options import find_modules_here, prepare_device
from rewardmachines.cli.shared import tell
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.request import STOP_AT
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun, load_gymnasium_run
from rewardmachines.lhrm.learn_gymnasium import learn_gymnasium
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.runs.budget import Budget


def learn_in_own(
    environments: Sequence[str],
    folder: Path | None,
    budget: Budget,
    *,
    resume: bool,
    stop_at: float | None,
    instances: int | None = None,
    quiet: bool = False,
    **asked: Any,
) -> tuple[GymnasiumRun, bool]:
    """Learns, and shows the progress.

    Args:
        environments: The environments, each as `read_task` takes it; none to resume a run by its folder alone.
        folder: The folder of the run; one in runs/ if not given.
        budget: The limits of the run.
        resume: Whether to go on with the run in the folder.
        stop_at: The mean return that is good enough.
        instances: The number of fixed beginnings of each task; any beginnings, if not given.
        quiet: Whether no progress is shown.
        asked: Other arguments of `learn_gymnasium`.

    Returns:
        The run as it is on disk, and whether there was anything to do.
    """
    tasks = [read_task(text) for text in environments]
    if folder is None:
        module = tasks[0].function.partition(":")[0]
        folder = Path("runs") / f"learn-{module}-{asked.get('seed') or 0}"
    find_modules_here()
    made = [GymTask(task.name, task.level, task.make_env(), instances) for task in tasks]
    prepare_device()
    done: list[Any] = []
    heading = _heading(folder, budget, stop_at, tasks, resume=resume)
    try:
        with plain_warnings(), watching_learning(heading, quiet=quiet) as watch:
            learn_gymnasium(
                made or None,
                steps=budget.steps,
                episodes=budget.episodes,
                seconds=budget.seconds,
                stop_at=stop_at,
                folder=folder,
                resume=resume,
                callbacks=[watch, done.append],
                **asked,
            )
    except KeyboardInterrupt:
        if LearnFolder(folder).config.exists():
            tell(f"stopped; go on with: hrm learn --resume -o {folder}")
        raise
    return load_gymnasium_run(folder), bool(done)


def _heading(
    folder: Path, budget: Budget, stop_at: float | None, tasks: Sequence[NamedTask], *, resume: bool
) -> Heading:  # fmt: skip
    """What the progress display is told: what is asked for, or was asked for when the run began."""
    if not resume:
        count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
        return Heading(f"{folder} · {count}", budget, STOP_AT if stop_at is None else stop_at)
    order = load_gymnasium_run(folder).order
    limits = budget if budget.is_limited else order.budget
    return Heading(str(folder), limits, order.stop_at if stop_at is None else stop_at)
