"""Commands that train and learn in CraftWorld, as a person would type them, for runs that take a moment."""

from __future__ import annotations

_COMMON = {
    "batch": 8, "evaluate_every": 2, "network.body": "flat", "network.hidden": [8], "calls.network.body": "flat",
    "calls.network.hidden": [8], "calls.replay_size": 100, "calls.replay_start": 5,
}  # fmt: skip


def _changes(**settings: object) -> list[str]:
    return [word for name, value in (_COMMON | settings).items() for word in ("--set", f"{name}={value}")]


TRAIN_CHUNK = 4 * 25
TRAIN = ["train", "craftworld", "bucket", "--instances", "2", "--max-steps", "60"]
TRAIN += [*_changes(environments=4, chunk=25, replay_size=2000, replay_start=200), "--set", "exploration.steps=500"]
LEARN_CHUNK = 16 * 50
LEARN = ["learn", "craftworld", "--tasks", "bucket", "--instances", "2", "--max-steps", "200", "--single-trace"]
LEARN += _changes(environments=16, chunk=50, replay_size=50_000, replay_start=50_000)
"""Six chunks are enough to see the goal, and too few to learn how to get there."""
