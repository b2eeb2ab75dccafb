"""Rates of the episodes that separate a wrong machine from the right one.

    python benchmarks/exactness.py                        the tasks of WaterWorld without dead ends
    python benchmarks/exactness.py wd --episodes 20000    another setting, more episodes

The usual mistake of a learned machine is a condition that is too weak: on two balls at once, it goes on where the true
one waits. For every call of a task's root under a condition, the condition is dropped, and random episodes say how
often this is found out. Beside it stands the number of episodes after which it is noticed with a probability of 95 %.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.formula import TRUE
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge
from rewardmachines.envs.recording import Recorder
from rewardmachines.envs.scenarios import domain_of, scenario
from rewardmachines.learning import first_error

figures = Figures("exactness")


def weakened(truth: Hierarchy) -> Iterator[tuple[Edge, Hierarchy]]:
    """Each call of the root under a condition, and the hierarchy in which the condition is dropped."""
    root = truth[truth.root]
    for number, edge in enumerate(root.edges):
        if edge.calls_leaf or edge.formula.is_true:
            continue
        edges = (*root.edges[:number], replace(edge, formula=TRUE), *root.edges[number + 1 :])
        machines = tuple(replace(root, edges=edges) if one is root else one for one in truth.machines)
        yield edge, Hierarchy(truth.root, machines, truth.propositions)


def main() -> None:
    """Records episodes of every task, and counts those that refute weakened machines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", nargs="?", default="wod")
    parser.add_argument("--episodes", type=int, default=6_000)
    parser.add_argument("--instances", type=int, default=100)
    given = parser.parse_args()
    where = scenario(domain_of(given.setting), given.setting, instances=given.instances)
    table = Table(title=f"{given.setting.upper()}, {given.episodes:,} random episodes of each task")
    for column in ("task", "dropped", "refuted by", "episodes for 95 %"):
        table.add_column(column, justify="left" if column in ("task", "dropped") else "right")
    for name in where.domain.tasks:
        truth = where.task(name)
        wrong = list(weakened(truth))
        if not wrong:
            continue
        traces = list(itertools.islice(Recorder(where, truth).traces(), given.episodes))
        for edge, tree in wrong:
            refuting = sum(first_error(tree, trace) is not None for trace in traces)
            needed = f"{math.log(20) * len(traces) / refuting:,.0f}" if refuting else "-"
            table.add_row(name, f"{edge.formula} of {edge.callee}", f"{refuting:,}", needed)
            what = f"{given.setting.upper()} {name} without {edge.formula} of {edge.callee}"
            figures.add("refuting", what, "refuted by", f"{refuting:,} of {len(traces):,}", "episodes")
            figures.add("refuting", what, "for 95 %", needed, "episodes")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
