"""The comparison of learned hierarchies with the true ones: the shortest trace on which their verdicts differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardmachines.core.equivalence import Word, difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, show_label, verdict
from rewardmachines.reports.results_table import to_csv
from rewardmachines.runs.run import Run


@dataclass(frozen=True)
class Difference:
    """The result of comparing the learned hierarchy of a task with the true one."""

    task: str
    trace: Word | None
    """The shortest trace with different verdicts; None if there is none, or if the comparison failed."""
    learned: Verdict | None = None
    """The verdict of the learned hierarchy on the trace."""
    true: Verdict | None = None
    """The verdict of the true hierarchy on the trace."""
    problem: str | None = None
    """Why the hierarchies could not be compared, if they could not."""

    @property
    def shown(self) -> str:
        """The labels of the trace as text; empty if there is no trace."""
        return "" if self.trace is None else " ".join(map(show_label, self.trace))

    @property
    def answer(self) -> str:
        """The result as one word: `none`, `differs` or `unknown`."""
        if self.problem is not None:
            return "unknown"
        return "none" if self.trace is None else "differs"


@dataclass(frozen=True)
class Differences:
    """The comparisons of all tasks that have a machine, over traces without repeated labels, as those of a run are."""

    labels: str
    """The labels that traces may consist of, in words."""
    tasks: tuple[Difference, ...]


def differences(run: Run) -> Differences:
    """Compares every hierarchy that a run has learned with the true one of its task.

    The traces consist of all labels that can be observed, if the domain can list them, or else of those that occur in
    the examples of the run. In Gymnasium environments nothing is compared, nor where hierarchies are given.
    """
    scenario = run.scenario
    if scenario is None or not run.config.learns_machines:
        return Differences("nothing, because the true ones are not known", ())
    possible = scenario.domain.labels(dead_ends=scenario.dead_ends)
    if possible is not None:
        labels, words = tuple(possible), "the empty label and each proposition alone, which are all that can be seen"
    else:
        labels = seen_labels(run)
        words = f"the {len(labels)} labels that occur in the examples of this run"
    compared = (_compared(name, tree, scenario.task(name), labels) for name, tree in run.machines.items())
    return Differences(words, tuple(compared))


def seen_labels(run: Run) -> tuple[Label, ...]:
    """The labels that occur in the examples of a run, and the empty label; small ones first."""
    observed = {label for traces in run.examples.values() for trace in traces for label in trace.labels}
    return tuple(sorted(observed | {frozenset()}, key=lambda label: (len(label), sorted(label))))


def _compared(name: str, learned: Hierarchy, true: Hierarchy, labels: Sequence[Label]) -> Difference:
    try:
        trace = difference(learned.rooted(name), true, labels=labels, events=True)
        if trace is None:
            return Difference(name, None)
        return Difference(name, trace, verdict(learned, trace), verdict(true, trace))
    except RewardMachineError as problem:  # too large, or a learned machine that is not deterministic
        return Difference(name, None, problem=str(problem))


def differences_csv(compared: Differences) -> str:
    """The comparisons as a CSV file, with a line for each task."""
    rows = [
        [d.task, d.answer, d.shown, d.learned and d.learned.value, d.true and d.true.value, d.problem]
        for d in compared.tasks
    ]
    return to_csv(["task", "difference", "shortest_trace", "learned_says", "true_says", "problem"], rows)
