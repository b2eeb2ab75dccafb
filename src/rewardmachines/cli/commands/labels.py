"""The command `hrm labels`: label statistics of an environment from random episodes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import tyro
from rich.progress import track
from rich.table import Table

from rewardmachines.cli.device import find_modules_here
from rewardmachines.cli.shared import Command, Flag, console, read_hierarchy, say, write_json
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import show_label

if TYPE_CHECKING:
    from rewardmachines.envs.label_statistics import LabelStatistics

_SHOWN_LABELS: Final = 20
"""The largest number of labels in the table."""


@dataclass(frozen=True)
class Labels(Command):
    """Run random episodes and report which propositions and labels occur, and how often.

    The environment must be labelled: built in, or wrapped in LabelingWrapper. A proposition that a hierarchy needs and
    that no episode showed is pointed out.

    Try:
      hrm labels rewardmachines/CraftWorld-OP-v0
      hrm labels my_lake:make --hierarchy mine.yaml
    """

    loads: ClassVar[tuple[str, ...]] = ("rewardmachines.envs.label_statistics",)

    where: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="WHERE")]
    """A Gymnasium id, or MODULE:FUNCTION that makes the environment. Modules in the present folder are found."""
    episodes: int = 20
    """The number of episodes."""
    max_steps: Annotated[int, tyro.conf.arg(metavar="STEPS")] = 1000
    """The number of steps after which an episode is truncated."""
    hierarchy: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """The task whose propositions are looked for; that of the environment if it has one."""
    seed: int = 0
    """The seed of the first episode; the others have the seeds that follow."""
    json: Flag = False
    """Print JSON."""

    def run(self) -> int:
        from rewardmachines.envs.label_statistics import label_statistics, random_episodes
        from rewardmachines.runs.seeds import check_seed

        if self.episodes < 1 or self.max_steps < 1:
            raise RewardMachineError("at least one episode and one step are needed")
        check_seed(self.seed, self.episodes)
        env = self._environment()
        propositions = tuple(env.get_wrapper_attr("propositions"))
        env.action_space.seed(self.seed)
        seeds = range(self.seed, self.seed + self.episodes)
        watched = track(seeds, "episodes", disable=not sys.stderr.isatty(), transient=True)
        statistics = label_statistics(random_episodes(env, watched, self.max_steps))
        needed = self._needed(env)
        if self.json:
            write_json(statistics.plain(propositions, needed))
        else:
            _print_propositions(statistics, propositions, needed)
            _print_labels(statistics)
            _print_missing(statistics, propositions, needed)
        return 0

    def _environment(self) -> Any:
        """The environment that is named."""
        from rewardmachines.envs.gymnasium.checked_envs import make_checked
        from rewardmachines.envs.label_statistics import check_labelled, make_by_id
        from rewardmachines.files.named_function import named_function

        find_modules_here()
        if ":" in self.where and "/" not in self.where:
            env: Any = make_checked(named_function(self.where, "the environment", is_asked_for=True)).env
        else:
            env = make_by_id(self.where)
        check_labelled(env, self.where)
        return env

    def _needed(self, env: Any) -> Sequence[str]:
        """The propositions that the task mentions."""
        if self.hierarchy is not None:
            return sorted(read_hierarchy(self.hierarchy).used_propositions)
        if env.has_wrapper_attr("hierarchy"):
            return sorted(env.get_wrapper_attr("hierarchy").used_propositions)
        return []


def _print_propositions(statistics: LabelStatistics, propositions: Sequence[str], needed: Sequence[str]) -> None:
    title = f"{statistics.episode_count} episodes, {statistics.step_count} labels"
    table = Table("proposition", "steps", "share", "events", "", title=title)
    for proposition in propositions:
        steps, events = statistics.steps_with(proposition), statistics.events_with(proposition)
        remark = "" if steps else "needed, but never seen" if proposition in needed else "never seen"
        table.add_row(proposition, str(steps), _share(steps, statistics), str(events), remark)
    console().print(table)


def _print_labels(statistics: LabelStatistics) -> None:
    table = Table("label", "steps", "share", "events", "episodes")
    for label, count in statistics.steps.most_common(_SHOWN_LABELS):
        events, episodes = statistics.events[label], statistics.episodes[label]
        table.add_row(show_label(label), str(count), _share(count, statistics), str(events), str(episodes))
    console().print(table)
    if (rarer := len(statistics.steps) - _SHOWN_LABELS) > 0:
        say(f"and {rarer} rarer labels (--json lists them all)")


def _print_missing(statistics: LabelStatistics, propositions: Sequence[str], needed: Sequence[str]) -> None:
    if unknown := [proposition for proposition in needed if proposition not in propositions]:
        say(f"the environment does not know {', '.join(unknown)}: the task can never be done")
    elif missing := statistics.never_observed(needed):
        say(f"never seen, though the task needs it: {', '.join(missing)}; try more --episodes, or check the labels")


def _share(count: int, statistics: LabelStatistics) -> str:
    return f"{100 * count / statistics.step_count:.1f} %"
