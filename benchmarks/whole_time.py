"""The whole time of `hrm learn`, from the start of its process to its end, and the part of it that is no learning.

    python benchmarks/whole_time.py                 hrm learn craftworld --quick, without and with compiled programs
    python benchmarks/whole_time.py full            hrm learn craftworld, all thirteen tasks
    python benchmarks/whole_time.py fresh           hrm learn craftworld --instances fresh, which is `make learn`
    python benchmarks/whole_time.py report RUN      only the report of a run that is there, likewise

Times are taken from outside, so that any version can be measured: PYTHONPATH=OTHER/src chooses it. `start` is what lies
before the clock of the run, `reported` what the run says that it took, and `report` lies between its last lines.
Processor time, of the process and its children, does not depend on what else the machine does.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from record import Figures
from rich.console import Console
from rich.table import Table

figures = Figures("whole_time")
console = Console(width=120, highlight=False, emoji=False)
LEARN: Final = ("learn", "craftworld")
KINDS: Final = {"": ("--quick",), "full": (), "fresh": ("--instances", "fresh")}
PARTS: Final = ("in all", "reported", "not reported", "start", "first chunk", "report", "processor")


def processor_seconds() -> float:
    """The processor time of all processes that have been started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watch(words: list[str], cache: Path) -> tuple[list[tuple[float, str]], float, float]:
    """Runs a command, and returns its lines with the seconds after which each came, its time, and processor time."""
    command = [sys.executable, "-m", "rewardmachines", *words]
    before, began = processor_seconds(), time.monotonic()
    with subprocess.Popen(
        command,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [(time.monotonic() - began, line) for line in process.stdout]
    if process.returncode:
        sys.exit("".join(line for _, line in lines[-5:]))
    return lines, time.monotonic() - began, processor_seconds() - before


def learning(words: list[str], folder: Path, cache: Path) -> tuple[float, ...]:
    """The seconds of each of the `PARTS` of a run."""
    lines, whole, used = watch([*LEARN, *words, "-o", str(folder)], cache)
    moments = [json.loads(line)["seconds"] for line in (folder / "timing.jsonl").read_text().splitlines()]
    concluded = next(at for at, line in lines if "tasks learned" in line)
    written = next(at for at, line in lines if line.startswith("wrote"))
    printed = [found[1] for _, line in lines if (found := re.search(r"([\d,.]+) s in all", line))]
    reported = float(printed[-1].replace(",", "")) if printed else moments[-1]
    return (whole, reported, whole - reported, concluded - moments[-1], moments[0], written - concluded, used)


def main(words: list[str]) -> None:
    """Measures twice: when nothing has been compiled before, and when everything has."""
    is_report = words[:1] == ["report"] and len(words) == 2
    if not is_report and (len(words) > 1 or " ".join(words) not in KINDS):
        sys.exit("say nothing, or full, or fresh, or report RUN")
    parts = ("in all", "processor") if is_report else PARTS
    options = [] if is_report else [*KINDS[" ".join(words)]]
    name = "hrm report" if is_report else " ".join(["hrm", *LEARN, *options])
    table = Table("compiled before", *parts, title=f"Seconds of {name}")
    measured: dict[str, tuple[float, ...]] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for is_warm in ("no", "yes"):
            if is_report:
                measured[is_warm] = watch(["report", words[1], "-o", str(place / is_warm)], place)[1:]
            else:
                measured[is_warm] = learning(options, place / is_warm, place)
            table.add_row(is_warm, *(f"{seconds:.1f}" for seconds in measured[is_warm]))
    console.print(table)
    for is_warm, each in measured.items():
        for part, seconds in zip(parts, each, strict=True):
            what = f"`{name}`, compiled before: {is_warm}"
            figures.add("seconds", what, part, round(seconds, 1), "s")


if __name__ == "__main__":
    main(sys.argv[1:])
