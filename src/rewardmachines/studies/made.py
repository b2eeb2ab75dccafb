"""Provenance of results: the command, the commit, the versions and the device."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from rewardmachines.files.version import PACKAGE
from rewardmachines.runs.maker import this_maker
from rewardmachines.studies.results import Made

COMMIT: Final = "REWARDMACHINES_COMMIT"
"""The environment variable that says the commit where there is no repository, as on a machine that only computes."""
UNKNOWN: Final = "unknown"


def made_now(command: str) -> Made:
    """The provenance of a result that is made here and now.

    Args:
        command: What was typed, or would have to be.
    """
    maker = this_maker()
    return Made(
        command=command,
        commit=this_commit(),
        device=this_device(),
        jax=maker["jax"],
        rewardmachines=maker[PACKAGE],
        date=maker["date"],
    )


def this_device() -> str:
    """The device of this process, in words: of a CPU, it matters how many cores it may use."""
    device = this_maker()["device"]
    if device != "cpu":
        return device
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{cores} CPU core{'' if cores == 1 else 's'}"


def this_commit() -> str:
    """The commit of the program, with a plus sign if its files have changed since; unknown without a repository."""
    if given := os.environ.get(COMMIT):
        return given
    git, here = shutil.which("git"), Path(__file__).parent
    if git is None:
        return UNKNOWN
    head = _git(git, here, "rev-parse", "--short", "HEAD")
    if head is None:
        return UNKNOWN
    return f"{head}+" if _git(git, here, "status", "--porcelain", "--", ".") else head


def _git(git: str, folder: Path, *words: str) -> str | None:
    done = subprocess.run([git, "-C", str(folder), *words], capture_output=True, text=True, check=False, timeout=10)  # noqa: S603
    return done.stdout.strip() if done.returncode == 0 else None
