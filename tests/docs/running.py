"""Runs the blocks of a page as a reader would: one after the other, in one folder and one Python session."""

from __future__ import annotations

import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from docs.blocks import ROOT, Block, Treatment, reason_not_to_run
from rewardmachines import NotLearnedWarning
from rewardmachines.cli.main import main

WIDTH: Final = "110"
"""Columns of the terminal in which commands print."""

_RESULT: Final = re.compile(r"  # → (.+)$")
_RULES: Final = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Session:
    """What a page has done so far: names in Python, and files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> None:
        """Runs a block and compares what it prints with what the page shows.

        Raises:
            AssertionError: It prints something else, or a command fails.
        """
        place = f"{block.page}:{block.line}"
        if (name := block.mark("file")) is not None:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
            _forget_name(Path(name).parts[0].removesuffix(".py"))
            return
        if block.is_shell:
            printed = "".join(_run_command(*pair, place, self.folder) for pair in _expected(block))
        else:
            printed = self._run_python(block, place)
        if block.output is not None:
            _compare(block.output, printed, place)

    def _run_python(self, block: Block, place: str) -> str:
        """Runs statement after statement. An arrow behind one promises what it prints, or what its value is."""
        lines = block.text.splitlines()
        printed = ""
        for node in ast.parse(block.text).body:
            promised = _RESULT.search(lines[(node.end_lineno or 1) - 1])
            with _captured() as output:
                value = self._value(node, block)
            text = output.getvalue()
            if promised is not None:
                _compare(promised[1], text if value is None else repr(value), place)
            printed += text
        return printed

    def _value(self, node: ast.stmt, block: Block) -> Any:
        ast.increment_lineno(node, block.line)  # errors name the line of the page
        if isinstance(node, ast.Expr):
            return eval(compile(ast.Expression(node.value), block.page, "eval", dont_inherit=True), self.names)
        exec(compile(ast.Module([node], []), block.page, "exec", dont_inherit=True), self.names)
        return None


class _Output(TextIOWrapper):
    """Standard output and standard error, as a terminal shows them: together."""

    def __init__(self) -> None:
        super().__init__(BytesIO(), encoding="utf-8", write_through=True)

    def getvalue(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, BytesIO)
        return buffer.getvalue().decode()


@contextmanager
def _captured() -> Iterator[_Output]:
    output = _Output()
    with redirect_stdout(output), redirect_stderr(output):
        yield output


def _expected(block: Block) -> Iterator[tuple[str, int]]:
    """The commands of a block that are run, each with its exit status."""
    commands = [command for command in block.commands if reason_not_to_run(command) is None]
    last = int(block.mark("exit status") or 0)
    for index, command in enumerate(commands, 1):
        yield command, last if index == len(commands) else 0


def _run_command(command: str, status: int, place: str, folder: Path) -> str:
    """Runs a line of a shell and returns what it prints."""
    program, *words = shlex.split(command, comments=True)
    if program == "hrm":
        _forget_modules(folder)  # as in a process of its own
        with _captured() as output, warnings.catch_warnings():
            warnings.simplefilter("always", NotLearnedWarning)  # what a reader is told, too; others are errors
            found = main(words)
        text = output.getvalue()
    elif [program, *words[:1]] == ["python", "-c"]:
        with _captured() as output:
            exec(words[1], {})
        found, text = 0, output.getvalue()
    else:
        assert program == "python", f"{place}: who runs {command}?"
        script = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
        done = subprocess.run([sys.executable, *script], check=False, capture_output=True, text=True)
        found, text = done.returncode, done.stdout + done.stderr
    assert found == status, f"{place}: {command}\nexit status {found}\n{text}"
    return text


def _compare(shown: str, printed: str, place: str) -> None:
    checker = doctest.OutputChecker()
    if not checker.check_output(shown, printed, _RULES):
        raise AssertionError(f"{place}\nshown:\n{shown}\nprinted:\n{printed}")


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """A folder of its own for a page: commands and imports look there, and what was imported is forgotten."""
    before, path, columns = Path.cwd(), list(sys.path), os.environ.get("COLUMNS")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["COLUMNS"] = WIDTH
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
        _forget_modules(folder)


def _forget_modules(folder: Path) -> None:
    """Modules that were imported from a folder are imported anew, if they are needed again."""
    for name in [name for name, module in sys.modules.items() if _lies_in(module, folder)]:
        del sys.modules[name]


def _forget_name(name: str) -> None:
    """What was imported under a name from elsewhere, as another test may have, must not hide the file of a page."""
    for known in [known for known in sys.modules if known.split(".")[0] == name]:
        del sys.modules[known]


def _lies_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module, or a package without a file of its own, was imported from a folder."""
    own = vars(module)
    places = [own.get("__file__"), *(own.get("__path__") or ())]
    return any(str(place).startswith(f"{folder}{os.sep}") for place in places)


def run_page(found: Collection[Block], folder: Path, treatments: Collection[Treatment]) -> int:
    """Runs the blocks of a page that are treated in one of these ways.

    Returns:
        How many were run, files that were written among them.
    """
    session = Session(folder)
    chosen = [block for block in found if block.treatment in treatments]
    with in_folder(folder):
        for block in chosen:
            session.run(block)
    return len(chosen)
