"""Names of others do nothing to a terminal, and no refusal fills it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import rewardmachines as rm
from agents.room_bank import room_bank
from cli.commands import Hrm
from rewardmachines.agents.bank.files import write_bank
from rewardmachines.cli.shared import SafeConsole, log
from rewardmachines.core.machine import Edge, machine
from rewardmachines.runs.maker import this_maker
from studies.tiny import FLAT

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

NAME = "evil\x1b]0;title\x07\x9b31m\x1b[2J"
"""A name that sets the title of a window, and clears the screen, by escapes of both kinds."""
RAW = ("\x1b", "\x07", "\x9b")


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine file in which everything has such a name."""
    monkeypatch.chdir(tmp_path)
    seen = rm.Formula(frozenset({rm.Conjunction(frozenset({NAME}))}))
    edges = [Edge("u0", NAME, seen), Edge(NAME, "uA", seen)]
    tree = rm.Hierarchy(NAME, (machine(NAME, edges),), (NAME,))
    rm.save(tree, tmp_path / "evil.yaml")
    return Path("evil.yaml")


def _check(hrm: Hrm) -> None:
    assert "evil" in hrm.out + hrm.err, "the name is shown"
    for raw in RAW:
        assert raw not in hrm.out
        assert raw not in hrm.err


def test_names_in_machine_files_are_escaped_by_every_command(hrm: Hrm, evil: Path) -> None:
    word = json.dumps({"outcome": "goal", "labels": [[NAME], [NAME]]})
    Path("one.jsonl").write_text(word + "\n")
    Path("two.jsonl").write_text(f"{word}\n{word}\n")
    for words in (
        ("stats", evil),
        ("stats", evil, "--json"),
        ("run", evil, "--trace", "one.jsonl"),
        ("run", evil, "--trace", "two.jsonl"),
        ("run", evil, "--trace", "one.jsonl", "--json"),
        ("flatten", evil),
        ("minimize", evil),
        ("equivalent", evil, "craftworld/book"),
        *(("export", evil, "--to", kind) for kind in ("hoa", "dot", "mermaid", "asp")),
        ("stats", f"no-{NAME}.yaml"),
    ):
        hrm(*words)
        _check(hrm)


def test_names_in_automata_come_back_as_they_were(evil: Path) -> None:
    tree = rm.load(evil)
    assert rm.from_hoa(rm.to_hoa(tree)) == tree


def test_names_in_banks_are_escaped(hrm: Hrm, tmp_path: Path) -> None:
    bank = room_bank()
    first = bank.machines[0]
    renamed = replace(
        bank, machines=(replace(first, name=NAME), *bank.machines[1:]), returns={NAME: 1.0, "either": 0.5}
    )
    write_bank(renamed, tmp_path / "skills", this_maker())
    for words in (("bank", "list"), ("bank", "check"), ("bank", "list", "--json")):
        assert hrm(*words[:2], tmp_path / "skills", *words[2:]) == 0
        _check(hrm)


def test_names_in_studies_are_escaped(hrm: Hrm, tmp_path: Path) -> None:
    study, quoted = tmp_path / "mine.toml", json.dumps(NAME)
    study.write_text(f"title = {quoted}\n{FLAT}".replace("short", "op").replace("leave", "book"))
    assert hrm("study", "status", study, "--results", tmp_path / "results", "--runs", tmp_path / "runs") == 1
    _check(hrm)
    study.write_text(f"title = 'fine'\n{FLAT}".replace('"flat"', quoted, 1))
    hrm("study", "status", study, "--results", tmp_path / "results", "--runs", tmp_path / "runs")
    _check(hrm)


def test_displays_of_a_terminal_are_escaped_too(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("name", title=NAME)
    table.add_row(NAME)
    table.add_row(Text(NAME, style="bold"))
    console = SafeConsole(force_terminal=True, width=200)
    console.print(table)
    shown = capsys.readouterr().out
    assert "\x1b]0" not in shown
    assert "\x1b[2J" not in shown
    assert "\x9b" not in shown
    assert "evil\\x1b" in shown
    log(NAME)
    assert not set(RAW) & set(capsys.readouterr().err)


@pytest.mark.parametrize("length", [2_000, 100_000])
def test_no_refusal_is_longer_than_a_few_lines(hrm: Hrm, tmp_path: Path, length: int) -> None:
    name = "n" * length
    with pytest.raises(rm.RewardMachineError) as problem:
        rm.loads(json.dumps({"machines": {name: {"edges": [{"from": "u0", "to": name, "when": "&"}]}}}), source=name)
    assert len(str(problem.value)) <= 1_000
    assert " … " in str(problem.value)
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "bank.json").write_text(json.dumps({name: 1}))
    hrm("bank", "check", tmp_path / "skills")
    assert len(hrm.err) + len(hrm.out) <= 1_100
