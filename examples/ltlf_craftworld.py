"""Tasks in LTLf in CraftWorld: policies for one that is given, then machines and policies of two that are not.

    python examples/ltlf_craftworld.py [SEED]

A text that begins with `ltlf:` is a formula, wherever a task expression may be. A domain whose tasks are formulas is
one more domain: nobody tells the learner what they are.
"""

import sys
import time
from dataclasses import replace
from typing import Any

import rewardmachines as rm
from rewardmachines.envs.registry import domain
from rewardmachines.library.task_sets import TaskSet

BUCKET = "F(iron & X[!] F table) & (!workbench U iron)"  # iron, then a table, and no workbench before the iron
TASKS = {"fetch": "ltlf: F(iron & X[!] F table)", "twice": "ltlf: F(fetch & X[!] F sugarcane)"}


def report(chunk: Any) -> None:
    row = chunk.row
    print(f"{row.steps:9,} steps, {row.episodes:6,} episodes, {sum(row.goals)} goals in the last chunk", flush=True)


def formulas() -> str:
    """Makes CraftWorld with tasks of its own, and gives its name."""
    craftworld = domain("craftworld")
    tasks = TaskSet("formulas", "Formulas", craftworld.task_set.propositions, TASKS, craftworld.task_set.dead_end)
    rm.register_domain(replace(craftworld, task_set=tasks, quick_tasks=()))
    return "formulas"


if __name__ == "__main__":
    began, seed = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else 0
    print(rm.explain(rm.compile_ltlf(BUCKET)))
    run = rm.train("craftworld", f"ltlf: {BUCKET}", seed=seed, steps=400_000, callbacks=[report])
    (greedy,) = run.evaluate()
    print(f"given: at the goal in {greedy.mean_return:.0%} of greedy episodes")
    learned = rm.learn(formulas(), instances=3, seed=seed, steps=1_000_000, callbacks=[report])
    for task in learned.evaluate():
        print(f"\n{task.task}, learned: at the goal in {task.mean_return:.0%} of greedy episodes")
        print(rm.explain(learned.hierarchy(task.task)))
    print("", *learned.missing.values(), f"in {time.monotonic() - began:.0f} seconds", sep="\n")
