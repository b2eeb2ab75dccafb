"""Writes docs/speed.md and the table of figures in README.md, from the lines that benchmarks keep in results/speed.

    python benchmarks/speed_page.py

The texts are templates in benchmarks/templates. `{{table BENCHMARK/TABLE | HEAD}}` is a place for a table, whose first
column has this head, `{{figure BENCHMARK/TABLE | WHAT | MEASURE | MACHINE | FORMAT}}` one for a single figure, and
`{{rest}}` one for the tables without a place. Of equal figures on machines of a kind, the newest is shown.

A figure is older than the code if files under src that its benchmark measures differ from those of its commit, as git
says. Without git, or without the commit, it is marked as not compared.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "results" / "speed"
TEMPLATES: Final = Path(__file__).resolve().parent / "templates"
PAGE: Final = ROOT / "docs" / "speed.md"
README: Final = ROOT / "README.md"
OLDER, NOT_COMPARED = " †", " ‡"

AGENTS: Final = ("lowered", "envs", "agents")
LEARNING: Final = ("core", "traces", "learning")
LHRM: Final = (*AGENTS, *LEARNING, "lhrm")
SOURCES: Final = {
    "acting": AGENTS,
    "asking": LEARNING,
    "bank": AGENTS,
    "claim": AGENTS,
    "core": ("core",),
    "dfa": ("learning",),
    "envs": ("core", "lowered", "envs"),
    "exactness": ("core", "envs"),
    "interrupt": ("runs", "cli"),
    "learner": LEARNING,
    "lhrm": LHRM,
    "ltlf": ("core", "language"),
    "own": LHRM,
    "renewal": LHRM,
    "sb3": ("core", "envs", "agents/stable_baselines3.py"),
    "side_by_side": LHRM,
    "training": AGENTS,
    "whole_time": (*LHRM, "runs", "reports", "cli"),
    "wrong_callee": LHRM,
    "xland": ("lowered", "envs"),
}
"""The parts of the package, under src/rewardmachines, that each benchmark measures."""

_README_TABLE: Final = re.compile(r"^\| \| one number \|\n(?:\|.*\n)+", re.MULTILINE)
_PLACE: Final = re.compile(r"\{\{(\w+) ?([^}]*)\}\}")

Line = dict[str, Any]
Mark = Callable[[Line], str]


def read_lines(folder: Path) -> list[Line]:
    """The newest figure of everything that was measured on a kind of machine, in the order of its first figures."""
    newest: dict[tuple[str, ...], Line] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in map(json.loads, path.read_text().splitlines()):
            key = (line["benchmark"], line["what"], line["measure"], line["machine"])
            if key not in newest or newest[key]["date"] <= line["date"]:
                newest[key] = line
    return list(newest.values())


def age_mark(line: Line, root: Path = ROOT) -> str:
    """The mark of a figure that is older than the code, or that cannot be compared with it."""
    return _age_mark(line["benchmark"].partition("/")[0], line["commit"].removesuffix("+"), root)


@cache
def _age_mark(benchmark: str, commit: str, root: Path) -> str:
    git = shutil.which("git")
    paths = [f"src/rewardmachines/{part}" for part in SOURCES[benchmark]]
    if git is None:
        return NOT_COMPARED
    command = [git, "-C", str(root), "diff", "--quiet", commit, "--", *paths]
    done = subprocess.run(command, capture_output=True, check=False)
    return {0: "", 1: OLDER}.get(done.returncode, NOT_COMPARED)


def rendered(template: str, lines: Sequence[Line], mark: Mark) -> str:
    """A template with its tables and figures. Equal lines give equal texts."""
    placed = {words.partition("|")[0].strip() for kind, words in _PLACE.findall(template) if kind == "table"}

    def filled(match: re.Match[str]) -> str:
        words = [word.strip() for word in match[2].split("|")]
        if match[1] == "table":
            return table(words[1], [line for line in lines if line["benchmark"] == words[0]], mark)
        if match[1] == "figure":
            return figure(lines, *words)
        rest = dict.fromkeys(line["benchmark"] for line in lines if line["benchmark"] not in placed)
        return "\n\n".join(
            f"## {name}\n\n{table('', [line for line in lines if line['benchmark'] == name], mark)}" for name in rest
        )

    return _PLACE.sub(filled, template).rstrip() + "\n"


def table(head: str, lines: Sequence[Line], mark: Mark) -> str:
    """The figures of a benchmark in Markdown, and below what measured them."""
    measures = dict.fromkeys((line["measure"], line["unit"]) for line in lines)
    compared = {line["measure"]: line["source"] for line in lines if "reference" in line}
    with_ratio = {line["measure"] for line in lines if line.get("ratio") is not None}
    heads = [head, "machine"]
    for measure, unit in measures:
        heads.append(", ".join(filter(None, (measure, unit))))
        if measure in compared:
            heads.append(f"{measure}, {compared[measure]}" if len(compared) > 1 else compared[measure])
        heads += ["ratio"] if measure in with_ratio else []
    rows = []
    for what, machine in dict.fromkeys((line["what"], line["machine"]) for line in lines):
        mine = {line["measure"]: line for line in lines if (line["what"], line["machine"]) == (what, machine)}
        cells = [what, ", ".join(dict.fromkeys(map(_machine, mine.values())))]
        for measure, _ in measures:
            line = mine.get(measure, {})
            cells.append(shown(line["value"]) + mark(line) if line else "")
            cells += [shown(line.get("reference"))] if measure in compared else []
            cells += [shown(line.get("ratio"))] if measure in with_ratio else []
        rows.append(cells)
    text = ["| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |" for cells in (heads, *rows)]
    text.insert(1, "|" + " --- |" * len(heads))
    return "\n".join([*text, "", *dict.fromkeys(map(_made, lines))])


def shown(value: float | str | None) -> str:
    """A number with commas, or three digits."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 100 else f"{value:.3g}"


def figure(lines: Sequence[Line], benchmark: str, what: str, measure: str, machine: str, form: str) -> str:
    """A single figure, for a sentence: its value, millions of it, or its ratio."""
    wanted = (benchmark, what, measure, machine)
    (line,) = (one for one in lines if (one["benchmark"], one["what"], one["measure"], one["machine"]) == wanted)
    if form == "millions":
        return f"{line['value'] / 1e6:.2g} million"
    return shown(line[form])


def _machine(line: Line) -> str:
    return ", ".join(filter(None, (line["machine"], line["note"])))


def _made(line: Line) -> str:
    versions = [f"{name} {line[key]}" for name, key in (("Python", "python"), ("JAX", "jax")) if line[key]]
    made = ", ".join([_machine(line), *versions, f"commit {line['commit']}", line["date"][:10]])
    return f"- `{line['command']}`:\n  {made}"


def readme(text: str, lines: Sequence[Line], mark: Mark) -> str:
    """README with today's figures in its table."""
    figures = rendered((TEMPLATES / "readme.md").read_text(), lines, mark)
    return _README_TABLE.sub(lambda _: figures, text)


def main() -> None:
    """Writes the page and the table of README."""
    lines = read_lines(RESULTS)
    PAGE.write_text(rendered((TEMPLATES / "speed.md").read_text(), lines, age_mark))
    README.write_text(readme(README.read_text(), lines, age_mark))
    marks = [age_mark(line) for line in lines]
    print(f"wrote {PAGE.relative_to(ROOT)}: {len(lines)} figures, {marks.count(OLDER)} older than the code, "
          f"{marks.count(NOT_COMPARED)} not compared with it")  # fmt: skip


if __name__ == "__main__":
    main()
