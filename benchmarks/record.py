"""Keeps the figures that a benchmark measures.

With `--record` among its arguments, a benchmark adds a line of JSON to results/speed for each figure: its value, that
of a reference where there is one, and the command, commit, machine, versions and date. Without, it only prints.
`python benchmarks/speed_page.py` makes docs/speed.md of the newest figures.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

FLAG: Final = "--record"
RESULTS: Final = Path(__file__).resolve().parents[1] / "results" / "speed"


class Figures:
    """The figures of a benchmark. The flag is taken out of `sys.argv`, so that benchmarks need not know it."""

    def __init__(self, benchmark: str, *, on_cpu: bool = False) -> None:
        """Notes what was typed, and whether other programs keep the machine busy.

        Args:
            benchmark: The name of the script.
            on_cpu: Whether it measures nothing that an accelerator computes.
        """
        if on_cpu:
            os.environ["JAX_PLATFORMS"] = "cpu"
        self._benchmark = benchmark
        self._is_asked = FLAG in sys.argv
        sys.argv = [word for word in sys.argv if word != FLAG]
        words = (re.sub(r"^/.*(?=/bin/python)", "VENV", word) for word in sys.argv[1:])  # where it is says nothing
        self._command = shlex.join(["python", f"benchmarks/{benchmark}.py", *words])
        self._is_busy = os.getloadavg()[0] > 0.25 * (os.cpu_count() or 1)

    def add(
        self,
        table: str,
        what: str,
        measure: str,
        value: float | str,
        unit: str = "",
        reference: tuple[float | str, str] | None = None,
    ) -> None:
        """Keeps one figure, and where it is a speed or a time, how many times faster it is than the reference.

        Args:
            table: The table of the page, such as `traversal`.
            what: What is measured: the row.
            measure: Which of its figures this is: the column.
            value: The figure, in words where there is no number.
            unit: Its unit.
            reference: The figure beside which it is set, and where that comes from.
        """
        if not self._is_asked:
            return
        from rewardmachines.studies.summaries import this_commit, this_device  # JAX, after what is measured

        line: dict[str, Any] = {"benchmark": f"{self._benchmark}/{table}", "what": what, "measure": measure}
        line |= {"value": _rounded(value), "unit": unit}
        if reference is not None:
            line |= {"reference": reference[0], "source": reference[1], "ratio": _ratio(value, reference[0], unit)}
        line |= {"command": self._command, "commit": this_commit(), "machine": this_device()}
        line |= {"note": "busy" if self._is_busy else "", "python": platform.python_version(), "jax": _jax()}
        line |= {"date": datetime.now(UTC).isoformat(timespec="seconds")}
        RESULTS.mkdir(parents=True, exist_ok=True)
        with (RESULTS / f"{self._benchmark}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


def _rounded(value: float | str) -> float | str:
    """A number with six digits: what is beyond them is no figure."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _ratio(value: float | str, reference: float | str, unit: str) -> float | None:
    """The ratio of two speeds or times; None where one of them is none."""
    if isinstance(value, str) or isinstance(reference, str) or not value or not reference:
        return None
    ratios = {"steps/s": value / reference, "s": reference / value}
    return float(f"{ratios[unit]:.6g}") if unit in ratios else None


def _jax() -> str:
    import jax

    return str(jax.__version__)
