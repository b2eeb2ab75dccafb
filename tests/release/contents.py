"""Compares the built distributions with what git tracks: `python tests/release/contents.py FOLDER`.

The source distribution holds every tracked file, the wheel every tracked file of the package, and neither anything
else than what their formats add.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = (
    "py.typed",
    "reports/page.css",
    "envs/filming/player.html",
    "learning/encodings/",
    "library/data/",
    "studies/files/",
    "studio/page/",
)
"""Some of what the package reads at run time, so that a wheel without it is seen even where git has lost it, too."""


def tracked(*folders: str) -> set[str]:
    """The files of the repository that git tracks, in some folders or everywhere."""
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, check=True, text=True)
    return {name for name in listed.stdout.split("\0") if name}


def in_source_distribution(path: Path) -> set[str]:
    """The files of a source distribution, without those that its format adds."""
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    return {name for name in names if name not in ("PKG-INFO", "setup.cfg") and ".egg-info/" not in name}


def in_wheel(path: Path) -> set[str]:
    """The files of a wheel, without those that its format adds."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def differences(kind: str, built: set[str], expected: set[str]) -> list[str]:
    """What is missing, and what should not be there, a line for each file."""
    missing = [f"{kind}: {name} is missing" for name in sorted(expected - built)]
    return missing + [f"{kind}: {name} is not tracked by git" for name in sorted(built - expected)]


def check(folder: Path) -> list[str]:
    """All differences between the distributions in a folder and the repository."""
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    packaged = in_wheel(wheel)
    needed = [name for name in NEEDED if not any(file.startswith(f"rewardmachines/{name}") for file in packaged)]
    return [
        *differences("sdist", in_source_distribution(source), tracked()),
        *differences("wheel", packaged, {name.removeprefix("src/") for name in tracked("src")}),
        *(f"wheel: {name} is missing" for name in needed),
    ]


if __name__ == "__main__":
    problems = check(Path(sys.argv[1]))
    print("\n".join(problems) or "the distributions hold what git tracks")
    sys.exit(bool(problems))
