"""Speed of runs of LHRM side by side, against one after the other.

    python benchmarks/side_by_side.py op                        five runs of CraftWorld OP
    python benchmarks/side_by_side.py frl seeds=8 seconds=120   other settings, each measured for so long alone

A run is measured alone for some seconds, 60 if not said otherwise. Then several runs side by side, each with its own
seed and its own instances, compute as many chunks. The chunks up to the first evaluation are not measured, because
programs are compiled in them. Settings of the preset can be changed, such as batch=64.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import NamedTuple

import jax
from in_memory import learning, learning_orders
from record import Figures

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.overrides import changed
from rewardmachines.learning import Solvers
from rewardmachines.rollout.algorithm import Algorithm, RunsSideBySide

OWN = ("seconds", "seeds")
"""The arguments of the benchmark; everything else is a setting."""
figures = Figures("side_by_side")


class Measured(NamedTuple):
    """The measurements after the first chunks."""

    chunks: int
    seconds: float
    steps: int
    """The steps of all runs together."""
    slowest: float
    """The seconds of the slowest chunk, in which something may have been compiled."""
    compiling: float
    """The seconds of the chunks before, up to the first evaluation."""

    @property
    def speed(self) -> float:
        return self.steps / self.seconds


def measured(advance: Callable[[], object], runs: Sequence[Algorithm], most: int | None, seconds: float) -> Measured:
    """Computes chunks up to a number or a time."""
    began = time.perf_counter()
    while not all(run.recent for run in runs):
        advance()
    steps, start = sum(run.counters.steps for run in runs), time.perf_counter()
    times = [start]
    while times[-1] - start < seconds if most is None else len(times) <= most:
        advance()
        times.append(time.perf_counter())
    each = [after - before for before, after in pairwise(times)]
    made = sum(run.counters.steps for run in runs) - steps
    return Measured(len(each), times[-1] - start, made, max(each), start - began)


def line(name: str, result: Measured) -> str:
    return (
        f"  {name:<24}{result.chunks:>5} chunks {result.seconds:8.1f} s {result.speed:10,.0f} steps/s   "
        f"slowest chunk {result.slowest:6.2f} s   before: {result.compiling:6.1f} s"
    )


def compare(setting: str, options: dict[str, str]) -> None:
    seeds, seconds = int(options.get("seeds", 5)), float(options.get("seconds", 60))
    changes = tuple(f"{name}={value}" for name, value in options.items() if name not in OWN)
    orders = learning_orders(setting, lambda usual: changed(usual, changes, within="agent"), seeds)
    print(f"{setting.upper()}, {seeds} runs, on {jax.devices()[0].device_kind}", flush=True)
    with ExitStack() as stack:
        alone = learning(orders[0], stack.enter_context(Solvers()))
        one = measured(alone.advance, [alone], None, seconds)
        print(line("one run alone", one), flush=True)
        together = RunsSideBySide([learning(order, stack.enter_context(Solvers())) for order in orders])
        many = measured(together.advance, together.runs, one.chunks, seconds)
        print(line(f"{seeds} runs side by side", many), flush=True)
    sizes = len({run.shapes for run in together.runs})
    print(
        f"  side by side {many.speed / one.speed:.2f} times as many steps a second, and "
        f"{seeds * one.seconds / many.seconds:.2f} times as fast as one after the other; arrays of {sizes} size(s)"
    )
    what = f"{setting.upper()}, {seeds} runs side by side"
    figures.add("steps", what, "", many.speed, "steps/s", (round(one.speed), "one run alone"))


def main(words: list[str]) -> None:
    options = dict(w.split("=", 1) for w in words if "=" in w)
    for setting in [w for w in words if "=" not in w] or ["op"]:
        compare(setting, options)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except RewardMachineError as problem:
        raise SystemExit(str(problem)) from None
