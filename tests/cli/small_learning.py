"""`hrm learn` as a person would type it, for a run that takes a moment."""

from __future__ import annotations

NETWORK = '{"body": "flat", "filters": [16, 32, 32], "hidden": [8]}'
SETTINGS = {
    "environments": 16, "chunk": 50, "evaluate_every": 2, "batch": 8, "replay_size": 50_000, "replay_start": 50_000,
    "network": NETWORK, "call_network": NETWORK, "call_replay_size": 100, "call_replay_start": 5,
}  # fmt: skip
CHUNK = 16 * 50
STEPS = 6 * CHUNK
"""Enough to see the goal, too few to learn how to get there."""


def small(*more: object) -> list[str]:
    """A run that takes a moment."""
    changes = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    start = ["learn", "craftworld", "--tasks", "bucket", "--instances", "2", "--max-steps", "200", "--single-trace"]
    return [*start, *changes, *map(str, more)]
