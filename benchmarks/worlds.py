"""What agents reach in worlds that others compare in.

    python benchmarks/worlds.py classic                 CRM in the office world: four tasks, five seeds each
    python benchmarks/worlds.py classic craft=m1        all tasks of the craft world, in a map of it
    python benchmarks/worlds.py classic steps=200000    another number of steps; also seeds=2

`classic`: each task is trained by itself, for as many steps as are asked for, and evaluated greedily. A return of 1 is
a goal. *Normalized* is the number of steps of a shortest way from the beginning to the goal, by that of the agent: 1 is
optimal, 0 is no goal. Published is the median at the end of tabular CRM, trained in all tasks together for 100,000
steps in the office world and 2,000,000 in the craft world: reward per step, by that of an optimal policy, both with
ε-greedy actions (Toro Icarte et al., JAIR 2022): 1.00 in both.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import deque
from typing import Any, Final

import numpy as np
from record import Figures
from rich.console import Console
from rich.table import Table

import rewardmachines as rm
from rewardmachines.envs.classic.maps import DIRECTIONS, ClassicMap, classic_map
from rewardmachines.library import task_set

figures = Figures("worlds")
console = Console(width=150, highlight=False, emoji=False)
STEPS: Final = {"office": 100_000, "craft": 1_000_000}
"""The number of steps of a run, unless another is asked for."""


def shortest(grid: ClassicMap, hierarchy: rm.Hierarchy) -> int:
    """The number of steps of a shortest way to the goal: breadth first, in pairs of a cell and a state of the task."""
    first = (grid.start, rm.initial_state(hierarchy))
    queue, known = deque([(first, 0)]), {first}
    while queue:
        ((x, y), state), steps = queue.popleft()
        for action in np.flatnonzero(grid.moves[x, y]):
            cell = x + DIRECTIONS[action][0], y + DIRECTIONS[action][1]
            thing = grid.proposition(*cell)
            after = rm.step(hierarchy, state, set() if thing is None else {thing})
            verdict = rm.verdict_of(hierarchy, after)
            if verdict is rm.Verdict.ACCEPT:
                return steps + 1
            if verdict is rm.Verdict.NEITHER and (cell, after) not in known:
                known.add((cell, after))
                queue.append(((cell, after), steps + 1))
    raise ValueError("the goal cannot be reached")


def classic(domain: str, setting: str, steps: int, seeds: int) -> None:
    """Trains CRM in each task of a domain, and compares its ways with the shortest ones."""
    tasks = task_set(domain)
    dead_ends = tasks.dead_end is not None
    grid = classic_map(setting, tasks.all_propositions(dead_ends=dead_ends))
    table = Table("task", "shortest", "seeds at the goal", "normalized", "first there after", "seconds of a seed")
    every: list[float] = []
    for task in tasks.tasks:
        best = shortest(grid, tasks.hierarchy(task, dead_ends=dead_ends))
        began = time.monotonic()
        # No return ends a run, so that all of them take as many steps.
        runs = rm.train(
            domain, task, setting=setting, agent="crm", instances=1, steps=steps, stop_at=0.0, seeds=seeds,
            settings={"evaluate_every": 2},
        )  # fmt: skip
        seconds = (time.monotonic() - began) / seeds
        last = [evaluated(run)[-1] for run in runs]
        ways = [best / length if goal else 0.0 for _, goal, length in last]
        there = [at for run in runs for at in [next((at for at, goal, _ in evaluated(run) if goal), None)] if at]
        every += ways
        first = statistics.median(there) if there else None
        table.add_row(
            task, str(best), f"{sum(goal > 0 for _, goal, _ in last)} of {seeds}", f"{statistics.median(ways):.2f}",
            "-" if first is None else f"{first:,.0f} steps", f"{seconds:.0f}",
        )  # fmt: skip
        place = f"{domain} {setting}, {task}"
        figures.add("classic", place, "normalized return", round(statistics.median(ways), 3), "", (1.0, "published"))
        if first is not None:
            figures.add("classic", place, "first solved", first, "steps")
    console.print(f"CRM, {domain}, {setting}: {seeds} seeds, {steps:,} steps; medians")
    console.print(table)
    console.print(f"median of all tasks and seeds: {statistics.median(every):.2f}, mean {statistics.fmean(every):.2f}")


def evaluated(run: rm.Run) -> list[tuple[int, float, float]]:
    """Steps, greedy return and length of each evaluation."""
    rows: list[Any] = [row for row in run.rows if row.returns is not None]
    return [(row.steps, float(row.returns[0][0]), float(row.lengths[0][0])) for row in rows]


def main() -> None:
    """Measures the part that is asked for."""
    words = dict(word.partition("=")[::2] for word in sys.argv[1:])
    if "classic" not in words:
        raise SystemExit(__doc__)
    domain, setting = ("craft", words["craft"]) if "craft" in words else ("office", "office")
    classic(domain, setting, int(words.get("steps", STEPS[domain])), int(words.get("seeds", 5)))


if __name__ == "__main__":
    main()
