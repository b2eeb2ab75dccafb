"""Ctrl-C is never lost: at any moment it ends the program, with exit status 130 and without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PRESS = """
import os, signal, sys
def press():
    os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

_WHEN_LOADED = """
import importlib.abc
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "MODULE":
            press()
sys.meta_path.insert(0, Finder())
"""

_WHEN_COLLECTED = """
import gc
from pathlib import Path
seen = []
def collected(phase, info):
    if not seen and Path("run/WHERE").exists() and Path("run/WHERE").stat().st_size:
        seen.append(phase)
        press()
gc.callbacks.append(collected)
gc.set_threshold(50, 2, 2)
"""

_IN_COMPILED_CODE = """
import hashlib, threading
from rewardmachines.runs.journal import Journal
def advance(journal):
    for seconds in (0.1, 0.6):
        threading.Timer(seconds, press).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # for many minutes, in which Python calls no handler
Journal.advance = advance
"""

_LEARN = ("learn", "craftworld", "--quick", "--no-report", "-o", "run", "--set", "environments=2", "--set", "chunk=2")


def _run(code: str, folder: Path, *words: str) -> tuple[int, str]:
    """Runs the program after some code, and gives its exit status and what it printed to standard error."""
    command = [sys.executable, "-c", f"{_PRESS}{code}\nimport hrm\nsys.exit(hrm.main())", *(words or _LEARN)]
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "module", ["rewardmachines", "rewardmachines.core.formula", "rich.table", "jax", "rewardmachines.runs.orders"]
)
def test_ctrl_c_ends_a_program_that_is_being_loaded_at_once(tmp_path: Path, module: str) -> None:
    assert _run(_WHEN_LOADED.replace("MODULE", module), tmp_path) == (130, "")
    assert not (tmp_path / "run").exists()


def test_ctrl_c_ends_a_run_that_starts_at_once_even_while_garbage_is_collected(tmp_path: Path) -> None:
    assert _run(_WHEN_COLLECTED.replace("WHERE", "config.json"), tmp_path) == (130, "")


def test_ctrl_c_ends_a_run_between_two_chunks_even_while_garbage_is_collected(tmp_path: Path) -> None:
    status, said = _run(_WHEN_COLLECTED.replace("WHERE", "metrics.jsonl"), tmp_path)
    assert status == 130
    assert (tmp_path / "run" / "checkpoint.safetensors").exists()
    assert "Traceback" not in said
    assert "ignored" not in said
    assert "hrm learn --resume -o run" in said


def test_a_second_ctrl_c_does_not_wait_for_compiled_code(tmp_path: Path) -> None:
    status, said = _run(_IN_COMPILED_CODE, tmp_path)
    assert status == 130
    assert "Traceback" not in said
    assert "stopping after this chunk" in said


def test_a_command_without_chunks_ends_at_once(tmp_path: Path) -> None:
    code = "import rewardmachines.core.sizes as s\ns.size = s.flat_size = lambda *_: press()\n"
    status, said = _run(code, tmp_path, "stats", "craftworld/book")
    assert (status, said) == (130, "")


def test_a_command_without_chunks_ends_even_while_garbage_is_collected(tmp_path: Path) -> None:
    """Python forgets an exception there: the command would go on to its end."""
    code = """
import gc
import rewardmachines.core.sizes as s
def collected(phase, info):
    if phase == "start":
        press()
def pressed(*_):
    gc.callbacks.append(collected)
    gc.collect()
    print("went on", file=sys.stderr)
    raise SystemExit(7)
s.size = s.flat_size = pressed
"""
    assert _run(code, tmp_path, "stats", "craftworld/book") == (130, "")


def test_what_runs_in_the_background_ignores_ctrl_c_as_the_shell_says(tmp_path: Path) -> None:
    code = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + _WHEN_LOADED.replace("MODULE", "rich.table")
    assert _run(code, tmp_path, "stats", "craftworld/book") == (0, "")


def test_ctrl_c_is_heard_by_the_program_and_not_again_by_its_children(tmp_path: Path) -> None:
    """A terminal sends it to all of them; a child that was forked shares what its parent listens to."""
    code = """
import time
import rewardmachines.core.sizes as s
def forked(*_):
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, lambda *_: None)
        press()
        press()
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(0.5)  # in which the parent would be ended
    raise SystemExit(7)
s.size = s.flat_size = forked
"""
    assert _run(code, tmp_path, "stats", "craftworld/book")[0] == 7
