"""The command that finds the smallest automaton of labelled words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.files import load, save_traces
from rewardmachines.traces import Outcome, Trace

EVEN = "5 2\n1 0\n0 1 0\n1 2 0 0\n0 2 0 1\n1 3 0 1 0\n"


@pytest.fixture
def words(tmp_path: Path) -> Path:
    path = tmp_path / "words.txt"
    path.write_text(EVEN)
    return path


def test_the_automaton_is_written_and_what_is_proved_is_said(hrm: Hrm, words: Path, tmp_path: Path) -> None:
    written = [tmp_path / f"dfa.{suffix}" for suffix in ("hoa", "dot", "yaml", "svg")]
    outputs = [word for path in written for word in ("-o", path)]
    proof = tmp_path / "words.drat"
    assert hrm("identify", words, "--end", "stop", "--proof", proof, *outputs) == 0
    assert "2 states" in hrm.err
    assert "proof" in hrm.err
    assert all(path.stat().st_size for path in (*written, proof, proof.with_suffix(".cnf")))
    assert "stop" in load(written[2]).propositions
    assert hrm("identify", words) == 0
    assert hrm.out.startswith("HOA: v1")
    answer = hrm.json("identify", words)
    assert isinstance(answer, dict)
    assert (answer["result"], answer["states"]) == ("identified", 2)


def test_traces_give_a_machine_without_an_end(hrm: Hrm, tmp_path: Path) -> None:
    traces, machine = tmp_path / "traces.jsonl", tmp_path / "machine.yaml"
    labels = (frozenset({"iron"}), frozenset({"table"}))
    save_traces([Trace(labels, Outcome.GOAL), Trace(labels[::-1])], traces)
    assert hrm("identify", traces, "-o", machine) == 0
    assert hrm("run", machine, "--trace", "iron table") == 0


def test_too_small_a_size_is_no_mistake(hrm: Hrm, words: Path) -> None:
    assert hrm("identify", words, "--max-states", 1) == 1
    assert "1 states" in hrm.err


@pytest.mark.parametrize(
    ("text", "options", "key"),
    [
        ("1 2\n1 1 5\n", [], "line 2"),
        ("2 2\n1 1 0\n0 1 0\n", [], "<0>"),
        (EVEN, ["-o", "dfa.txt"], ".hoa"),
        (EVEN, ["-o", "dfa.yaml"], "--end"),
        ('{"outcome": "lost"}\n', [], "line 1"),
    ],
)
def test_mistakes_are_one_line(
    hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, options: list[str], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text(text)
    assert hrm("identify", "words.txt", *options) == 2
    assert key in hrm.err
    assert len(hrm.err.strip().splitlines()) == 1 or "states" in hrm.err
