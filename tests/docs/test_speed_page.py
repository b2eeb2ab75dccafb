"""The page of speeds, and README's figures, are made of the lines that benchmarks keep."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record, speed_page = script("record"), script("speed_page")


def no_mark(line: Any) -> str:
    return ""


def without_marks(text: str) -> str:
    """Marks depend on the history, which goes on after the page is written, and which a copy of the source lacks."""
    return text.replace(speed_page.OLDER, "").replace(speed_page.NOT_COMPARED, "")


def line(what: str, value: float, **fields: Any) -> dict[str, Any]:
    plain = {"benchmark": "core/traversal", "what": what, "measure": "speed", "value": value, "unit": "steps/s"}
    made = {"command": "python benchmarks/core.py", "commit": "1234567", "machine": "2 CPU cores", "note": "busy"}
    return plain | made | {"python": "3.11", "jax": "", "date": "2026-11-18T08:00:00+00:00"} | fields


def test_page_and_readme_say_what_the_kept_lines_say() -> None:
    lines = speed_page.read_lines(speed_page.RESULTS)
    template = (speed_page.TEMPLATES / "speed.md").read_text()
    expected = speed_page.rendered(template, lines, no_mark)
    assert without_marks((ROOT / "docs" / "speed.md").read_text()) == without_marks(expected)
    readme = (ROOT / "README.md").read_text()
    assert readme == speed_page.readme(readme, lines, no_mark)


def test_the_table_of_the_readme_is_found() -> None:
    lines = speed_page.read_lines(speed_page.RESULTS)
    assert "tampered" not in speed_page.readme("\n| | one number |\n| tampered |\n\n", lines, no_mark)


def test_every_kept_benchmark_has_a_script_and_sources_that_exist() -> None:
    assert {path.stem for path in speed_page.RESULTS.glob("*.jsonl")} <= set(speed_page.SOURCES)
    assert all((ROOT / "benchmarks" / f"{name}.py").is_file() for name in speed_page.SOURCES)
    parts = {part for parts in speed_page.SOURCES.values() for part in parts}
    assert all((ROOT / "src" / "rewardmachines" / part).exists() for part in parts)


def test_newer_figures_take_the_place_of_older_ones_of_the_same_kind_of_machine(tmp_path: Path) -> None:
    kept = [
        line("a", 2.0, date="2026-11-18T09:00:00+00:00"),
        line("a", 1.0, note=""),
        line("a", 3.0, machine="NVIDIA H200"),
    ]
    (tmp_path / "core.jsonl").write_text("".join(json.dumps(one) + "\n" for one in kept))
    assert [one["value"] for one in speed_page.read_lines(tmp_path)] == [2.0, 3.0]


def test_tables_show_references_ratios_and_marks() -> None:
    lines = [
        line("a | b", 3_500.0, reference=1_000, source="authors", ratio=3.5),
        line("c", 12.34, machine="NVIDIA H200"),
    ]
    head, _, first, second, _, *made = speed_page.table("task", lines, lambda one: " †").splitlines()
    assert head == "| task | machine | speed, steps/s | authors | ratio |"
    assert first == r"| a \| b | 2 CPU cores, busy | 3,500 † | 1,000 | 3.5 |"
    assert second == "| c | NVIDIA H200, busy | 12.3 † |  |  |"
    assert made[0] == "- `python benchmarks/core.py`:"
    assert made[1] == "  2 CPU cores, busy, Python 3.11, commit 1234567, 2026-11-18"


def test_tables_without_a_place_come_at_the_end() -> None:
    text = speed_page.rendered("{{table envs/compiled | x}}\n\n{{rest}}", [line("a", 1.0)], no_mark)
    assert "## core/traversal" in text


@pytest.mark.skipif(shutil.which("git") is None, reason="git compares")
def test_a_figure_is_older_than_the_code_when_what_it_measures_has_changed(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def committed(part: str, text: str) -> str:
        path = tmp_path / "src" / "rewardmachines" / part / "a.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        git("add", ".")
        git("commit", "-qm", "x")
        return git("rev-parse", "--short", "HEAD")

    git("init", "-q")
    before, after = committed("core", "1"), committed("core", "2")
    committed("cli", "1")
    marks = [speed_page.age_mark(line("a", 1.0, commit=commit), tmp_path) for commit in (before, after, f"{after}+")]
    assert marks == [speed_page.OLDER, "", ""]
    assert speed_page.age_mark(line("a", 1.0, commit="unknown"), tmp_path) == speed_page.NOT_COMPARED


def test_a_figure_is_not_compared_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed_page.shutil, "which", lambda name: None)
    assert speed_page.age_mark(line("a", 1.0), tmp_path / "elsewhere") == speed_page.NOT_COMPARED


@pytest.mark.parametrize("is_asked", [True, False])
def test_benchmarks_keep_figures_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_asked: bool
) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["training.py", "solve", "wod:rgb&cmy", *(["--record"] if is_asked else [])])
    figures = record.Figures("training")
    assert sys.argv[1:] == ["solve", "wod:rgb&cmy"]
    figures.add("speed", "a", "", 62.0, "steps/s", (31, "authors"))
    figures.add("solve", "a", "time", 2, "s", (3, "authors"))
    figures.add("solve", "a", "states", 2, "", (4, "to reach"))
    assert (tmp_path / "training.jsonl").exists() == is_asked
    if not is_asked:
        return
    kept = speed_page.read_lines(tmp_path)
    assert [one["ratio"] for one in kept] == [2, 1.5, None]
    assert {one["command"] for one in kept} == {"python benchmarks/training.py solve 'wod:rgb&cmy'"}
    assert all(one[name] for one in kept for name in ("commit", "machine", "python", "jax", "date"))
    template = "{{figure training/speed | a | | MACHINE | ratio}} times".replace("MACHINE", kept[0]["machine"])
    assert speed_page.rendered(template, kept, no_mark) == "2 times\n"
