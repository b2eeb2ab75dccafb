"""`hrm learn --env`: machines and policies of tasks in environments that functions of a module make."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rewardmachines.agents.gymnasium.episode_records import ReplayWarning
from rewardmachines.cli.progress.learn import Heading, watching_learning
from rewardmachines.cli.run_options import find_modules_here, prepare_device
from rewardmachines.cli.shared import tell
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.request import STOP_AT
from rewardmachines.lhrm.gymnasium_runs.run import GymnasiumRun, load_gymnasium_run
from rewardmachines.lhrm.learn_gymnasium import learn_gymnasium
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEndWarning
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.runs.budget import Budget
from rewardmachines.runs.config_file import LEARN_GYMNASIUM, command_of
from rewardmachines.runs.named_function import named_function

_ENV: Final = re.compile(r"(?:(?P<task>[^=]+)=)?(?P<function>[\w.]+:[\w.]+)(?:@(?P<level>\d{1,3}))?")
_MAKE: Final = "make_"
"""What the names of functions that make environments often begin with."""


@dataclass(frozen=True)
class NamedTask:
    """A task whose environment a function makes."""

    name: str
    level: int
    function: str
    """The name of the function, `module:function`."""

    def gym_task(self) -> GymTask:
        """The task; the module of its function is imported."""
        return GymTask(self.name, self.level, named_function(self.function, f"the environment of '{self.name}'"))


def read_task(text: str) -> NamedTask:
    """Reads `[TASK=]MODULE:FUNCTION[@LEVEL]`.

    >>> read_task("my_lake:make_hut"), read_task("round trip=my_lake:make@2").level
    (NamedTask(name='hut', level=1, function='my_lake:make_hut'), 2)
    """
    found = _ENV.fullmatch(text)
    if found is None:
        raise RewardMachineError(f"--env {text}: write [TASK=]MODULE:FUNCTION[@LEVEL], such as hut=my_lake:make_hut@1")
    function = found["function"]
    own = function.rpartition(":")[2].rpartition(".")[2]
    name = found["task"] or own.removeprefix(_MAKE) or own
    return NamedTask(name, int(found["level"] or 1), function)


def is_own(folder: Path | None) -> bool:
    """Whether a folder holds a run in environments of somebody else."""
    config = None if folder is None else LearnFolder(folder).config
    return config is not None and config.exists() and command_of(config) == LEARN_GYMNASIUM


def learn_in_own(
    environments: Sequence[str],
    folder: Path | None,
    budget: Budget,
    *,
    resume: bool,
    stop_at: float | None,
    **asked: Any,
) -> tuple[GymnasiumRun, bool]:
    """Learns, and shows the progress.

    Args:
        environments: The environments, each as `read_task` takes it; none to resume a run by its folder alone.
        folder: The folder of the run; one in runs/ if not given.
        budget: The limits of the run.
        resume: Whether to go on with the run in the folder.
        stop_at: The mean return that is good enough.
        asked: Other arguments of `learn_gymnasium`.

    Returns:
        The run as it is on disk, and whether there was anything to do.
    """
    tasks = [read_task(text) for text in environments]
    if folder is None:
        module = tasks[0].function.partition(":")[0]
        folder = Path("runs") / f"learn-{module}-{asked.get('seed') or 0}"
    find_modules_here()
    made = [task.gym_task() for task in tasks]
    prepare_device()
    done: list[Any] = []
    try:
        with _plain_warnings(), watching_learning(_heading(folder, budget, stop_at, tasks, resume=resume)) as watch:
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


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Prints warnings as lines, without the place in the code where they come from."""
    with warnings.catch_warnings():
        for category in (DeadEndWarning, ReplayWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = lambda message, *_args, **_options: tell(f"warning: {message}")
        yield
