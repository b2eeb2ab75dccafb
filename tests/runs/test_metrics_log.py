"""Files of lines: what is lost beside an intact checkpoint is counted and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rewardmachines.runs.journal import Expected, Lines, TimingRow


def steps_in(path: Path) -> list[int]:
    return [json.loads(line)["steps"] for line in path.read_text().splitlines()]


def _cut(data: bytes) -> bytes:
    return data[:-10]


def _without_the_middle(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[:2] + lines[3:])


def _scribbled(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([*lines[:2], b"\xff\x00 scribble\n", *lines[3:]])


_LINES = b"".join(b'{"steps": %d, "seconds": 1.0, "learner_seconds": 0.0}\n' % (100 * i) for i in range(1, 9))
_EXPECTED = Expected(TimingRow, "steps", last=800, records=8, length=len(_LINES))


@pytest.mark.parametrize(
    ("damage", "lost"), [(_cut, 1), (_without_the_middle, 1), (_scribbled, 1), (lambda data: b"", 8), (None, 8)]
)
@pytest.mark.parametrize("later", [b"", b'{"steps": 900, "seconds": 1.0, "learner_seconds": 0.0}\n', b'{"ste'])
def test_lines_that_are_lost_are_counted_and_what_is_left_is_kept(
    tmp_path: Path, damage: Callable[[bytes], bytes] | None, lost: int, later: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "timing.jsonl"
    if damage is not None:
        path.write_bytes(damage(_LINES) + (later if damage is not _cut else b""))
    with closing(Lines(path, _EXPECTED)) as lines:
        said = capsys.readouterr().err
        assert f"{path}: damaged, {lost} of 8 lines are lost; the run goes on without them" in said
        assert said.count("\n") == 1
        lines.add([TimingRow(900, 2.0)])
        length = lines.settle()
    steps = steps_in(path)
    assert (len(steps), steps[-1]) == (9 - lost, 900)
    Lines(path, replace(_EXPECTED, last=900, records=9, length=length)).close()
    assert (capsys.readouterr().err, steps_in(path)) == ("", steps)
    old = tmp_path / "timing.jsonl.old"
    assert (old.read_bytes() == _scribbled(_LINES) + later) if damage is _scribbled else not old.exists()


def test_whole_lines_are_cut_back_to_the_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "timing.jsonl"
    for later in (b"", b'{"steps": 900, "seconds": 1.0, "learner_seconds": 0.0}\n', b'{"ste'):
        path.write_bytes(_LINES + later)
        Lines(path, _EXPECTED).close()
        assert path.read_bytes() == _LINES
    assert capsys.readouterr().err == ""
