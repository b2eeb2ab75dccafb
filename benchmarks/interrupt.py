"""Ctrl-C at many moments of the start of a run: each must end the program, with exit status 130 and no traceback.

python benchmarks/interrupt.py                        # 26 moments of the first 13 seconds of `hrm learn craftworld`
python benchmarks/interrupt.py --seconds 6 --words train craftworld bucket

Every program compiles anew, in a cache of its own. Before the first moment, Python itself is still starting.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from record import Figures

FIRST: Final = 0.1
"""Seconds until the first Ctrl-C."""
PATIENCE: Final = 20
"""Seconds that a chunk may take before Ctrl-C is pressed a second time, and seconds until that is lost, too."""
WORDS: Final = ("learn", "craftworld")
figures = Figures("interrupt")


VERDICTS: Final = ("ended", "ended by the second", "traceback", "lost")


@dataclass(frozen=True)
class Ending:
    """The outcome of a Ctrl-C."""

    verdict: str
    """One of `VERDICTS`."""
    seconds: float
    """The time between the Ctrl-C and the end of the program."""


def press(module: str, words: list[str], moment: float) -> Ending:
    """Starts the program, presses Ctrl-C after some seconds, and waits for its end."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", module, *words, "-o", str(Path(folder) / "run")]
        environment = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(Path(folder) / "cache")}
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        time.sleep(moment)
        presses, said, began = 0, b"", time.monotonic()
        while program.poll() is None and presses < 2:
            program.send_signal(signal.SIGINT)
            presses += 1
            with suppress(subprocess.TimeoutExpired):
                said = program.communicate(timeout=PATIENCE)[1]
        seconds = time.monotonic() - began
        if program.poll() is None:
            program.kill()
            said = program.communicate()[1]
    is_stopped = program.returncode in (130, -signal.SIGINT)
    if b"Traceback" in said:
        return Ending("traceback" if is_stopped or presses == 1 else "lost", seconds)
    return Ending(("lost", "ended", "ended by the second")[presses if is_stopped else 0], seconds)


def main() -> None:
    """Presses Ctrl-C at evenly spaced moments, and counts what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=26)
    parser.add_argument("--seconds", type=float, default=13, help="the last moment")
    parser.add_argument("--module", default="hrm", help="what is run")
    parser.add_argument("--words", nargs=argparse.REMAINDER, default=list(WORDS))
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it, and its programs
    endings = []
    for number in range(arguments.runs):
        moment = FIRST + (arguments.seconds - FIRST) * number / max(1, arguments.runs - 1)
        endings.append(press(arguments.module, arguments.words, moment))
        print(f"Ctrl-C after {moment:5.2f} s: {endings[-1].verdict}, {endings[-1].seconds:.1f} s later", flush=True)
    counts = Counter(ending.verdict for ending in endings)
    print(", ".join(f"{verdict} {count}" for verdict, count in sorted(counts.items())))
    for verdict in VERDICTS:
        figures.add("endings", shlex.join([arguments.module, *arguments.words]), verdict, counts[verdict])


if __name__ == "__main__":
    main()
