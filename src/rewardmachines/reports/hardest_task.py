"""A film of the hardest task that a run has learned a machine for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.sizes import size
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.reports.film import FilmedEpisode, film_episode
from rewardmachines.reports.run_view import Progress, RunView
from rewardmachines.runs.compiled_cache import computing_on_the_host

FILM: Final = "hardest.html"
"""The name of the page that plays the film."""
GIF: Final = "hardest.gif"
"""The name of the same film, to be shown elsewhere."""
NOT_SHOWN: Final = "reports run no code of yours; hrm evaluate RUN -o film.html films a Gymnasium environment"
"""Why there is no film of some runs."""


@dataclass(frozen=True)
class HardestFilm:
    """A description of the film, for the report."""

    task: str
    instance: int
    """The number of the instance in which the episode takes place."""
    steps: int
    """The number of steps of the episode."""
    end: str
    """How the episode ended, in words."""
    succeeds: bool
    """Whether it reached the goal of the task."""
    tried: int
    """The number of instances that were tried. If the film does not show a success, none of them had one."""
    size: tuple[int, int]
    """The width and the height of its frames in pixels."""


def hardest_task(run: RunView) -> str | None:
    """The task of the highest level, and among those the one with the largest hierarchy.

    Only tasks that have a machine and were not given up are considered; without any, the result is None.
    """
    learned, learnings = run.hierarchies(), run.learnings()
    candidates = [t for t in run.worlds.tasks if t.name in learned and learnings[t.name].problem is None]
    if not candidates:
        return None

    def hardness(name: str, level: int) -> tuple[int, int, int]:
        tree = learned[name].rooted(name)
        return level, len(tree.machines), size(tree).states

    return max(candidates, key=lambda task: hardness(task.name, task.level)).name


@dataclass(frozen=True)
class Recording:
    """Episodes of the hardest task that were recorded, of which one is to be drawn."""

    task: str
    instances: Sequence[int]
    """The instances in which they took place."""
    episodes: Sequence[FilmedEpisode]

    def save(self, folder: Path) -> HardestFilm:
        """Draws an episode that succeeds, or else the first, and writes the film to a folder."""
        chosen = next((number for number, episode in enumerate(self.episodes) if episode.succeeds), 0)
        best = self.episodes[chosen]
        size = best.save(folder / FILM, folder / GIF)
        return HardestFilm(
            task=self.task,
            instance=self.instances[chosen],
            steps=best.steps,
            end=best.end,
            succeeds=best.succeeds,
            tried=len(self.episodes),
            size=size,
        )


def record_film(run: RunView, progress: Progress) -> Recording | str:
    """Records episodes of the hardest task, in one instance after the other until it succeeds. Nothing is drawn yet.

    Args:
        run: The run whose policy acts.
        progress: Called with a text for each instance that is tried.

    Returns:
        The episodes, or the reason why there are none.
    """
    task, inside = hardest_task(run), run.in_domain
    if task is None:
        return "there is no machine yet"
    if inside is None:
        return NOT_SHOWN
    instances = _promising(run, task, run.rows())
    episodes: list[FilmedEpisode] = []
    try:
        with computing_on_the_host():
            policy = inside.policy(task)
            for instance in instances:
                progress(f"{GIF}: {task}, instance {instance}")
                episodes.append(film_episode(inside.environment(task, instance), policy, task))
                if episodes[-1].succeeds:
                    break
    except RewardMachineError as problem:  # the file of networks may be older than the machine
        return str(problem)
    return Recording(task, instances[: len(episodes)], episodes)


def _promising(run: RunView, task: str, rows: Sequence[Row]) -> list[int]:
    """All instances, first those in which the last evaluation of the task had the highest returns."""
    number = [spec.name for spec in run.worlds.tasks].index(task)
    last = next((row.returns[number] for row in reversed(rows) if row.returns is not None), None)
    instances = list(range(run.spec.instances))
    return instances if last is None else sorted(instances, key=lambda instance: -last[instance])
