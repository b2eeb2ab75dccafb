"""What tests of the engine use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from gymnasium.vector import VectorEnv

from rewardmachines.runs.run import Run
from rewardmachines.runs.verbs import train
from rollout.rooms import CONFIG, LABELS, STEPS, TREE, Rooms


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Closes what it is given at the end. After that, no rooms are left open."""
    Rooms.opened = 0
    with ExitStack() as opened:
        yield opened
    assert Rooms.opened == 0


class Trains:
    """Trains for some chunks, each time in a folder of its own. Vector environments are closed at the end."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._path, self._stack, self._runs = path, stack, 0

    def __call__(self, where: Any, task: Any = TREE, **options: Any) -> Run:
        if isinstance(where, VectorEnv):
            self._stack.callback(where.close)
        self._runs += 1
        folder = self._path / f"run-{self._runs}"
        usual = {"settings": CONFIG, "labels": LABELS, "steps": STEPS, "stop_at": 0, "folder": folder}
        run: Run = train(where, task, **{**usual, **options})
        return run


@pytest.fixture
def trains(tmp_path: Path, stack: ExitStack) -> Trains:
    """Trains for some chunks."""
    return Trains(tmp_path, stack)
