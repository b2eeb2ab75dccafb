"""Whether what was learned is what was to be learned: the shortest trace that tells them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardmachines.core.equivalence import Word, difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, show_label, verdict
from rewardmachines.reports.results_table import to_csv
from rewardmachines.reports.run_view import RunView


@dataclass(frozen=True)
class Difference:
    """Of a task's learned hierarchy from the true one."""

    task: str
    trace: Word | None
    """None if they say the same of every trace, or if it could not be found out."""
    learned: Verdict | None = None
    """What is said of it."""
    true: Verdict | None = None
    problem: str | None = None
    """Why it could not be found out."""

    @property
    def shown(self) -> str:
        return "" if self.trace is None else " ".join(map(show_label, self.trace))

    @property
    def answer(self) -> str:
        if self.problem is not None:
            return "unknown"
        return "none" if self.trace is None else "differs"


@dataclass(frozen=True)
class Differences:
    """Of all tasks that have a machine. Labels that repeat are one, as in the traces of a run."""

    labels: str
    """Which were considered, in words."""
    tasks: tuple[Difference, ...]


def differences(run: RunView) -> Differences:
    worlds = run.worlds
    scenario = worlds.scenario
    possible = scenario.domain.labels(dead_ends=scenario.dead_ends)
    if possible is not None:
        labels, words = tuple(possible), "the empty label and each proposition alone, which are all that can be seen"
    else:
        labels = seen_labels(run)
        words = f"the {len(labels)} labels that occur in the examples of this run"
    learned = run.hierarchies()
    names = [task.name for task in worlds.tasks if task.name in learned]
    return Differences(words, tuple(_compared(name, learned[name], worlds.tree(name), labels) for name in names))


def seen_labels(run: RunView) -> tuple[Label, ...]:
    """Those of all examples, and the empty one."""
    found = {label for traces in run.examples().values() for trace in traces for label in trace.labels}
    return tuple(sorted(found | {frozenset()}, key=lambda label: (len(label), sorted(label))))


def _compared(name: str, learned: Hierarchy, true: Hierarchy, labels: Sequence[Label]) -> Difference:
    try:
        trace = difference(learned.rooted(name), true, labels=labels, events=True)
        if trace is None:
            return Difference(name, None)
        return Difference(name, trace, verdict(learned, trace), verdict(true, trace))
    except RewardMachineError as problem:  # too large, or a learned machine that is not deterministic
        return Difference(name, None, problem=str(problem))


def differences_csv(found: Differences) -> str:
    rows = [
        [one.task, one.answer, one.shown, one.learned and one.learned.value, one.true and one.true.value, one.problem]
        for one in found.tasks
    ]
    return to_csv(["task", "difference", "shortest_trace", "learned_says", "true_says", "problem"], rows)
