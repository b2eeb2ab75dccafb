"""Machines and policies learned in fresh instances, judged in unseen ones.

    python benchmarks/transfer.py op                          all tasks, until they are learned
    python benchmarks/transfer.py frl --minutes 15            with a budget
    python benchmarks/transfer.py op --drawn 100              trained in 100 instances only
    python benchmarks/transfer.py op --published              the paper's protocol: ten instances, trained and judged
    python benchmarks/transfer.py op --resume -o runs/mine    go on with a run that was interrupted
    python benchmarks/transfer.py op --set batch=1024         with another setting of the agent

It prints the greedy return of every task in 1,000 instances of the published generator whose seeds no run trains on, or
is evaluated with, and whether the learned machine is right. Time includes compilation.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import jax
from rich.console import Console
from rich.table import Table

from rewardmachines.envs.scenarios import domain_of
from rewardmachines.files.overrides import changed
from rewardmachines.files.records import to_plain
from rewardmachines.reports.differences import differences
from rewardmachines.runs.compiled_cache import keep_compiled
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import LearnArguments, RunOrder, carry_out, order_of
from rewardmachines.runs.run import Run
from rewardmachines.studies.summaries import made_now

UNSEEN: Final = 1_000
UNSEEN_SEED: Final = 910_000_000
"""The seed of the first instance that policies are judged in."""
ASKED: Final = {"op": (0.98, 5), "frl": (0.95, 15), "wod": (0.9, 15)}
"""The return to reach in every task, and in how many minutes on one GPU."""
console = Console(width=120, highlight=False, emoji=False)


@dataclass(frozen=True)
class Judged:
    """The outcome of a task."""

    task: str
    unseen: float | None
    """The mean return in unseen instances; None if there is no machine."""
    is_right: bool
    """Whether the machine is right: for all labels that can occur or, where these cannot be listed, for those in the
    examples of the run."""


def ordered(given: argparse.Namespace, folder: Path) -> RunOrder:
    """The order to learn."""
    seconds = None if given.minutes is None else 60 * given.minutes
    limits = {"steps": given.steps, "seconds": seconds, "stop_at": given.stop_at}
    if given.resume:
        return order_of(LearnArguments(**limits), RunFolder(folder), resume=True)
    asked = LearnArguments(
        where=domain_of(given.setting),
        tasks=given.tasks or None,
        setting=given.setting,
        settings=lambda usual: changed(usual, tuple(given.set), within="agent"),
        seed=given.seed,
        instances=None if given.published else "fresh",
        **limits,
    )
    order = order_of(asked, RunFolder(folder), resume=False)
    if given.drawn is None:
        return order
    assert order.config.domain is not None
    return replace(order, config=replace(order.config, domain=replace(order.config.domain, fresh=given.drawn)))


def learned(given: argparse.Namespace, folder: Path) -> tuple[Run, float]:
    """Learns, and says now and then how far it is. Returns the run and the seconds that it took."""
    began = shown = time.monotonic()
    with closing(carry_out([ordered(given, folder)])) as chunks:
        for _, chunk in chunks:
            row = chunk.row
            if row.returns is not None and time.monotonic() - shown > given.every:
                shown = time.monotonic()
                returns = " ".join(f"{sum(one) / len(one):.2f}" for one in row.returns if one)
                machines = len(chunk.session.algorithm.learned_machines)
                console.print(f"{shown - began:5.0f} s {row.steps:11,} steps, level {row.level}, {machines} machines: "
                              f"{returns}")  # fmt: skip
    return Run(folder), time.monotonic() - began


def judged(run: Run, unseen: int) -> list[Judged]:
    """Evaluates the policies in unseen instances, and compares the machines with the true ones."""
    returns = {each.task: each.returns for each in run.evaluate(unseen, UNSEEN_SEED)}
    right = {each.task: each.trace is None and each.problem is None for each in differences(run).tasks}
    return [
        Judged(task, sum(returns[task]) / unseen if task in returns else None, is_right=right.get(task, False))
        for task in run.tasks
    ]


def table(given: argparse.Namespace, run: Run, seconds: float, tasks: list[Judged]) -> Table:
    """All tasks, and below them what was asked."""
    place = run.config.domain
    assert place is not None
    least, minutes = ASKED.get(given.setting, (None, None))
    steps = run.rows[-1].steps
    made = f"{place.fresh or place.instances:,} instances, {seconds / 60:.1f} min, {steps:,} steps"
    shown = Table(title=f"{given.setting.upper()} on {jax.devices()[0].device_kind}: {made}")
    for column in ("task", f"return in {given.unseen:,} unseen", "machine"):
        shown.add_column(column, justify="left" if column == "task" else "right")
    for one in tasks:
        return_text = "-" if one.unseen is None else f"{one.unseen:.3f}"
        shown.add_row(one.task, return_text, "right" if one.is_right else "wrong")
    lowest = min((one.unseen or 0.0) for one in tasks)
    asked = "" if least is None else f", asked {least} in {minutes} min on a GPU"
    shown.caption = f"lowest {lowest:.3f}{asked}; {sum(one.is_right for one in tasks)} of {len(tasks)} machines right"
    return shown


def main() -> None:
    """Reads the arguments, learns, judges and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("setting", help="such as op, frl or wod")
    parser.add_argument("--tasks", nargs="*", help="all tasks of the domain, if not given")
    parser.add_argument("--minutes", type=float, help="how long it may take; until it is learned, if not given")
    parser.add_argument("--steps", type=int, help="how many steps it may take")
    parser.add_argument("--stop-at", type=float, help="the mean return with which it is learned")
    parser.add_argument("--drawn", type=int, help="how many instances are drawn to be trained on")
    parser.add_argument("--published", action="store_true", help="train in the paper's ten instances")
    parser.add_argument("--unseen", type=int, default=UNSEEN, help="in how many instances it is judged")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="change a setting, such as batch=1024")
    parser.add_argument("--every", type=float, default=10, help="seconds between lines of progress")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    parser.add_argument("-o", "--output", type=Path, help="where to keep the run; nowhere, if not given")
    parser.add_argument("--json", type=Path, help="also add what came out to a file of JSON lines")
    given = parser.parse_args()
    keep_compiled()
    with tempfile.TemporaryDirectory() as nowhere:
        run, seconds = learned(given, given.output or Path(nowhere) / "run")
        tasks = judged(run, given.unseen)
        console.print(table(given, run, seconds, tasks))
        if given.json is not None:
            _add_line(given.json, given, run, seconds, tasks)


def command(given: argparse.Namespace) -> str:
    """The command line, but for the folders of the run and its results."""
    words = ["python", "benchmarks/transfer.py", given.setting]
    words += ["--tasks", *given.tasks] if given.tasks else []
    for name in ("minutes", "steps", "stop_at", "drawn"):
        if (value := getattr(given, name)) is not None:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    words += ["--published"] if given.published else []
    words += ["--seed", str(given.seed)] if given.seed else []
    return " ".join([*words, *(word for one in given.set for word in ("--set", one))])


def _add_line(path: Path, given: argparse.Namespace, run: Run, seconds: float, tasks: list[Judged]) -> None:
    place = run.config.domain
    assert place is not None
    line: dict[str, Any] = {
        "setting": given.setting,
        "drawn": place.fresh,
        "instances": place.instances,
        "seed": run.config.seed,
        "detour_rate": run.config.settings.detour_rate,
        "confirm_episodes": run.config.settings.confirm_episodes,
        "seconds": round(seconds, 1),
        "steps": run.rows[-1].steps,
        "made": to_plain(made_now(command(given))),
        "unseen": {one.task: one.unseen for one in tasks},
        "right": {one.task: one.is_right for one in tasks},
    }
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
