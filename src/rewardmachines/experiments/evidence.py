"""What a claim of the paper is judged on: means over runs, of our results or of the paper's own tables alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias

from rewardmachines.experiments.aggregate import Mean
from rewardmachines.library.published import RUNS, PublishedTable

Axis: TypeAlias = Literal["episodes", "steps"]
"""What learning is measured in."""
Origin: TypeAlias = Literal["ours", "authors"]
"""Whose hierarchies and flat machines policies are learned on."""
_EXPERIMENTS: Final = {
    PublishedTable.DEFAULT: "default",
    PublishedTable.RESTRICTED: "restricted",
    PublishedTable.PRIMITIVE: "primitive",
}
"""What experiments are called where they are missing."""


@dataclass(frozen=True)
class TaskEvidence:
    """A task in the runs of an experiment of LHRM."""

    level: int
    learned: int
    """Runs in which a machine was learned."""
    numbers: Mapping[str, Mean]
    """Means over these runs, by the columns of the paper's tables."""


@dataclass(frozen=True)
class FlatEvidence:
    """A task in the runs of one learner of machines."""

    runs: int
    """Runs that say whether the learner learns a machine of the task in its time."""
    learned: int = 0
    stopped: int = 0
    """Runs that ended early with a wrong machine, and so say nothing."""
    numbers: Mapping[str, Mean] = field(default_factory=dict)
    """Means over runs that learned a machine: time_s, states, edges."""


@dataclass(frozen=True)
class LateEvidence:
    """Runs that learn their first machines from a single goal trace."""

    runs: int
    late: int
    """Runs that ran out of learner time."""


@dataclass(frozen=True)
class RelearnedEvidence:
    """A task whose lower levels had machines learned again while it was active."""

    runs: int
    """Runs that say so."""
    events: int = 0
    """How often a machine of a lower level was learned while the task returned something."""
    decays: int = 0
    """How often the return of the task fell to less than half thereafter."""


class Evidence(Protocol):
    """What claims ask for. Where there are no runs, the answer says so, and nothing is raised."""

    def runs(self, table: PublishedTable, setting: str) -> int:
        """How many runs of an experiment of LHRM there are."""

    def total(self, table: PublishedTable, setting: str, column: str) -> Mean | None:
        """The sum over all tasks of completed runs: `time_s` or `calls`."""

    def tasks(self, table: PublishedTable, setting: str) -> Mapping[str, TaskEvidence]:
        """The tasks of an experiment of LHRM; none, if there are no runs."""

    def flat(self, task: str, method: str) -> FlatEvidence:
        """A task in the runs of a learner of machines, in OP or WOD. With calls, it is learned among all others."""

    def single_trace(self, setting: str) -> LateEvidence:
        """Runs that learn their first machines from a single goal trace."""

    def reached(
        self, setting: str, task: str, algorithm: str, origin: Origin, axis: Axis = "episodes", threshold: float = 0.9
    ) -> Mean | None:
        """How long policies take to a return; a run that never had it counts with all that it took."""

    def relearned(self, setting: str, task: str) -> RelearnedEvidence:
        """What becomes of a task when machines of lower levels are learned again."""


def missing_experiments(evidence: Evidence, tables: Iterable[PublishedTable], settings: Iterable[str]) -> list[str]:
    """The experiments of which there are fewer runs than the paper has."""
    counts = {(table, setting): evidence.runs(table, setting) for setting in settings for table in tables}
    return [
        f"{_EXPERIMENTS[table]} {setting.upper()}{some_of(count)}"
        for (table, setting), count in counts.items() if count < RUNS
    ]  # fmt: skip


def some_of(count: int, wanted: int = RUNS) -> str:
    """How many runs there are of those that are wanted, in parentheses."""
    return f" ({count} of {wanted} runs)"
