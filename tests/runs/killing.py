"""Runs that are killed at a moment of our choice: while they write a file, or just before or after.

A kill leaves on the disk what is there at that moment. So one run may be looked at in many moments, and its folder be
copied in each of them, as if it had been killed there. In a thorough hunt, every moment costs a process (SIGKILL).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from rewardmachines.runs import journal
from strategies import IS_THOROUGH

HALF_A_LINE: Final = b'{"chunk": 7, "st'

_HOOKS: Final = """
import os, signal, sys

_, FOLDER, NAME, MOMENT, COUNT = sys.argv
seen, replace = 0, os.replace

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def deadly(source, target):
    global seen
    is_it = str(target).endswith(NAME)
    seen += is_it
    if is_it and seen == int(COUNT) and MOMENT != "after":
        if MOMENT == "half":
            os.truncate(source, os.path.getsize(source) // 2)
        die()
    replace(source, target)
    if is_it and seen == int(COUNT):
        die()

os.replace = deadly

from rewardmachines.runs import journal
journal.CHECKPOINT_SECONDS = journal.NEWS_SECONDS = 0
add = journal.Lines.add

def half_a_line(lines, records):
    global seen
    is_it = lines._file.name.endswith(NAME)
    seen += is_it
    if is_it and seen == int(COUNT):
        lines._file.write(b'{"chunk": 7, "st')
        lines._file.flush()
        die()
    add(lines, records)

journal.Lines.add = half_a_line
"""


def _knowing_the_tests() -> dict[str, str]:
    """The environment of a process that can import what tests can."""
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": f"{root}:{root / 'tests'}:{os.environ.get('PYTHONPATH', '')}"}


@contextmanager
def killed_once(condition: Callable[[], bool], code: str, *arguments: object, seconds: float = 240) -> Iterator[None]:
    """A process runs the code until a condition holds. Inside, it is still there; then it is killed (SIGKILL).

    Args:
        condition: What is waited for.
        code: What the process runs. Its hash seed is a fixed one, so that its sets have another order than those here.
        arguments: What it finds in `sys.argv`.
        seconds: How long the condition may take.
    """
    command = [sys.executable, "-c", code, *map(str, arguments)]
    child = subprocess.Popen(command, env={**_knowing_the_tests(), "PYTHONHASHSEED": "7"})
    end = time.monotonic() + seconds
    try:
        while not condition():
            assert child.poll() is None, "it ended by itself"
            assert time.monotonic() < end, "it takes too long"
            time.sleep(0.02)
        yield
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


@dataclass(frozen=True)
class Kill:
    """When a process dies: the `count`th time that it writes a file whose name ends like this."""

    name: str
    moment: Literal["half", "before", "after"]
    """With half of the file written aside, with all of it, or when it has its name."""
    count: int = 1

    def __str__(self) -> str:
        return f"{self.moment}-{self.name}-{self.count}"

    @property
    def folder(self) -> str:
        """Of the copy."""
        return str(self).replace("/", "-")

    def run(self, folder: Path, code: str) -> None:
        """Runs the code, which finds the folder in FOLDER, until it is killed."""
        arguments = [str(folder), self.name, self.moment, str(self.count)]
        command = [sys.executable, "-c", _HOOKS + code, *arguments]
        done = subprocess.run(command, check=False, env=_knowing_the_tests(), timeout=300)
        assert done.returncode == -signal.SIGKILL, "it ended by itself"

    def is_at(self, path: Any, seen: int) -> bool:
        """Whether it is this file that is written now, after it was written so many times."""
        return str(path).endswith(self.name) and seen + 1 == self.count


def folders_left_by(
    kills: Sequence[Kill], run: Callable[[Path], object], code: str, places: pytest.TempPathFactory
) -> Path:
    """Makes a folder for each kill, as a run that is killed so leaves it. Every chunk ends with a checkpoint.

    Args:
        kills: The moments.
        run: Makes the run in a folder, from beginning to end.
        code: Does the same in a process of its own, and finds the folder in FOLDER.
        places: Makes folders.

    Returns:
        The folder that holds them, each by `Kill.folder`.
    """
    copies, folder = places.mktemp("copies"), places.mktemp("runs") / "run"
    if IS_THOROUGH:
        for kill in kills:
            kill.run(copies / kill.folder, code)
        return copies
    with pytest.MonkeyPatch.context() as patch, copied(folder, kills, copies):
        patch.setattr(journal, "CHECKPOINT_SECONDS", 0)
        patch.setattr(journal, "NEWS_SECONDS", 0)
        run(folder)
    return copies


class _Copier:
    """Copies the folder of a run as each of the kills would leave it."""

    def __init__(self, folder: Path, kills: Sequence[Kill], copies: Path) -> None:
        self._folder, self._kills, self._copies = folder, kills, copies
        self._written: list[str] = []
        self._replace: Callable[..., None] = os.replace
        self._add = journal.Lines.add

    def _due(self, path: Any) -> list[Kill]:
        return [k for k in self._kills if k.is_at(path, sum(name.endswith(k.name) for name in self._written))]

    def _copy(self, kill: Kill) -> Path:
        return Path(shutil.copytree(self._folder, self._copies / kill.folder))

    def replace(self, source: Any, target: Any) -> None:
        due = self._due(target)
        for kill in [kill for kill in due if kill.moment != "after"]:
            aside = self._copy(kill) / Path(source).relative_to(self._folder)
            if kill.moment == "half":
                os.truncate(aside, aside.stat().st_size // 2)
        self._replace(source, target)
        self._written.append(str(target))
        for kill in [kill for kill in due if kill.moment == "after"]:
            self._copy(kill)

    def add(self, lines: journal.Lines, records: Any) -> None:
        path = Path(lines._file.name)
        for kill in self._due(path):
            lines._file.flush()
            with (self._copy(kill) / path.relative_to(self._folder)).open("ab") as file:
                file.write(HALF_A_LINE)
        self._written.append(str(path))
        self._add(lines, records)


@contextmanager
def copied(folder: Path, kills: Sequence[Kill], copies: Path) -> Iterator[None]:
    """Copies the folder of a run that takes place meanwhile, as each of the kills would leave it."""
    copier = _Copier(folder, kills, copies)

    def add(lines: journal.Lines, records: Any) -> None:
        copier.add(lines, records)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", copier.replace)
        patch.setattr(journal.Lines, "add", add)
        yield
