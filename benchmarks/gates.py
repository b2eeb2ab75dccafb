"""Tiny runs over every way to train and to learn, whose metrics must not change while the code moves.

    python benchmarks/gates.py keep [NAME ...]      carry the runs out, and keep their metrics beside this file
    python benchmarks/gates.py compare [NAME ...]   carry them out again, and compare them with what was kept

Fields that both versions of a row have are compared. Metrics depend on the versions of JAX and of the processor, so
both commands belong to one machine. Beside each run stand its seconds: to the first chunk, and in all.
"""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
KEPT: Final = HERE / "gates"
SMALL: Final = (
    "--max-steps 100 --set environments=8 --set chunk=50 --set replay_start=200 --set replay_size=4000 --quiet"
)
OP: Final = f"--setting op --instances 2 {SMALL} --set evaluate_every=2 --set batch=32"
TRAIN: Final = f"train craftworld milk-bucket {OP} --steps 2400 --stop-at 0 --no-report"
LEARN: Final = f"learn craftworld {OP} --tasks bucket sugar --budget 16000 --stop-at 0 --set goals=[10,50] --no-report"
OWN: Final = f"{SMALL} --seed 1 --no-report"
RUNS: Final = {
    "train-hrl": f"{TRAIN} -o RUN",
    "train-flat": f"{TRAIN} --agent flat-hrl -o RUN",
    "train-crm": f"{TRAIN} --agent crm -o RUN",
    "train-seeds": f"{TRAIN} --seeds 2 --own-instances -o RUN",
    "train-episodes": f"{TRAIN} --set 'evaluate_every=10 episodes' -o RUN",
    "train-resumed": f"{TRAIN} -o RUN --steps 1200; train --resume -o RUN --steps 2400 --quiet --no-report",
    "train-bank": (
        f"{LEARN} -o RUN-learned; bank save RUN-learned -o RUN-skills; "
        f"train 'bucket;sugar' --bank RUN-skills --train-bank {SMALL} --steps 2400 --stop-at 0 --no-report -o RUN"
    ),
    "train-own": f"train lake:make 'hut;home' --steps 2400 --stop-at 0 {OWN} -o RUN",
    "train-own-crm": (f"train lake:make 'hut;home' --agent crm --steps 2400 --stop-at 0 {OWN} -o RUN"),
    "learn": f"{LEARN} -o RUN",
    "learn-seeds": f"{LEARN} --seeds 2 --own-instances -o RUN",
    "learn-fresh": LEARN.replace("--instances 2", "--instances fresh --set confirm_episodes=5") + " -o RUN",
    "learn-resumed": f"{LEARN} -o RUN --budget 8000; learn --resume -o RUN --budget 16000 --quiet --no-report",
    "learn-own": (
        f"learn lake:make_hut lake:make_buoy@2 --budget 12000 --stop-at 0 {OWN} --set goals=[5] --set examples=5 -o RUN"
    ),
}
"""The commands of each run, with RUN for its folder."""


def hrm(arguments: str) -> None:
    """Carries a command out, as a process of its own."""
    command = [sys.executable, "-m", "hrm", *shlex.split(arguments)]
    done = subprocess.run(command, cwd=KEPT, capture_output=True, text=True, check=False)
    if done.returncode > 1:  # 1: not all is learned, which so few steps cannot do
        sys.exit(f"hrm {arguments}\n{done.stdout}{done.stderr}")


def metrics(name: str, folder: Path) -> tuple[dict[str, list[dict[str, Any]]], float, float]:
    """The rows of the run of a name, by folder, and the seconds to its first chunk and in all."""
    began = time.monotonic()
    for command in RUNS[name].split("; "):
        hrm(command.replace("RUN", str(folder / name)))
    seconds = time.monotonic() - began
    found = sorted(folder.glob(f"{name}*/metrics.jsonl"))
    first = min(json.loads(path.with_name("timing.jsonl").read_text().split("\n", 1)[0])["seconds"] for path in found)
    rows = {path.parent.name: [json.loads(line) for line in path.read_text().splitlines()] for path in found}
    return rows, first, seconds


def difference(kept: dict[str, list[dict[str, Any]]], now: dict[str, list[dict[str, Any]]]) -> str:
    """The first difference of the rows of two versions, in the fields that both have."""
    if kept.keys() != now.keys():
        return f"folders {sorted(kept)}, now {sorted(now)}"
    for run, rows in kept.items():
        if len(rows) != len(now[run]):
            return f"{run}: {len(rows)} rows, now {len(now[run])}"
        for number, (old, new) in enumerate(zip(rows, now[run], strict=True), start=1):
            for field in old.keys() & new.keys():
                if not is_same(old[field], new[field], "loss" in field):
                    return f"{run}, row {number}: {field} was {old[field]}, now {new[field]}"
    return "equal"


def is_same(old: Any, new: Any, is_mean: bool) -> bool:
    """Whether values of a row are equal, or the means of losses but for their last digits.

    Rows of training had plain values where they have those of one task now.
    """
    if isinstance(new, list) and len(new) == 1 and not (isinstance(old, list) and len(old) == 1):
        new = new[0]
    return math.isclose(old, new, rel_tol=1e-5) if is_mean else bool(old == new)


def main(action: str, names: list[str]) -> None:
    """Keeps or compares the runs of these names; all, without any."""
    KEPT.mkdir(exist_ok=True)
    print(f"{'run':16} {'first chunk':>12} {'in all':>8}  metrics")
    for name in names or RUNS:
        with tempfile.TemporaryDirectory() as folder:
            rows, first, seconds = metrics(name, Path(folder))
        path = KEPT / f"{name}.json"
        if action == "keep":
            path.write_text(json.dumps({"seconds": round(seconds, 1), "first": round(first, 1), "rows": rows}) + "\n")
            verdict = "kept"
        else:
            verdict = difference(json.loads(path.read_text())["rows"], rows)
        print(f"{name:16} {first:10.1f} s {seconds:6.1f} s  {verdict}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] not in (["keep"], ["compare"]):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
