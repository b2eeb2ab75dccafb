"""Third-party environments: the return of each example of `examples/`, and the time that it takes.

    python benchmarks/own.py                            all of them, one after the other
    python benchmarks/own.py taxi lunar_lander          some of them
    python benchmarks/own.py taxi seeds=3               the same with seeds 0, 1 and 2

Every example is run as a user runs it, in a process of its own, compilation included, and ends with its greedy return.
Some need extras: see docs/third-party-worlds.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from record import Figures
from rich.console import Console
from rich.table import Table

EXAMPLES: Final = Path(__file__).resolve().parents[1] / "examples"
figures = Figures("own")
console = Console(width=150, highlight=False, emoji=False)


@dataclass(frozen=True)
class Asked:
    """The return that an example is to reach on two cores."""

    example: str
    what: str
    greedy: float | None
    """The greedy return to reach; none is named where the example is there to be seen at work."""
    minutes: float


ASKED: Final = (
    Asked("cliff_walking", "CliffWalking", 0.95, 5),
    Asked("taxi", "Taxi", 0.95, 5),
    Asked("minigrid_doorkey", "MiniGrid DoorKey-5x5", 0.95, 5),
    Asked("minigrid_unlock", "MiniGrid, several rooms", None, 20),
    Asked("minigrid_learn", "MiniGrid, machines learned, height 2", None, 20),
    Asked("learn_frozen_lake", "FrozenLake, machines learned, height 2", 0.95, 5),
    Asked("mountain_car", 'MountainCar "left ; right"', 0.95, 5),
    Asked("lunar_lander", 'LunarLander "left ; right"', 0.8, 20),
    Asked("xland", "XLand-MiniGrid, compiled", None, 20),
    Asked("continuous_actions", "Pendulum, actions made discrete", None, 10),
)


@dataclass(frozen=True)
class Seen:
    """The outcome of an example."""

    greedy: float | None
    seconds: float
    message: str = ""


def run(asked: Asked, seed: int) -> Seen:
    """Runs an example to its end, at most twice as long as it may take."""
    began = time.monotonic()
    command = [sys.executable, str(EXAMPLES / f"{asked.example}.py"), str(seed)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120 * asked.minutes, check=False)
    except subprocess.TimeoutExpired:
        return Seen(None, time.monotonic() - began, "stopped: it took twice as long as it may")
    seconds = time.monotonic() - began
    if done.returncode:
        return Seen(None, seconds, (done.stderr.strip().splitlines() or ["it failed"])[-1][:90])
    if wrong := re.findall(r"^(\w+): height \d+, wrong$", done.stdout, re.MULTILINE):
        return Seen(None, seconds, f"machines that are wrong: {', '.join(wrong)}")
    found = re.findall(r"greedy return[^\d-]*(-?\d+(?:\.\d+)?)", done.stdout)
    return Seen(float(found[-1]), seconds) if found else Seen(None, seconds, done.stdout.strip()[-90:])


def row(asked: Asked, seed: int, seen: Seen) -> list[str]:
    """A line of the table, which says what was reached beside what was asked."""
    greedy = "-" if seen.greedy is None else f"{seen.greedy:.2f}"
    wanted = "-" if asked.greedy is None else f"{asked.greedy:.2f}"
    is_reached = asked.greedy is None or (seen.greedy is not None and seen.greedy >= asked.greedy)
    verdict = "reached" if not seen.message and is_reached and seen.seconds <= 60 * asked.minutes else "missed"
    took = f"{seen.seconds / 60:.1f}"
    return [asked.example, asked.what, str(seed), greedy, wanted, took, f"{asked.minutes:g}", seen.message or verdict]


def main(words: list[str]) -> None:
    """Runs the examples that were named, or all."""
    names = [word for word in words if "=" not in word]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    chosen = [asked for asked in ASKED if not names or asked.example in names]
    if not chosen or len(chosen) < len(set(names)) or set(options) - {"seeds"}:
        sys.exit(f"examples are {', '.join(asked.example for asked in ASKED)}; the only option is seeds=N")
    table = Table(
        "example", "environment", "seed", "greedy", "asked", "minutes", "at most", "", title="Your own worlds"
    )
    seen = {}
    for asked in chosen:
        for seed in range(int(options.get("seeds", 1))):
            seen[asked, seed] = run(asked, seed)
            cells = row(asked, seed, seen[asked, seed])
            table.add_row(*cells)
            console.print("  ".join(cells))
    console.print(table)
    for (asked, seed), one in seen.items():
        what, wanted = f"{asked.what}, seed {seed}", "-" if asked.greedy is None else asked.greedy
        greedy = one.message or "-" if one.greedy is None else one.greedy
        figures.add("examples", what, "greedy return", greedy, reference=(wanted, "asked"))
        figures.add("examples", what, "time", round(one.seconds), "s", (60 * asked.minutes, "at most"))


if __name__ == "__main__":
    main(sys.argv[1:])
