"""The code blocks of the documents, and what is done with each of them.

A comment before a block, which readers do not see, says how it is treated:

| comment | meaning |
| --- | --- |
| `<!-- nightly: about 3 minutes -->` | run by `make test-docs` only, for it takes too long for every test run |
| `<!-- worlds: about a minute -->` | run by `make test-worlds` only, for it needs other libraries |
| `<!-- run by: tests/envs/test_x.py -->` | another test reads the page and runs it |
| `<!-- file: garden.yaml -->` | not run but written to this file, for the blocks that follow |
| `<!-- exit status: 1 -->` | the last line of the block answers "no" |
| `<!-- not run: the reason -->` | run nowhere, for this reason |

Without one, Python and commands are run by every test run. `python tests/docs/blocks.py` lists them all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

PROGRAMS: Final = ("hrm", "python")
"""Programs that are run."""
COMMANDS_NOT_RUN: Final = {
    "git": "fetches from an address that is the reader's",
    "pip": "installs into the environment in which the tests run",
    "make": "sets up environments; that there is such a target is tested",
    "tensorboard": "serves until it is stopped",
    "nvidia-cuda-mps-control": "needs an NVIDIA GPU",
    "nvidia-smi": "needs an NVIDIA GPU",
    "pre-commit": "changes the repository",
    "ray": "starts a cluster; make test-ray does",
}
"""Programs that no test of the documents starts, each with the reason."""
MEASUREMENTS: Final = ("benchmarks/",)
"""Where scripts lie that measure for minutes or hours; that they are there is tested."""

_MARK: Final = re.compile(r"<!-- (nightly|worlds|run by|file|exit status|not run): (.+?) -->")
_SHELLS: Final = ("", "sh")
_INDENT: Final = re.compile(r"( {4,})\S")
_LIST: Final = re.compile(r"\s*(?:[-*]|\d+\.) ")


class Treatment(Enum):
    """What is done with a block, or with a line of a shell."""

    RUN = "run"
    NIGHTLY = "nightly"
    WORLDS = "worlds"
    ELSEWHERE = "run by"
    NOT_RUN = "not run"
    FILE = "file"
    OUTPUT = "output"
    DRAWING = "drawing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Block:
    """A block of a page; `output` is what the page says that it prints, if it does."""

    page: str
    line: int
    language: str
    text: str
    marks: tuple[tuple[str, str], ...] = ()
    output: str | None = None
    is_output: bool = False
    end: int = 0

    def mark(self, name: str) -> str | None:
        """What the comment of this name says, if there is one."""
        return dict(self.marks).get(name)

    @property
    def is_shell(self) -> bool:
        """Whether its lines are typed in a shell."""
        return self.language in _SHELLS

    @property
    def commands(self) -> tuple[str, ...]:
        """The lines that are typed, without comments; a line that ends with a backslash goes on in the next."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        return tuple(line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#"))

    @property
    def treatment(self) -> Treatment:
        """What is done with the whole block."""
        for kind in (Treatment.NOT_RUN, Treatment.ELSEWHERE, Treatment.FILE, Treatment.NIGHTLY, Treatment.WORLDS):
            if self.mark(kind.value) is not None:
                return kind
        if self.is_output:
            return Treatment.OUTPUT
        if self.language == "mermaid":
            return Treatment.DRAWING
        return Treatment.RUN if self.language == "python" or self.is_shell else Treatment.UNKNOWN


@dataclass(frozen=True)
class Entry:
    """A block, or a line of a shell, in the list of all."""

    page: str
    line: int
    shown: str
    treatment: Treatment
    reason: str = ""


def blocks(path: Path) -> tuple[Block, ...]:
    """The blocks of a page in their order, those that are indented among them, each with its output."""
    name = path.relative_to(ROOT).as_posix()
    found: list[Block] = []
    for block in _with_marks(path.read_text().splitlines(), name):
        if found and _is_output_of(block, found[-1]):
            found[-1] = replace(found[-1], output=block.text)
            found.append(replace(block, is_output=True))
        else:
            found.append(block)
    return tuple(found)


def _is_output_of(block: Block, before: Block) -> bool:
    """Whether a block shows what the one above it prints."""
    is_next = block.language == "text" and not block.marks and block.line == before.end + 2
    return is_next and (before.language == "python" or before.is_shell)


def _with_marks(lines: list[str], page: str) -> Iterator[Block]:
    marks: list[tuple[str, str]] = []
    at, in_list = 0, False
    while at < len(lines):
        line = lines[at]
        if found := _MARK.findall(line):
            marks += found
        elif line.startswith("```"):
            end = lines.index("```", at + 1)
            yield Block(page, at + 1, line[3:], "\n".join([*lines[at + 1 : end], ""]), tuple(marks), end=end + 1)
            marks, at = [], end
        elif (indent := _INDENT.match(line)) and not lines[at - 1].strip() and (len(indent[1]) > 4 or not in_list):
            end = next((n for n in range(at, len(lines)) if not lines[n].startswith(indent[1])), len(lines))
            yield Block(
                page, at + 1, "", "\n".join([*(text.strip() for text in lines[at:end]), ""]), tuple(marks), end=end
            )
            marks, at = [], end - 1
        elif line.strip():
            marks = []
            in_list = bool(_LIST.match(line)) or (in_list and line.startswith(" "))
        at += 1


def pages() -> tuple[Path, ...]:
    """All documents whose blocks are looked after."""
    return (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))


def entries(path: Path) -> Iterator[Entry]:
    """Everything on a page that could be run, with what is done with it."""
    for block in blocks(path):
        first = next(iter(block.text.splitlines()), "")
        if not block.is_shell or block.treatment in (Treatment.NOT_RUN, Treatment.ELSEWHERE):
            treatment = block.treatment
            yield Entry(block.page, block.line, first, treatment, block.mark(treatment.value) or "")
            continue
        for command in block.commands:
            reason = reason_not_to_run(command)
            is_known = shlex.split(command, comments=True)[0] in PROGRAMS
            treatment = Treatment.NOT_RUN if reason else block.treatment if is_known else Treatment.UNKNOWN
            yield Entry(block.page, block.line, command, treatment, reason or block.mark(treatment.value) or "")


def reason_not_to_run(command: str) -> str | None:
    """Why no test of the documents runs a line of a shell; None if one does."""
    program, *rest = shlex.split(command, comments=True)
    if program == "python" and rest[0].startswith(MEASUREMENTS):
        return "measures for minutes or hours"
    return COMMANDS_NOT_RUN.get(program.rpartition("/")[2])


if __name__ == "__main__":
    for each in pages():
        for entry in entries(each):
            print(f"{entry.page}:{entry.line:<4} {entry.treatment.value:10} {entry.shown[:70]:72} {entry.reason}")
