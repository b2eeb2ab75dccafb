"""Tries an installed package from another folder: `python smoke.py core` or `python smoke.py train`.

It needs the package alone, no test library, and nothing of the repository. `core` is what needs no extra, `train` what
needs the extra of that name.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata, resources
from importlib.util import find_spec
from pathlib import Path

HRM = Path(sys.executable).with_name("hrm")
TRACES = (("goal", "a b"), ("incomplete", "a"), ("incomplete", "b"), ("incomplete", "b a"))
DATA = (
    "py.typed",
    "library/data/craftworld.toml",
    "exchange/encodings/rules.lp",
    "reports/page.css",
    "envs/filming/player.html",
)


def hrm(*words: str, expected: int = 0) -> str:
    """Runs a command, as somebody would in a shell.

    Args:
        *words: What comes after `hrm`.
        expected: The exit status that it must have.

    Returns:
        What it wrote to standard output, or to standard error if it is to fail.
    """
    done = subprocess.run([str(HRM), *words], check=False, capture_output=True, text=True, timeout=300)
    if done.returncode != expected:
        sys.exit(f"hrm {' '.join(words)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if expected else done.stdout


def check(holds: bool, claim: str) -> None:
    """Ends with status 1 if a claim does not hold, and says it either way."""
    print(f"{'ok' if holds else 'FAILED'}: {claim}", flush=True)
    if not holds:
        sys.exit(1)


def smoke_core() -> None:
    """Writes, runs, draws, compares and learns machines."""
    check(hrm("--version").split()[1] == metadata.version("rewardmachines"), "hrm --version")
    check("craftworld/book" in hrm("library"), "the library")
    for suffix in ("svg", "png"):
        hrm("draw", "craftworld/book", "-o", f"book.{suffix}", "--engine", "builtin")
        check(Path(f"book.{suffix}").stat().st_size > 1_000, f"a drawing as {suffix}")
    trace = "sugarcane workbench {} rabbit workbench table"
    check("accept" in hrm("run", "craftworld/book", "--trace", trace), "a trace is accepted")
    hrm("compile", "a ; b", "-o", "chain.yaml")
    lines = [json.dumps({"outcome": outcome, "labels": [[p] for p in word.split()]}) for outcome, word in TRACES]
    Path("traces.jsonl").write_text("\n".join(lines))
    for engine in ("sat", "clingo"):
        hrm("induce", "--traces", "traces.jsonl", "--engine", engine, "-o", f"{engine}.yaml")
        check("equivalent" in hrm("equivalent", "chain.yaml", f"{engine}.yaml"), f"a machine is learned by {engine}")
    package = resources.files("rewardmachines")
    check(all((package / name).is_file() for name in DATA), "package data")
    if find_spec("jax") is None:
        refused = hrm("train", "craftworld", "paper", expected=2)
        check(refused.count("\n") == 1 and "rewardmachines[train]" in refused, "training says which extra it needs")


def smoke_train() -> None:
    """Trains for a few steps, and finds the studies of the package."""
    hrm("train", "craftworld", "paper", "--steps", "2000", "-o", "paper", "--no-report")
    check(json.loads(Path("paper/config.json").read_text())["format"] > 0, "a tiny training")
    check("paper/restricted" in hrm("study", "list"), "the studies of the paper")


if __name__ == "__main__":
    package = Path(str(resources.files("rewardmachines")))
    check(Path(sys.prefix) in package.parents, "the installed package is tried, not the sources")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        {"core": smoke_core, "train": smoke_train}[sys.argv[1]]()
