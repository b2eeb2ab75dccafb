"""New tasks with a bank of skills, judged in unseen instances.

    python benchmarks/bank.py runs/op                       a run of hrm learn, or a bank that was saved of one
    python benchmarks/bank.py skills --steps 20000          train at most so long where there is something to choose
    python benchmarks/bank.py skills "cake ; book-quill"    other tasks

It prints how many steps were taken, and the greedy return in 1,000 instances of the published generator whose seeds no
run trains on. Where a task leaves nothing to choose, no step is taken.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import jax
from record import Figures
from rich.console import Console
from rich.table import Table

import rewardmachines as rm
from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.manifest import NAME
from rewardmachines.runs.compiled_cache import keep_compiled

TASKS: Final = (
    "bucket ; sugarcane ; squid",
    "map ; milk-bucket ; chicken",
    "(compass & leather) ; redstone",
    "(map | batter) ; (quill & rabbit)",
)
"""Two chains, and two tasks with something to choose, of heights 2 and 3; none of them is the paper's."""
STEPS: Final = 50_000
UNSEEN: Final = 1_000
UNSEEN_SEED: Final = 910_000_000
"""The seed of the first instance that policies are judged in."""
ENVIRONMENTS: Final = 64
"""Few are needed, since nothing but calls is learned, and there are few of these in few steps."""
figures = Figures("bank")
console = Console(width=120, highlight=False, emoji=False)


def judged(bank: Bank, task: str, folder: Path, steps: int, unseen: int, *, fresh: bool) -> tuple[str, ...]:
    """Trains a task as long as there is something to learn, and evaluates it in unseen instances."""
    began = time.monotonic()
    run = rm.train(
        task=task,
        bank=bank,
        instances="fresh" if fresh else None,
        settings=lambda usual: replace(usual, environments=ENVIRONMENTS, chunk=100, evaluate_every=2),
        steps=steps,
        stop_at=0.99,
        folder=folder,
    )
    rows, seconds = run.rows, time.monotonic() - began
    returns = run.evaluate(unseen, UNSEEN_SEED)[0].returns
    taken, mean = f"{rows[-1].steps:,}" if rows else "none", sum(returns) / len(returns)
    figures.add("tasks", f"`{task}`", "training", taken, "steps")
    figures.add("tasks", f"`{task}`", "time", round(seconds), "s")
    figures.add("tasks", f"`{task}`", f"return in {unseen:,} unseen instances", mean)
    return task, str(run.hierarchy(run.config.task).height), taken, f"{seconds:.0f} s", f"{mean:.3f}"


def main() -> None:
    """Reads the arguments, trains, judges and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a run of hrm learn, or a bank")
    parser.add_argument("tasks", nargs="*", default=TASKS, help="task expressions")
    parser.add_argument("--steps", type=int, default=STEPS, help="how many steps may be taken")
    parser.add_argument("--unseen", type=int, default=UNSEEN, help="in how many instances it is judged")
    parser.add_argument("--published", action="store_true", help="train in the paper's ten instances")
    given = parser.parse_args()
    keep_compiled()
    with tempfile.TemporaryDirectory() as nowhere:
        is_bank = (given.folder / NAME).exists()
        bank = rm.load_bank(given.folder) if is_bank else rm.save_bank(given.folder, Path(nowhere) / "bank")
        shown = Table(title=f"{bank.domain} {bank.setting.upper()} on {jax.devices()[0].device_kind}")
        for column in ("task", "height", "steps", "time", f"return in {given.unseen:,} unseen"):
            shown.add_column(column, justify="left" if column == "task" else "right")
        for number, task in enumerate(given.tasks):
            folder = Path(nowhere) / str(number)
            shown.add_row(*judged(bank, task, folder, given.steps, given.unseen, fresh=not given.published))
        console.print(shown)


if __name__ == "__main__":
    main()
