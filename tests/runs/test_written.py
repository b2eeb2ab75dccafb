"""The record of the files that a run wrote: it owns what is as it was written, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardmachines.runs.written import RECORD, WrittenFiles


def test_only_files_that_are_as_they_were_written_are_owned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    written = WrittenFiles(tmp_path)
    written.write(path, "one")
    written.write(path, "two")
    path.write_text("one")
    assert WrittenFiles(tmp_path).owned() == [path]
    path.write_text("mine")
    other.write_text("mine")
    assert WrittenFiles(tmp_path).owned() == []
    written.remove(path)
    written.write(other, "ours")
    assert (path.exists(), other.read_text()) == (False, "ours")
    assert (tmp_path / "a.json.old").read_text() == (tmp_path / "b.json.old").read_text() == "mine"
    other.write_text("mine again")
    written.remove(other)
    assert (tmp_path / "b.json.old2").read_text() == "mine again"
    assert "a.json: this is not what the run wrote there; it is kept as a.json.old" in capsys.readouterr().err


def test_a_record_that_is_damaged_owns_less_and_never_more(tmp_path: Path) -> None:
    path, other = tmp_path / "a.json", tmp_path / "b.json"
    WrittenFiles(tmp_path).write(path, "ours")
    record = (tmp_path / RECORD).read_bytes()
    (tmp_path / RECORD).write_bytes(record[:-20])  # killed while it was written
    WrittenFiles(tmp_path).write(other, "ours")
    assert WrittenFiles(tmp_path).owned() == [other]
    (tmp_path / RECORD).write_bytes(b'\xff\n[1, 2]\n{"a": 1}\n["c"]\n' + b"[" * 99_999 + b"\n" + record)
    assert WrittenFiles(tmp_path).owned() == [path]
