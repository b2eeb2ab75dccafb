"""Commands that act in environments, and tell which labels occur there."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands import Hrm


def test_play_acts_and_films(hrm: Hrm, tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    assert hrm("play", "craftworld", "--task", "book", "--instance", 3, "--steps", 60, "--gif", film) == 0
    assert "verdict: neither after 60 steps" in hrm.out
    assert film.read_bytes().startswith(b"GIF8")
    assert hrm("play", "waterworld", "--setting", "wd", "--task", "rgb&cmy", "--png", tmp_path / "box.png") == 0
    assert (tmp_path / "box.png").read_bytes().startswith(b"\x89PNG")
    own = tmp_path / "own.yaml"
    assert hrm("compile", "iron | cow | table", "-o", own) == 0
    assert hrm("play", "craftworld", "--task", own, "--random") == 0
    assert "verdict: accept" in hrm.out


def test_keys_move_the_agent_in_a_terminal() -> None:
    """A real terminal: what is typed acts, the grid and the hierarchy are shown, and q leaves."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rewardmachines", "play", "craftworld", "--task", "book"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as player:
        os.close(theirs)
        shown = ""
        keys = iter(["w", "d", "\x1b[A", "r", "q"])
        while select.select([ours], [], [], 60)[0]:
            try:
                got = os.read(ours, 65536).decode(errors="replace")
            except OSError:
                break
            shown += got
            if "q: leave" in got and (key := next(keys, None)):
                os.write(ours, key.encode())
        assert player.wait(60) == 0
    os.close(ours)
    assert "task: book" in shown
    assert "step 3" in shown
    assert "w/↑ forward" in shown
    assert "█ wall, · floor, I iron, T table" in shown


def test_labels_reports_what_occurs(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hrm("labels", "rewardmachines/CraftWorld-OP-v0", "--episodes", 3, "--max-steps", 50) == 0
    assert "3 episodes" in hrm.out
    answer = hrm.json(
        "labels", "rewardmachines/CraftWorld-OP-v0", "--episodes", 1, "--max-steps", 2, "--hierarchy", "craftworld/cake"
    )
    assert isinstance(answer, dict)
    assert answer["steps"] == 3
    assert "table" in answer["needed_but_never_seen"]
    (tmp_path / "mine.py").write_text(
        "import gymnasium\n"
        "from rewardmachines.envs import LabelingWrapper\n"
        "def make():\n"
        "    lake = gymnasium.make('FrozenLake-v1')\n"
        "    labels = lambda cell: {'start'} if cell == 0 else set()\n"
        "    return LabelingWrapper(lake, labels=labels, propositions=['start'])\n"
    )
    monkeypatch.chdir(tmp_path)
    assert hrm("labels", "mine:make", "--episodes", 2) == 0
    assert "{start}" in hrm.out
    assert hrm("labels", "mine:made") == 2
    assert "the environment cannot be found as mine:made (AttributeError: " in hrm.err
    assert hrm("labels", "FrozenLake-v1") == 2
    assert "is not labelled" in hrm.err
    assert hrm("labels", "Nowhere-v0") == 2
    assert hrm("play", "craftworld", "--task", "boook") == 2
    assert "did you mean 'book'" in hrm.err
    assert hrm("play", "craftworld", "--instance", 11) == 2
