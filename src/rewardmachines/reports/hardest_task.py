"""A film of the hardest task that a run has learned a machine for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.sizes import size
from rewardmachines.rollout.suite import TaskSpec
from rewardmachines.runs.compiled_cache import computing_on_the_host
from rewardmachines.runs.film import FilmedEpisode
from rewardmachines.runs.run import Run

FILM: Final = "hardest.html"
"""The name of the page that plays the film."""
GIF: Final = "hardest.gif"
"""The name of the same film as a GIF, for other pages."""
TRIES: Final = 5
"""The largest number of instances in which a success is looked for."""
UNSUCCESSFUL_STEPS: Final = 100
"""The largest number of steps that are shown of an episode without one."""
NOT_SHOWN: Final = "reports run no code of yours; hrm evaluate RUN -o film.html films a Gymnasium environment"
"""Why there is no film of some runs."""


def hardest_task(run: Run) -> str | None:
    """The task of the highest level, and among those the one with the largest hierarchy.

    Only tasks that have a machine and were not given up are considered; without any, the result is None.
    """
    learned, progress = run.machines, run.progress
    candidates = [
        task for task in run.ranked_tasks
        if task.name in learned and (task.name not in progress or progress[task.name].problem is None)
    ]  # fmt: skip
    if not candidates:
        return None

    def hardness(task: TaskSpec) -> tuple[int, int, int]:
        tree = learned[task.name]
        return task.level, len(tree.machines), size(tree).states

    return max(candidates, key=hardness).name


@dataclass(frozen=True)
class Recording:
    """Episodes of the hardest task, in one instance after the other until one succeeded."""

    task: str
    instances: Sequence[int]
    """The instances in which they took place."""
    episodes: Sequence[FilmedEpisode]

    @property
    def chosen(self) -> int:
        """The number of the episode that is shown: one that succeeds, or else the first."""
        return next((number for number, episode in enumerate(self.episodes) if episode.succeeds), 0)

    @property
    def episode(self) -> FilmedEpisode:
        """The episode that is shown; of one without success, its beginning."""
        shown = self.episodes[self.chosen]
        return shown if shown.succeeds else shown.beginning(UNSUCCESSFUL_STEPS)

    @property
    def caption(self) -> str:
        """The caption of the film."""
        shown = self.episode
        where = f"instance {self.instances[self.chosen]}: {shown.end}, {shown.steps} steps"
        if shown.succeeds:
            return f"{self.task} in {where}."
        tried = f"did not succeed within the length of a film in any of {len(self.episodes)} instances"
        return f"{self.task} {tried}; this is {where}."

    def save(self, folder: Path) -> tuple[int, int]:
        """Draws the film and writes it to a folder.

        Returns:
            The width and the height of its frames in pixels.
        """
        return self.episode.save(folder / FILM, folder / GIF)


def record_film(run: Run, progress: Callable[[str], object]) -> Recording | str:
    """Records episodes of the hardest task, in some instances, until it succeeds. Nothing is drawn yet.

    Args:
        run: The run whose policy acts.
        progress: Called with a text for each instance that is tried.

    Returns:
        The episodes, or the reason why there are none.
    """
    task, place = hardest_task(run), run.config.domain
    if task is None:
        return "there is no machine yet"
    if place is None:
        return NOT_SHOWN
    number = run.tasks.index(task)
    last = next((row.returns[number] for row in reversed(run.rows) if row.returns is not None), None)
    # First those in which the last evaluation of the task had the highest returns.
    instances = sorted(range(place.instances), key=lambda instance: 0.0 if last is None else -last[instance])
    episodes: list[FilmedEpisode] = []
    try:
        with computing_on_the_host():
            for instance in instances[:TRIES]:
                progress(f"{GIF}: {task}, instance {instance}")
                episodes.append(run.record_film(task, instance=instance))
                if episodes[-1].succeeds:
                    break
    except RewardMachineError as problem:  # the file of networks may be older than the machine
        return str(problem)
    return Recording(task, instances[: len(episodes)], episodes)
