"""What people mistype, and what shells do to commands: one line, exit status 2, and nothing lost."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.commands import Hrm
from rewardmachines.core.equivalence import equivalent
from rewardmachines.files import load, loads, save, save_traces
from rewardmachines.library import find
from rewardmachines.traces import Outcome, Trace

MARKUP = """
machines:
  "[/b]":
    edges:
      - {from: u0, to: "u[red]1", when: '"[/x]"'}
      - {from: "u[red]1", to: uA, when: '":cat:"'}
"""


def shell(command: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command line of bash in which `hrm` is ours."""
    line = f'hrm() {{ "{sys.executable}" -m rewardmachines "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, cwd=folder, timeout=120)


def one_line(text: str) -> bool:
    return len(text.splitlines()) == 1 and "Traceback" not in text


# -- where results go


def test_a_result_goes_through_a_pipe(hrm: Hrm, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert hrm("flatten", "craftworld/book", "-o", pipe) == 0
    reader.join(20)
    assert equivalent(loads(read[0]), find("craftworld/book"))
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["book.svg", "book.yaml"])
def test_a_link_stays_a_link(hrm: Hrm, tmp_path: Path, name: str) -> None:
    target, link = tmp_path / f"real-{name}", tmp_path / name
    target.write_text("old")
    link.symlink_to(target)
    assert hrm("draw" if name.endswith("svg") else "flatten", "craftworld/book", "-o", link) == 0
    assert link.is_symlink()
    assert target.read_text() != "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([target.name, link.name])


@pytest.mark.parametrize(
    "arguments",
    [
        ["compile", "a", "-o", ""],
        ["compile", "a", "--output="],
        ["draw", "craftworld/book", "-o", ""],
        ["play", "craftworld", "--png", ""],
        ["learn", "craftworld", "-o", ""],
    ],
    ids=" ".join,
)
def test_an_empty_name_is_no_file(hrm: Hrm, arguments: list[str]) -> None:
    assert hrm(*arguments) == 2
    assert "needs the name of a file, not ''" in hrm.err
    assert one_line(hrm.err)


def test_errors_name_the_file_that_was_asked_for(hrm: Hrm, tmp_path: Path) -> None:
    for target in (tmp_path, tmp_path / "missing" / "a.yaml"):
        assert hrm("compile", "a", "-o", target) == 2
        assert hrm.err.startswith(f"hrm: {target}: ")
        assert ".part" not in hrm.err
    assert list(tmp_path.iterdir()) == []


# -- names


@pytest.mark.parametrize(
    "arguments", [["stats"], ["run", "--trace", "[/x] :cat:"], ["check"], ["flatten"]], ids=" ".join
)
def test_names_that_look_like_markup_are_names(hrm: Hrm, tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "m.yaml").write_text(MARKUP)
    assert hrm(arguments[0], tmp_path / "m.yaml", *arguments[1:]) == 0
    if arguments[0] in ("stats", "run"):
        assert "[/b]" in hrm.out
    if arguments[0] == "run":
        assert "u[red]1" in hrm.out
        assert "{:cat:}" in hrm.out


def test_summaries_of_traces_show_such_names_too(hrm: Hrm, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MARKUP)
    save_traces([Trace((frozenset({"[/x]"}),)), Trace((), Outcome.INCOMPLETE)], tmp_path / "t.jsonl")
    assert hrm("run", tmp_path / "m.yaml", "--trace", tmp_path / "t.jsonl") == 0
    assert "[/b] u[red]1" in hrm.out


@pytest.mark.parametrize("command", ["flatten", "stats", "check", "minimize"])
def test_half_a_character_is_refused(hrm: Hrm, tmp_path: Path, command: str) -> None:
    edges = [{"from": "u0", "to": "uA", "when": '"\ud800"'}]
    (tmp_path / "m.json").write_text(json.dumps({"machines": {"m": {"edges": edges}}}))
    assert hrm(command, tmp_path / "m.json") == 2
    assert "machines.m.edges[0].when: \\ud800 is half a character" in hrm.err
    assert one_line(hrm.err)


def test_what_no_file_could_hold_is_not_written(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("compile", "a", "--name", "\udcff", "-o", tmp_path / "m.yaml") == 2
    assert "\\udcff is half a character" in hrm.err
    assert list(tmp_path.iterdir()) == []


def test_a_trace_longer_than_a_file_name_is_a_trace(hrm: Hrm) -> None:
    word = " ".join(["sugarcane workbench {} rabbit workbench"] + ["{}"] * 200 + ["table"])
    assert len(word) > 255
    assert hrm("run", "craftworld/book", "--trace", word) == 0
    assert "verdict: accept" in hrm.out
    assert hrm("export", "craftworld/book", "--to", "asp", "--trace", word) == 0
    assert hrm("run", "craftworld/book", "--trace", "x" * 300) == 2
    assert "no proposition" in hrm.err
    assert hrm("check", "x" * 300) == 2
    assert "no such file" in hrm.err
    assert hrm("play", "craftworld", "--task", "x" * 300) == 2
    assert one_line(hrm.err)


def test_a_trace_file_may_come_through_a_pipe(tmp_path: Path) -> None:
    trace = '{"outcome": "goal", "labels": [["iron"], ["table"]]}'
    result = shell(f"hrm run craftworld/bucket --trace <(echo '{trace}')", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "verdict: accept" in result.stdout


def test_numbers_of_5000_digits_are_refused(hrm: Hrm, tmp_path: Path) -> None:
    digits = "1" * 5000
    (tmp_path / "t.jsonl").write_text(f'{{"labels": [[{digits}]]}}')
    assert hrm("run", "craftworld/book", "--trace", tmp_path / "t.jsonl") == 2
    assert "a number of too many digits" in hrm.err
    for text in (f"machines: {digits}", f'{{"machines": {digits}}}'):
        (tmp_path / "m.yaml").write_text(text)
        assert hrm("check", tmp_path / "m.yaml") == 2
        assert one_line(hrm.err)
        assert len(hrm.err) < 500
    for arguments in (["play", "craftworld", "--seed", digits], ["labels", "x", "--episodes", digits]):
        assert hrm(*arguments) == 2
        assert "a number of more than 100 digits is not read" in hrm.err
        assert one_line(hrm.err)


def test_a_machine_that_calls_itself_is_told_so(hrm: Hrm, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("machines: {m: {edges: [{from: u0, to: uA, call: m}]}}")
    assert hrm("check", tmp_path / "m.yaml") == 2
    assert "in a circle: m -> m" in hrm.err
    assert "'root'" not in hrm.err


# -- the label tester


@pytest.mark.parametrize("env", [":", "..:x", "mine:", ":make", "a b:c", ":/x", "..:/x", "no_such_module:a/b"])
def test_what_names_no_environment_is_refused(hrm: Hrm, env: str) -> None:
    assert hrm("labels", env) == 2
    assert one_line(hrm.err)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**30])
def test_seeds_have_32_bits(hrm: Hrm, seed: int) -> None:
    env = "rewardmachines/CraftWorld-OP-v0"
    assert hrm("labels", env, "--episodes", 1, "--max-steps", 2, "--seed", seed) == 2
    assert "a seed lies between 0 and 4,294,967,295" in hrm.err
    assert hrm("traces", "craftworld", "--episodes", 1, "--seed", seed) == 2
    assert "a seed lies between 0 and 4,294,967,295" in hrm.err
    assert one_line(hrm.err)


def test_play_refuses_negative_seeds_and_takes_large_ones(hrm: Hrm) -> None:
    assert hrm("play", "craftworld", "--random", "--steps", 1, "--seed", -1) == 2
    assert "cannot be negative" in hrm.err
    assert hrm("play", "craftworld", "--random", "--steps", 1, "--seed", 10**30) == 0


# -- the parser


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("check", "hrm check: FILE must be given; see 'hrm check --help'"),
        ("run", "hrm run: FILE and --trace TRACE must be given; see 'hrm run --help'"),
        ("draw a", "hrm draw: --output PATH must be given; see 'hrm draw --help'"),
        (
            "check --lables x a",
            "hrm check: there is no option --lables; did you mean '--labels'? See 'hrm check --help'",
        ),
        ("check a b", "hrm check: nothing is known of 'b'; see 'hrm check --help'"),
        ("export a --to pdf", "hrm export: --to is one of asp, dot, hoa, ilasp, mermaid, not 'pdf'; see"),
        (
            "play craftwrld",
            "hrm play: domain is one of craft, craftworld, office, waterworld, not 'craftwrld'; did you mean",
        ),
        ("labels a --episodes q", "hrm labels: --episodes: 'q' is not a whole number, such as 500000 or 1e6; see"),
        ("play craftworld --seed 1.5", "hrm play: --seed: '1.5' is not a whole number, such as 500000 or 1e6; see"),
        ("draw a -o", "hrm draw: -o/--output needs a value; see"),
        ("chek a", "hrm: there is no command 'chek'; did you mean 'check'?"),
    ],
)
def test_the_parser_says_it_in_one_line(hrm: Hrm, arguments: str, message: str) -> None:
    assert hrm(*arguments.split()) == 2
    assert hrm.err.startswith(message)
    assert hrm.out == ""
    assert one_line(hrm.err)


@pytest.mark.parametrize("setting", ["", "FORCE_COLOR=1", "COLUMNS=40", "PYTHONIOENCODING=ascii"])
def test_the_line_is_the_same_in_every_terminal(setting: str) -> None:
    result = shell(f"{setting} hrm export a --to pdf")
    assert (
        result.stderr
        == "hrm export: --to is one of asp, dot, hoa, ilasp, mermaid, not 'pdf'; see 'hrm export --help'\n"
    )


# -- the standard streams


@pytest.mark.parametrize(
    "command", ["--help", "check --help", "stats craftworld/cake", "library craftworld/cake", "library --json"]
)
def test_a_closed_standard_output_is_no_error(command: str) -> None:
    result = shell(f"hrm {command} >&-")
    assert (result.returncode, result.stderr) == (0, "")
    result = shell(f"set -o pipefail; hrm {command} | true")
    assert (result.returncode, result.stderr) == (0, "")


def test_all_streams_may_be_closed(tmp_path: Path) -> None:
    assert shell("hrm compile a -o a.yaml <&- >&- 2>&-", tmp_path).returncode == 0
    assert load(tmp_path / "a.yaml").propositions == ("a",)
    assert shell("hrm compile 'a &' <&- >&- 2>&-", tmp_path).returncode == 2
    assert shell("hrm play craftworld --steps 1 <&- >&-").returncode == 0


def test_a_full_disk_is_told() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no full disk here")
    result = shell("hrm library craftworld/cake > /dev/full")
    assert result.returncode == 2
    assert result.stderr.endswith(": No space left on device\n")
    assert one_line(result.stderr)


def test_another_pipe_that_breaks_is_an_error(tmp_path: Path) -> None:
    """Only standard output may lose its reader."""
    save(find("craftworld/book"), tmp_path / "book.yaml")
    result = shell("mkfifo pipe; (exec 3< pipe; sleep 0.2) & hrm flatten exponential/12 -o pipe", tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "hrm: pipe: Broken pipe"


def test_any_broken_pipe_but_that_of_standard_output_is_an_error(hrm: Hrm, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("rewardmachines.cli.commands.check.read_hierarchy", broken)
    assert hrm("check", "craftworld/book") == 2
    assert one_line(hrm.err)


def test_names_that_the_terminal_cannot_spell_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("machines: {é: {edges: [{from: u0, to: uA, when: a}]}}")
    result = shell("PYTHONIOENCODING=ascii hrm flatten m.yaml", tmp_path)
    assert result.returncode == 0, result.stderr
    assert loads(result.stdout).root == "é"


def test_names_with_line_breaks_stay_on_one_line(hrm: Hrm, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text('machines: {"a\\nb\\e[31m": {}}')
    assert hrm("check", tmp_path / "m.yaml") == 2
    assert "machine 'a\\nb\\x1b[31m' has no 'edges'" in hrm.err
    assert one_line(hrm.err)
    assert hrm("compile", f"{'a' * 50_000} &") == 2
    assert len(hrm.err) < 1_100
