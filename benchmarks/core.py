"""Speed of the core: traversal, flattening, minimization, comparison.

    python benchmarks/core.py

Traversal is compared with the authors' published pure-Python code, which does 101,000 to 175,000 steps a second for
Cake on two cores of the kind used here. Sizes are compared with those of the flat machines that the authors wrote
by hand, and with 2^height + 1 for the exponential family.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from record import Figures
from rich.console import Console
from rich.table import Table

from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import size
from rewardmachines.core.traversal import Verdict, derivation, initial_state, traverse, verdict
from rewardmachines.library import DOMAINS, domain, exponential_family, task

AUTHORS_STEPS = (101_000, 175_000)
AUTHORS_FLAT_STATES = {
    "book": 8, "map": 12, "milk-bucket": 4, "milk-bucket-sugar": 10, "book-quill": 21, "cake": 15,
    "rg&bc": 8, "bc&my": 8, "rg&my": 8, "rgb&cmy": 12,
}  # fmt: skip
SHOWN = ("book", "map", "book-quill", "cake", "exponential/12")
"""Hierarchies that are on the page of figures."""
LABELS_IN_ALL = 400_000
EPISODE = 1_000

figures = Figures("core", on_cpu=True)
Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """The best of three, so that a busy machine does not count."""
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def episodes() -> list[list[frozenset[str]]]:
    """Random labels of CraftWorld: nothing, or one of the ten things."""
    known = domain("craftworld")
    labels = known.labels() or ()
    generator = random.Random(0)
    return [[generator.choice(labels) for _ in range(EPISODE)] for _ in range(LABELS_IN_ALL // EPISODE)]


def remembered(cake: Hierarchy, words: list[list[frozenset[str]]]) -> int:
    return sum(verdict(cake, word) is Verdict.ACCEPT for word in words)


def state_by_state(cake: Hierarchy, words: list[list[frozenset[str]]]) -> int:
    return sum(1 for word in words for _ in traverse(cake, word))


def from_scratch(cake: Hierarchy, words: list[list[frozenset[str]]]) -> int:
    """The definition itself, nothing remembered."""
    moved = 0
    for word in words:
        state = initial_state(cake)
        for label in word:
            *_, (after, _) = derivation(cake, state, label)
            moved += after != state
            state = after
    return moved


def traversal(console: Console) -> None:
    words = episodes()
    few = words[: len(words) // 10]
    table = Table("Cake, random labels", "steps/s", "authors, best", "ratio")
    rows = [
        ("verdict of whole traces", lambda: remembered(task("craftworld", "cake"), words), words),
        ("hierarchy state after every label", lambda: state_by_state(task("craftworld", "cake"), words), words),
        ("the definition, nothing remembered", lambda: from_scratch(task("craftworld", "cake"), few), few),
    ]
    for name, work, some in rows:
        seconds, _ = timed(work)
        rate = len(some) * EPISODE / seconds
        table.add_row(name, f"{rate:,.0f}", f"{AUTHORS_STEPS[1]:,}", f"{rate / AUTHORS_STEPS[1]:.1f}")
        figures.add("traversal", name, "", rate, "steps/s", (AUTHORS_STEPS[1], "authors"))
    console.print(table)


def subjects() -> Iterator[tuple[str, Hierarchy, int | None]]:
    for known in map(domain, DOMAINS):
        for name in known.tasks:
            for dead_ends in (False, True):
                expected = AUTHORS_FLAT_STATES.get(name)
                shown = f"{name}+{known.dead_end}" if dead_ends else name
                yield shown, task(known.name, name, dead_ends=dead_ends), expected and expected + dead_ends
    for height in range(1, 13):
        yield f"exponential/{height}", exponential_family(height), 2**height + 1


def transformations(console: Console) -> None:
    columns = ("hierarchy", "states", "flat", "minimal", "to reach", "flatten ms", "minimize ms", "compare ms")
    table = Table(
        *columns, title="states, and milliseconds to flatten, to minimize that, and to compare with the original"
    )
    slowest = 0.0
    for name, tree, expected in subjects():
        flattening, flat = timed(lambda tree=tree: flatten(tree))  # type: ignore[misc]
        minimizing, smallest = timed(lambda flat=flat: minimize(flat))  # type: ignore[misc]
        comparing, same = timed(lambda tree=tree, smallest=smallest: equivalent(tree, smallest))  # type: ignore[misc]
        assert same, f"{name} changed its verdicts"
        slowest = max(slowest, comparing)
        states = [size(t).states for t in (tree, flat, smallest)]
        reached = "" if expected is None else f"{expected}{'' if states[2] == expected else ' (not reached)'}"
        times = [f"{1000 * t:.1f}" for t in (flattening, minimizing, comparing)]
        table.add_row(name, *map(str, states), reached, *times)
        if name in SHOWN:
            figures.add("flattening", name, "states", states[0])
            figures.add("flattening", name, "flat", states[1])
            figures.add("flattening", name, "minimal", states[2], reference=expected and (expected, "to reach"))
            figures.add("flattening", name, "flatten", 1000 * flattening, "ms")
            figures.add("flattening", name, "minimize", 1000 * minimizing, "ms")
            figures.add("flattening", name, "compare", 1000 * comparing, "ms")
    console.print(table)
    console.print(f"slowest comparison: {1000 * slowest:.1f} ms")
    figures.add("flattening", "the slowest of all tasks", "compare", 1000 * slowest, "ms")


def main() -> None:
    console = Console(width=120, highlight=False)
    traversal(console)
    transformations(console)


if __name__ == "__main__":
    main()
