"""The paper's claim: agents on a hierarchy learn sooner than on its flat form, and than CRM.

    python benchmarks/claim.py seconds=500                         all runs for which there is time, table and picture
    python benchmarks/claim.py task=cake agent=hrl steps=1e6       one run

Runs take place in CraftWorld FRL, with the preset `fast`; everything but seconds, steps, seeds, task and agent is a
setting of the agent, such as evaluate_every=3. A run whose metrics are in results/claim is not run again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from in_memory import trainings
from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.agents.presets import preset
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files import write_aside
from rewardmachines.files.overrides import changed
from rewardmachines.rollout.algorithm import RunsSideBySide

NAMES = {"hrl": "hierarchy", "flat-hrl": "flat machine", "crm": "CRM"}
"""The agents that are compared, and their titles."""
TASKS = ("book-quill", "cake")
CLAIMED = 0.9
"""The return from which on a run has converged."""
OWN = ("seconds", "steps", "seeds", "task", "agent")
"""The arguments of the benchmark; everything else is a setting of the agent."""
RESULTS = Path(__file__).parent.parent / "results" / "claim"
figures = Figures("claim")
console = Console(width=150, highlight=False, emoji=False)


def claim(arguments: dict[str, str]) -> None:
    """Runs all agents and tasks without metrics, and prints the results if all tasks were asked for."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    deadline = time.perf_counter() + float(arguments.get("seconds", 540))
    for task in TASKS if "task" not in arguments else [arguments["task"]]:
        for agent in NAMES if "agent" not in arguments else [arguments["agent"]]:
            path = RESULTS / f"frl-{task}-{agent}.jsonl"
            if not path.exists() and time.perf_counter() < deadline:
                run(path, task, agent, arguments, deadline)
    if "task" not in arguments:
        print_table()


def run(path: Path, task: str, agent: str, arguments: dict[str, str], deadline: float) -> None:
    """Writes every evaluation of every seed, until the budget is spent or all seeds have converged."""
    seeds, budget = int(arguments.get("seeds", 5)), int(float(arguments.get("steps", 2_000_000)))
    changes = tuple(f"{name}={value}" for name, value in arguments.items() if name not in OWN)
    config = changed(preset("fast", "craftworld", "frl", agent), changes)
    together, steps = RunsSideBySide(trainings("frl", task, agent, config, seeds)), 0
    lines: list[dict[str, Any]] = []
    started = time.perf_counter()
    while steps < budget and not (lines and all(convergence(lines, s) for s in range(seeds))):
        if time.perf_counter() > deadline:
            break
        rows = together.advance()
        steps = max(row.steps for row in rows)
        lines += [
            {"seed": seed, "steps": row.steps, "episodes": row.episodes, "return": row.mean_return}
            for seed, row in enumerate(rows)
            if row.returns is not None
        ]
    write_aside(path, "".join(f"{json.dumps(line)}\n" for line in lines))
    keep(task, agent, lines)
    console.print(f"  {path.name}: {steps:,} steps in {time.perf_counter() - started:.0f} s")


def keep(task: str, agent: str, lines: list[dict[str, Any]]) -> None:
    """Keeps the means of a run, and from the least to the most steps."""
    seeds = sorted({line["seed"] for line in lines})
    found = [at for s in seeds if (at := convergence(lines, s)) is not None]
    what = f"{task}, {NAMES[agent]}"
    figures.add("convergence", what, "converged", f"{len(found)} of {len(seeds)}")
    for measure in ("steps", "episodes") if found else ():
        numbers = [at[measure] for at in found]
        figures.add("convergence", what, measure, round(mean(numbers)))
        figures.add("convergence", what, f"{measure}, range", f"{min(numbers):,} to {max(numbers):,}")
    last = [[line["return"] for line in lines if line["seed"] == s][-1] for s in seeds]
    figures.add("convergence", what, "steps in all", max(line["steps"] for line in lines))
    figures.add("convergence", what, "last return", mean(last))


def convergence(lines: list[dict[str, Any]], seed: int) -> dict[str, Any] | None:
    """The first of three consecutive evaluations with at least 0.9."""
    mine = [line for line in lines if line["seed"] == seed]
    good = [line["return"] >= CLAIMED for line in mine]
    return next((mine[i] for i in range(len(mine) - 2) if all(good[i : i + 3])), None)


def print_table() -> None:
    table = Table(
        "task", "agent", "seeds", "converged", "steps, mean (least to most)", "episodes, mean", "ended after",
        "last return", title="FRL: the first of three consecutive evaluations of 0.9 or more",
    )  # fmt: skip
    for task, agent, lines in claimed():
        seeds = sorted({line["seed"] for line in lines})
        found = [at for s in seeds if (at := convergence(lines, s)) is not None]
        last = [[line["return"] for line in lines if line["seed"] == s][-1] for s in seeds]
        steps, episodes = ([at[k] for at in found] for k in ("steps", "episodes"))
        table.add_row(
            task, NAMES[agent], str(len(seeds)), str(len(found)),
            f"{mean(steps):,.0f} ({min(steps):,} to {max(steps):,})" if found else "-",
            f"{mean(episodes):,.0f}" if found else "-",
            f"{max(line['steps'] for line in lines):,}", f"{mean(last):.2f}",
        )  # fmt: skip
    console.print(table)
    plot()


def claimed() -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """The evaluations of every run there is."""
    for task in TASKS:
        for agent in NAMES:
            path = RESULTS / f"frl-{task}-{agent}.jsonl"
            if path.exists():
                yield task, agent, [json.loads(line) for line in path.read_text().splitlines()]


def plot() -> None:
    """Mean and range over the seeds; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(TASKS), figsize=(10, 3.6), sharey=True)
    at = dict(zip(TASKS, axes, strict=True))
    for task, agent, lines in claimed():
        by_steps: dict[int, list[float]] = {}
        for line in lines:
            by_steps.setdefault(line["steps"], []).append(line["return"])
        steps = [x / 1e6 for x in by_steps]
        at[task].plot(steps, [mean(y) for y in by_steps.values()], label=NAMES[agent])
        at[task].fill_between(
            steps, [min(y) for y in by_steps.values()], [max(y) for y in by_steps.values()], alpha=0.2
        )
    for task, axis in at.items():
        axis.set(title=f"CraftWorld FRL, {task}", xlabel="million steps", ylim=(-0.02, 1.02))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("greedy return, ten instances")
    axes[-1].legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(RESULTS / "claim.png", dpi=150)


def main(words: list[str]) -> None:
    if not all("=" in word for word in words):
        raise SystemExit(__doc__)
    claim({name.removeprefix("--"): value for name, value in (word.split("=", 1) for word in words)})


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RewardMachineError as problem:
        raise SystemExit(str(problem)) from None
