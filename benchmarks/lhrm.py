"""How soon all machines and policies of a domain are learned from interaction alone.

    python benchmarks/lhrm.py                    CraftWorld OP, all 13 tasks
    python benchmarks/lhrm.py op seconds=300

A run is done when, for all tasks at once, the mean of three consecutive greedy evaluations over the ten instances is at
least 0.95. Compilation is included.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from rewardmachines.agents.presets import preset
from rewardmachines.core.equivalence import difference
from rewardmachines.core.traversal import show_label
from rewardmachines.envs.scenario import scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.loop import Lhrm

DONE = 0.95
console = Console(width=150, highlight=False, emoji=False)


def is_done(run: Lhrm) -> bool:
    last = run.evaluations[-3:]
    return len(last) == 3 and bool((np.mean(last, axis=(0, 2)) >= DONE).all())


def learn(setting: str, seconds: float) -> None:
    settings = replace(
        preset("fast", "craftworld", setting),
        environments=32,
        chunk=100,
        evaluate_every=5,
        call_annealing=100,
        curriculum_weight=0.5,
    )
    place = scenario("craftworld", setting, observation=settings.observation)
    tasks = sorted(place.domain.tasks, key=lambda name: place.task(name).height)
    started = time.perf_counter()
    with Solvers() as solvers:
        run = Lhrm(place, tasks, settings, solvers)
        while not is_done(run) and time.perf_counter() - started < seconds:
            run.advance()
            if run.chunks % 25 == 0:
                console.print(
                    f"  {time.perf_counter() - started:5.0f} s  {run.steps:>9,} steps  level {run.curriculum.level}  "
                    f"{len(run.book.pool.learned)} machines  returns "
                    + " ".join(f"{r:.2f}" for r in run.curriculum.returns.mean(axis=1))
                )
    took = time.perf_counter() - started
    report(run)
    inside = sum(learning.seconds for learning in run.learnings.values())
    verdict = "done" if is_done(run) else "NOT done"
    console.print(f"{setting.upper()}: {verdict} after {took:.0f} s, {run.steps:,} steps; learner {inside:.2f} s "
                  f"({100 * inside / took:.1f} %)")  # fmt: skip


def report(run: Lhrm) -> None:
    table = Table(
        "task", "level", "states", "edges", "calls", "relearned", "examples", "learner s", "return", "difference"
    )
    for i, name in enumerate(run.tasks):
        learning, pool = run.learnings[name], run.book.pool
        machine = pool.learned.get(name)
        if machine is None:
            table.add_row(
                name, str(pool.level(name)), *"--", "0", "0", str(len(learning.examples.goals)), "-", "-", "-"
            )
            continue
        place = run.place
        labels = place.domain.labels(dead_ends=place.dead_ends)
        word = difference(pool.hierarchy(name), place.task(name), labels=labels, events=True)
        table.add_row(
            name, str(pool.level(name)), str(len(machine.states)), str(len(machine.edges)), str(learning.calls),
            str(learning.relearned), str(len(learning.examples.traces)), f"{learning.seconds:.3f}",
            f"{run.evaluations[-1][i].mean():.2f}" if run.evaluations else "-",
            "none" if word is None else " ".join(map(show_label, word)),
        )  # fmt: skip
    console.print(table)


def main(words: list[str]) -> None:
    options = dict(w.split("=", 1) for w in words if "=" in w)
    for setting in [w for w in words if "=" not in w] or ["op"]:
        learn(setting, float(options.get("seconds", 900)))


if __name__ == "__main__":
    main(sys.argv[1:])
