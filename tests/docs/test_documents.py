"""What the documents show is there: links lead somewhere, commands are understood, code runs, lines are short."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import rewardmachines as rm
from rewardmachines.cli.main import UsageError, _read
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.traversal import Verdict

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WIDTH = 120
README_LINES = 99

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
_REFERENCE = re.compile(r"\]\[([^\]]+)\]")
_INLINE = re.compile(r"`([^`\n]+)`")
_INDENTED = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


NEW_DOMAINS = {"docs/adding-a-domain.md": "corridor"}
"""Domains that a page adds itself; with them, `make test-docs` runs its commands."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


documents = pytest.mark.parametrize("path", DOCUMENTS, ids=name)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in _FENCE.findall(path.read_text()) if kind == language]


def prose(path: Path) -> str:
    return _FENCE.sub("", path.read_text())


def shown(path: Path, program: str) -> Iterator[str]:
    """What is to be typed, without the comments that explain it."""
    lines = chain.from_iterable(text.splitlines() for text in [*blocks(path, ""), *blocks(path, "sh")])
    for text in chain(lines, _INDENTED.findall(prose(path)), _INLINE.findall(prose(path))):
        line = re.sub(r"\s{2,}#.*", "", text).strip().replace(r"\|", "|")
        if line.startswith(f"{program} "):
            yield line


def anchors(path: Path) -> set[str]:
    headings = _HEADING.findall(prose(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@documents
def test_lines_of_text_are_short(path: Path) -> None:
    lines = path.read_text().splitlines()
    widest = [n for n, line in enumerate(lines, 1) if len(line) > WIDTH and not line.startswith("|")]
    assert widest == []


def test_the_readme_is_a_door() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= README_LINES
    assert max(map(len, lines)) <= WIDTH


def test_the_readme_leads_to_the_first_page_and_that_to_every_document() -> None:
    index = ROOT / "docs" / "index.md"
    assert "](docs/index.md)" in (ROOT / "README.md").read_text()
    targets = {(index.parent / target).resolve() for pair in _LINK.findall(index.read_text()) for target in pair}
    assert {name(path) for path in DOCUMENTS if path not in targets} == {"README.md", "docs/index.md"}


@documents
def test_links_lead_somewhere(path: Path) -> None:
    text = prose(path)
    for target in chain.from_iterable(_LINK.findall(text)):
        if target and "://" not in target:
            file, _, anchor = target.partition("#")
            goal = path.parent / file if file else path
            assert goal.exists(), target
            assert not anchor or anchor in anchors(goal), target
    assert all(f"\n[{reference}]: " in text for reference in _REFERENCE.findall(text))


@documents
def test_commands_are_understood(path: Path) -> None:
    for line in shown(path, "hrm"):
        words = shlex.split(line)[1:]
        if words[0] == "COMMAND" or words[0].startswith("-"):
            continue
        try:
            _read(words)
        except (RewardMachineError, UsageError) as problem:
            is_only_named = len(words) == 1 and "must be given" in str(problem)  # by a sentence, without arguments
            is_elsewhere = "needs another package" in str(problem) or NEW_DOMAINS.get(name(path), "\0") in line
            assert is_only_named or is_elsewhere, f"{line}: {problem}"


@documents
def test_make_has_what_is_to_be_made(path: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [line for line in shown(path, "make") if line.split()[1] not in targets] == []


@documents
def test_scripts_that_are_to_be_run_are_there(path: Path) -> None:
    for line in shown(path, "python"):
        script = line.split()[1]
        assert script in ("-m", "-c") or (ROOT / script).is_file(), line


def test_modules_that_the_architecture_names_are_there() -> None:
    """In full, such as `rollout/rows.py`, or by the end of their names, such as `rows.py`."""
    modules = [path.as_posix() for path in (ROOT / "src").rglob("*.py")]
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "architecture.md").read_text())
    assert len(set(named)) > 60
    assert not {name for name in named if not any(module.endswith(f"/{name}") for module in modules)}


@documents
def test_python_is_python(path: Path) -> None:
    for text in blocks(path, "python"):
        ast.parse(text)


def test_machine_and_task_files_are_read_as_they_are_shown() -> None:
    tasks, machines = blocks(ROOT / "docs" / "formats.md", "yaml")
    book, written = rm.loads_tasks(tasks).compile("book"), rm.loads(machines)
    trace = [{"rabbit"}, {"workbench"}, {"sugarcane"}, {"workbench"}, {"table"}]
    assert rm.verdict(book, trace) is rm.verdict(written, trace) is Verdict.ACCEPT


def test_trace_files_are_read_as_they_are_shown(tmp_path: Path) -> None:
    (lines,) = blocks(ROOT / "docs" / "formats.md", "json")
    (tmp_path / "traces.jsonl").write_text(lines)
    (trace,) = rm.load_traces(tmp_path / "traces.jsonl")
    assert trace.outcome is rm.Outcome.GOAL
    assert [sorted(label) for label in trace.labels] == [["sugarcane"], [], ["rabbit", "workbench"]]


def test_the_python_interface_is_told_whole() -> None:
    told = set(_INLINE.findall(prose(ROOT / "docs" / "python.md")))
    assert set(rm.__all__) <= told
