"""Without the extra `train`, machines are written, drawn, compared and learned; the rest says what it needs."""

from __future__ import annotations

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rewardmachines as rm
from rewardmachines import envs
from rewardmachines.cli.commands import COMMANDS
from rewardmachines.files import extras
from rewardmachines.files.extras import TRAINING, explain_missing, to_install

BLOCKED = sorted(TRAINING - {"PIL", "numpy"})
"""Modules that are made impossible to import; matplotlib brings the other two."""

LIGHT = (
    ("library",),
    ("draw", "craftworld/book", "-o", "book.svg", "--engine", "builtin"),
    ("draw", "craftworld/book", "-o", "book.png", "--engine", "builtin"),
    ("run", "craftworld/book", "--trace", "sugarcane workbench"),
    ("check", "craftworld/book"),
    ("stats", "craftworld/book"),
    ("compile", "a ; b", "-o", "chain.yaml"),
    ("flatten", "craftworld/book", "-o", "flat.yaml"),
    ("minimize", "flat.yaml", "-o", "small.yaml"),
    ("equivalent", "flat.yaml", "small.yaml"),
    ("export", "chain.yaml", "--to", "hoa"),
    ("induce", "--traces", "traces.jsonl"),
    ("induce", "--traces", "traces.jsonl", "--engine", "clingo"),
)
HEAVY = {
    "learn": ["learn", "craftworld"],
    "train": ["train", "craftworld", "cake"],
    "show": ["show", "runs/mine"],
    "evaluate": ["evaluate", "runs/mine"],
    "study": ["study", "list"],
    "bank": ["bank", "list", "skills"],
    "labels": ["labels", "rewardmachines/CraftWorld-OP-v0"],
    "play": ["play", "craftworld"],
    "plot": ["plot", "runs/mine"],
    "report": ["report", "runs/mine"],
    "settings": ["settings"],
    "traces": ["traces", "craftworld"],
}
"""Commands that need the extra, and what they are asked for; all commands are explained without it."""
RUN_COMMANDS = """
import contextlib, io, json, sys
from rewardmachines.cli import main
answers = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = main(words)
    answers.append((status, said.getvalue()))
print(json.dumps(answers))
"""
TOUCH_NAMES = """
import json, sys
import rewardmachines as rm
said = {}
for name in rm.__all__:
    try:
        getattr(rm, name)
    except ImportError as problem:
        said[name] = str(problem)
print(json.dumps(said))
"""


@pytest.fixture
def light(tmp_path: Path) -> Any:
    """Runs a script in a folder and in processes, also those that it starts, in which the modules are missing."""
    (tmp_path / "site").mkdir()
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in BLOCKED)]
    (tmp_path / "site" / "sitecustomize.py").write_text("\n".join(lines))
    (tmp_path / "traces.jsonl").write_text(
        '{"outcome": "goal", "labels": [["a"], ["b"]]}\n{"outcome": "incomplete", "labels": [["b"]]}\n'
    )
    paths = [str(tmp_path / "site"), str(Path(rm.__file__).parents[1])]

    def run(script: str, *arguments: str) -> Any:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    return run


def test_machines_are_written_drawn_compared_and_learned(light: Any) -> None:
    answers = light(RUN_COMMANDS, json.dumps(LIGHT))
    assert [answer for answer in answers if answer[0] != 0] == []


def test_every_other_command_says_in_one_line_which_extra_it_needs(light: Any) -> None:
    needs = f"hrm {{}} needs the extra 'train': {to_install('train')}\n"
    explained = light(RUN_COMMANDS, json.dumps([[name, "--help"] for name in COMMANDS]))
    assert explained == [[0, ""]] * len(COMMANDS)
    asked = light(RUN_COMMANDS, json.dumps(list(HEAVY.values())))
    assert asked == [[2, needs.format(name)] for name in HEAVY]


def test_names_that_need_the_extra_say_so_when_they_are_touched(light: Any) -> None:
    said = light(TOUCH_NAMES)
    assert {"train", "learn", "open_run", "Run", "GymTask", "play", "register_agent"} <= set(said)
    assert not {"induce", "compile_task", "to_png", "minimize"} & set(said)
    needs = f"rewardmachines.{{}} needs the extra 'train': {to_install('train')}"
    assert said == {name: needs.format(name) for name in said}


def test_every_public_name_is_there_once() -> None:
    assert sorted(set(rm.__all__)) == sorted(rm.__all__)
    assert [name for name in rm.__all__ if not hasattr(rm, name)] == []
    assert {"train", "learn", "open_run", "save_bank", "load_bank", "NotLearnedWarning"} <= set(rm.__all__)
    with pytest.raises(AttributeError, match="no attribute 'train_gymnasium'"):
        rm.train_gymnasium  # noqa: B018


def test_light_commands_and_help_do_not_wait_for_jax() -> None:
    code = """
import sys
from rewardmachines.cli import main
from rewardmachines.cli.commands import COMMANDS
assert main(["stats", "craftworld/book"]) == 0
for command in COMMANDS:
    for words, status in [(["--help"], 0), (["--no-such-option"], 2)]:
        assert main([command, *words]) == status
        found = {"jax", "equinox", "numpy", "matplotlib", "gymnasium"} & set(sys.modules)
        assert not found, (command, words, found)
"""
    helped = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert helped.returncode == 0, helped.stderr


def test_hints_say_what_works_from_a_clone_too() -> None:
    """All of them are made in one place: no other module writes how an extra is installed."""
    assert "'rewardmachines[train]'" in to_install("train")
    assert "pip install '.[train]'" in to_install("train")
    package = Path(extras.__file__).parents[1]
    hints = [path for path in package.rglob("*.py") if "install 'rewardmachines[" in path.read_text()]
    assert hints == [Path(extras.__file__)]
    examples = [path.read_text() for path in (Path(__file__).parents[2] / "examples").glob("*.py")]
    assert any("rewardmachines[" in text for text in examples)
    assert all("pip install '.[" in text for text in examples if "rewardmachines[" in text)


def test_a_module_that_no_extra_brings_is_missing_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), explain_missing("this"):
        __import__("no_such_module")


@pytest.mark.parametrize("package", [rm, envs])
def test_no_lazy_name_is_the_name_of_a_module(package: ModuleType) -> None:
    """Importing a module binds its name in the package, in front of a function of that name."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert not modules & set(package.__all__)
