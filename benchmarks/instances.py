"""Speed of making instances: one by one by the published generator, and many at once on the device.

    python benchmarks/instances.py [INSTANCES]

Both make the arrays that environments need, for episodes of 1,000 steps. Compile time is shown apart; it depends on the
number of instances, 4,096 if not given. The published generator makes as many as its speed takes to measure.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from rewardmachines.envs.domain import Domain
from rewardmachines.envs.registry import domain

CASES = [("craftworld", "op", 2_000), ("craftworld", "frl", 2_000), ("waterworld", "wod", 100)]
MAX_STEPS = 1_000


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for leaf in jax.tree.leaves(work()):
        leaf.block_until_ready()
    return time.perf_counter() - start


def published_rate(known: Domain, setting: str, count: int) -> float:
    """Instances a second, in the best of three runs."""
    return count / min(
        seconds(lambda: known.world(known.instances(setting, seed * count, count), MAX_STEPS))  # noqa: B023
        for seed in range(3)
    )


def drawn_rate(known: Domain, setting: str, count: int) -> tuple[float, float]:
    """Seconds to compile, and instances a second in the best of three runs."""
    draw = known.draw
    assert draw is not None
    first = seconds(lambda: draw(setting, 0, count, MAX_STEPS))
    best = min(seconds(lambda: draw(setting, seed, count, MAX_STEPS)) for seed in range(1, 4))  # noqa: B023
    return first - best, count / best


def main() -> None:
    count = int(sys.argv[1]) if sys.argv[1:] else 4_096
    device = jax.devices()[0]
    title = f"instances a second; {count:,} drawn on {device.device_kind} ({device.platform})"
    table = Table("instances of", "published", "drawn", "ratio", "compile s", "kB each", title=title)
    for name, setting, few in CASES:
        known = domain(name)
        one_by_one = published_rate(known, setting, few)
        compiling, many = drawn_rate(known, setting, count)
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(known.world(known.instances(setting, 0, 1), MAX_STEPS)))
        rates = (f"{one_by_one:,.0f}", f"{many:,.0f}", f"{many / one_by_one:,.0f}")
        table.add_row(f"{known.title} {setting.upper()}", *rates, f"{compiling:.1f}", f"{size / 1e3:.1f}")
    Console(width=120, highlight=False).print(table)


if __name__ == "__main__":
    main()
