"""How fast agents train, beside the authors' code, and how soon they solve tasks.

    python benchmarks/training.py speed                  steps per second at the paper's ratio of updates to steps
    python benchmarks/training.py solve op:cake          time until a task is solved, compilation included
    python benchmarks/training.py claim --seconds 500    hierarchy against flat machine against CRM, resumable

A step is one step of one environment with four Q-functions updated on a batch of 32, as the authors count; theirs were
measured on two CPU cores. A task is solved when the mean of three consecutive greedy evaluations over the ten instances
is 0.95. Compile time is told apart in `speed` and included in `solve`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import mean

import jax
from rich.console import Console
from rich.table import Table

from rewardmachines.agents.config import Algorithm, Config
from rewardmachines.agents.presets import preset
from rewardmachines.agents.session import Row, Session, Spec

SPEED = [
    ("craftworld", "op", "cake", 31, 5),
    ("craftworld", "frl", "book-quill", 26, 4),
    ("waterworld", "wod", "rgb&cmy", 36, 4),
]
SOLVE = {
    "op:milk-bucket": "3 min on 2 cores", "op:cake": "8 min on 2 cores", "frl:milk-bucket": "5 min on one H200",
    "frl:book-quill": "5 min on one H200", "frl:cake": "5 min on one H200", "wod:rgb&cmy": "report, one H200",
}  # fmt: skip
SOLVED, CLAIMED = 0.95, 0.9
RESULTS = Path(__file__).parent.parent / "results" / "claim"
console = Console(width=150, highlight=False)


def session(place: str, task: str, algorithm: Algorithm, config: Config, seeds: int = 1, seed: int = 0) -> Session:
    domain = "waterworld" if place in ("wod", "wd") else "craftworld"
    spec = Spec(domain, place, task, algorithm, config, seed=seed, seeds=seeds)
    return Session(spec, spec.scenario().task(task))


def speed(arguments: dict[str, str]) -> None:
    """Learning steps, after a short warm-up with nothing to learn from yet."""
    device = jax.devices()[0]
    table = Table(
        "work", "environments", "authors", "ours", "ratio", "to reach", "compile s",
        title=f"training steps per second, {device.device_kind}",
    )  # fmt: skip
    for domain, place, task, authors, reach in SPEED:
        count = int(arguments.get("environments", 8))
        config = replace(
            preset("paper", domain, place), environments=count, updates=count, replay_start=4000, chunk=2000 // count
        )
        trained = session(place, task, Algorithm.HRL, config)
        started = time.perf_counter()
        while not trained.learns:
            trained.advance()
        trained.advance()  # compiles
        compiled = time.perf_counter() - started
        best = 0.0
        for _ in range(3):
            started = time.perf_counter()
            trained.advance()
            jax.block_until_ready(trained.state)
            best = max(best, config.chunk * count / (time.perf_counter() - started))
        table.add_row(
            f"{place.upper()} {task}", str(count), str(authors), f"{best:,.0f}", f"{best / authors:.1f}", f"{reach} ×",
            f"{compiled:.0f}",
        )  # fmt: skip
        console.print(f"  {place} {task}: {best:,.0f} steps/s")
    console.print(table)


def rows_of(trained: Session, seconds: float) -> Iterator[tuple[float, list[Row]]]:
    """Evaluations, with the time since the beginning."""
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        rows = trained.advance()
        if rows[0].returns is not None:
            yield time.perf_counter() - started, rows


def is_solved(history: list[float], threshold: float = SOLVED) -> bool:
    return len(history) >= 3 and mean(history[-3:]) >= threshold


def solve(which: str, arguments: dict[str, str]) -> None:
    place, task = which.split(":")
    domain = "waterworld" if place in ("wod", "wd") else "craftworld"
    config = changed(preset("fast", domain, place), arguments)
    started = time.perf_counter()
    trained = session(place, task, Algorithm(arguments.get("algorithm", "hrl")), config)
    history: list[float] = []
    for _, rows in rows_of(trained, float(arguments.get("seconds", 600))):
        (row,) = rows
        history.append(row.mean_return or 0.0)
        console.print(
            f"  {time.perf_counter() - started:6.1f} s  {row.steps:>9,} steps  {row.episodes:>7,} episodes  "
            f"return {history[-1]:.2f}  exploration {row.exploration:.2f}  losses {row.formula_loss:.5f} {row.call_loss:.5f}"
        )
        if is_solved(history):
            break
    verdict = "solved" if is_solved(history) else "NOT solved"
    console.print(
        f"{which}: {verdict} after {time.perf_counter() - started:.0f} s, {trained.steps:,} steps, "
        f"{trained.tally.episodes[0]:,} episodes ({jax.devices()[0].device_kind}); to reach: {SOLVE.get(which, '-')}"
    )


def changed(config: Config, arguments: dict[str, str]) -> Config:
    """With settings from the command line, such as batch=64."""
    known = {name: value for name, value in arguments.items() if hasattr(config, name)}
    return replace(config, **{name: type(getattr(config, name))(value) for name, value in known.items()})


def main(words: list[str]) -> None:
    options = {k.removeprefix("--"): v for k, v in (w.split("=", 1) for w in words if "=" in w)}
    names = [w for w in words if "=" not in w]
    what, *rest = names or ["speed"]
    if what == "speed":
        speed(options)
    elif what == "solve":
        for which in rest or SOLVE:
            solve(which, options)


if __name__ == "__main__":
    main(sys.argv[1:])
