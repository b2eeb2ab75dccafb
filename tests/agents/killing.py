"""Processes that are killed (SIGKILL) at a moment of our choice: while they write a file, or just before or after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from agents.tiny import CACHE

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

from rewardmachines.agents.training import metrics
add = metrics.Lines.add

def half_a_line(lines, records):
    global seen
    is_it = lines._file.name.endswith(NAME)
    seen += is_it
    if is_it and seen == int(COUNT):
        lines._file.write(b'{"seed": 0, "chunk": ')
        lines._file.flush()
        die()
    add(lines, records)

metrics.Lines.add = half_a_line
"""


@dataclass(frozen=True)
class Kill:
    """When a process dies: the so-manieth time that it writes a file whose name ends like this."""

    name: str
    moment: Literal["half", "before", "after"]
    """With half of the file written aside, with all of it, or when it has its name."""
    count: int = 1

    def __str__(self) -> str:
        return f"{self.moment}-{self.name}-{self.count}"

    def run(self, folder: Path, code: str) -> None:
        """Runs the code, which finds the folder in FOLDER, until it is killed."""
        root = Path(__file__).parents[2]
        place = {
            **os.environ,
            "PYTHONPATH": f"{root}:{root / 'tests'}:{os.environ.get('PYTHONPATH', '')}",
            "JAX_COMPILATION_CACHE_DIR": str(CACHE),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        }
        arguments = [str(folder), self.name, self.moment, str(self.count)]
        done = subprocess.run([sys.executable, "-c", _HOOKS + code, *arguments], check=False, env=place, timeout=300)
        assert done.returncode == -signal.SIGKILL, "it ended by itself"
