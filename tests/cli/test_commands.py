"""Every command as a person would type it, mistakes included."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest

import rewardmachines
from cli.commands import Hrm
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.files import load, loads, save, save_traces
from rewardmachines.library import find
from rewardmachines.traces import Outcome, Trace

BOOK_TRACE = "sugarcane workbench {} rabbit workbench table"


def test_help_teaches(hrm: Hrm) -> None:
    assert hrm("--help") == 0
    for word in ("compile", "check", "run", "flatten", "minimize", "equivalent", "draw", "export", "stats", "library"):
        assert word in hrm.out
    assert "hrm draw craftworld/book -o book.svg" in hrm.out
    assert hrm("compile", "--help") == 0
    assert "a, then b" in hrm.out


@pytest.mark.parametrize("word", ["--version", "-V"])
def test_the_version_is_told(hrm: Hrm, word: str) -> None:
    assert hrm(word) == 0
    assert hrm.out == f"rewardmachines {version('rewardmachines')}\n"
    assert (hrm.err, rewardmachines.__version__) == ("", version("rewardmachines"))


def test_the_version_is_told_without_loading_jax() -> None:
    code = "import sys; from rewardmachines.cli import main; sys.exit(main(['--version']) or 'jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_package_that_is_not_installed_says_so(hrm: Hrm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardmachines.files.version.PACKAGE", "nobody-has-installed-this")
    assert hrm("--version") == 0
    assert hrm.out == "rewardmachines not installed\n"


def test_compile_prints_a_machine_file(hrm: Hrm) -> None:
    assert hrm("compile", "(wheat & chicken) ; table", "--name", "batter") == 0
    assert equivalent(loads(hrm.out), find("craftworld/batter"))


def test_compile_uses_tasks_from_files_and_options(hrm: Hrm, tmp_path: Path) -> None:
    (tmp_path / "tasks.yaml").write_text("tasks: {paper: sugarcane ; workbench}\navoid: [lava]\n")
    out = tmp_path / "book.yaml"
    arguments = [
        "(paper & leather) ; table",
        "--tasks",
        tmp_path / "tasks.yaml",
        "--task",
        "leather=rabbit ; workbench",
    ]
    assert hrm("compile", *arguments, "-o", out, "--tie", "left", "--name", "book") == 0
    assert hrm.out == ""
    book = load(out)
    assert verdict(book, [{"lava"}]) is Verdict.REJECT
    assert equivalent(book, find("craftworld/book+lava"), labels="!(sugarcane & rabbit)")
    assert hrm("compile", "a", "--avoid", "b", "--avoid", "c", "--json") == 0
    assert json.loads(hrm.out)["propositions"] == ["a", "b", "c"]


def test_check_finds_conflicts(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("check", "craftworld/cake+lava") == 0
    assert "deterministic on all labels: 6 machines, height 4" in hrm.out
    loose = tmp_path / "loose.yaml"
    loose.write_text(
        "machines: {m: {edges: "
        "[{from: u0, to: uA, when: a}, {from: u0, to: u1, when: b}, {from: u9, to: uA, when: a}]}}"
    )
    assert hrm("check", loose) == 1
    assert "the label {a, b} starts both" in hrm.out
    assert hrm("check", loose, "--labels", "singletons") == 0
    assert "remark: machine 'm': no trace reaches the state 'u9'" in hrm.out
    assert hrm("check", loose, "--labels", "!a | !b") == 0
    answer = hrm.json("check", loose)
    assert isinstance(answer, dict)
    assert answer["deterministic"] is False
    assert answer["conflicts"][0]["label"] == ["a", "b"]


def test_run_shows_every_step(hrm: Hrm) -> None:
    assert hrm("run", "figures/book", "--trace", BOOK_TRACE) == 0
    assert "verdict: accept" in hrm.out
    assert "M0: u0_0 -> u1_0 by M1" in hrm.out
    answer = hrm.json("run", "figures/book", "--trace", BOOK_TRACE)
    assert isinstance(answer, list)
    assert [(s["machine"], s["state"]) for s in answer[0]["states"]] == [
        ("M0", "u0_0"),
        ("M1", "u1_1"),
        ("M0", "u1_0"),
        ("M0", "u1_0"),
        ("M2", "u1_2"),
        ("M0", "u3_0"),
        ("M0", "uA_0"),
    ]


def test_run_judges_the_traces_of_a_file(hrm: Hrm, tmp_path: Path) -> None:
    good = Trace((frozenset({"iron"}), frozenset({"table"})), Outcome.GOAL)
    save_traces([good, Trace(good.labels[:1])], tmp_path / "good.jsonl")
    assert hrm("run", "craftworld/bucket", "--trace", tmp_path / "good.jsonl") == 0
    assert "2 of 2 traces explained" in hrm.out
    save_traces([good, Trace(good.labels)], tmp_path / "bad.jsonl")
    assert hrm("run", "craftworld/bucket", "--trace", tmp_path / "bad.jsonl") == 1
    assert "1 of 2 traces explained" in hrm.out


def test_flatten_and_minimize_write_machine_files(hrm: Hrm, tmp_path: Path) -> None:
    assert hrm("flatten", "craftworld/book", "-o", tmp_path / "flat.yaml") == 0
    assert len(load(tmp_path / "flat.yaml")["book"].states) == 9
    assert "-> 9 states, 9 edges" in hrm.err
    assert hrm("minimize", tmp_path / "flat.yaml") == 0
    assert len(loads(hrm.out)["book"].states) == 8
    assert hrm("flatten", "craftworld/book", "--minimize", "--json") == 0
    assert equivalent(loads(hrm.out), find("craftworld/book"))
    assert hrm("minimize", "craftworld/book", "--labels", "singletons") == 0
    assert equivalent(loads(hrm.out), find("craftworld/book"), labels=[[], ["sugarcane"], ["rabbit"], ["workbench"]])


def test_equivalent_answers_with_its_exit_status(hrm: Hrm, tmp_path: Path) -> None:
    save(find("craftworld/book"), tmp_path / "a.yaml")
    assert hrm("equivalent", tmp_path / "a.yaml", "craftworld/book") == 0
    assert "equivalent on all labels" in hrm.out
    assert hrm("equivalent", "figures/book", "craftworld/book") == 1
    assert hrm.out.startswith("different: {rabbit, sugarcane}")
    assert "figures/book: accept" in hrm.out
    assert hrm("equivalent", "figures/book", "craftworld/book", "--labels", "singletons", "--events") == 0
    answer = hrm.json("equivalent", "figures/book", "craftworld/book")
    assert isinstance(answer, dict)
    assert answer["equivalent"] is False
    assert answer["verdicts"] == ["accept", "neither"]
    assert hrm("equivalent", "figures/book", "nowhere.yaml") == 2


def test_draw_and_export(hrm: Hrm, tmp_path: Path) -> None:
    for name in ("book.svg", "book.png", "book.dot", "book.mmd"):
        assert hrm("draw", "craftworld/book", "-o", tmp_path / name) == 0
    ElementTree.parse(tmp_path / "book.svg")
    assert (tmp_path / "book.png").read_bytes().startswith(b"\x89PNG")
    assert hrm("export", "craftworld/book", "--to", "dot") == 0
    assert hrm.out.startswith("digraph")
    assert hrm("export", "craftworld/book", "--to", "mermaid") == 0
    assert hrm("export", "craftworld/book", "--to", "asp", "--trace", BOOK_TRACE) == 0
    assert "label(" in hrm.out
    assert hrm("export", "craftworld/book", "--to", "hoa") == 2
    assert "flatten" in hrm.err
    assert hrm("export", "figures/book-flat", "--to", "hoa", "-o", tmp_path / "book.hoa") == 0
    assert hrm("equivalent", tmp_path / "book.hoa", "figures/book") == 0


def test_stats_knows_the_flat_size_of_what_cannot_be_built(hrm: Hrm) -> None:
    answer = hrm.json("stats", "exponential/60")
    assert isinstance(answer, dict)
    assert answer["hierarchy"] == {"states": 180, "edges": 120}
    assert answer["flat"] == {"states": 2**60 + 1, "edges": 2**60}
    assert hrm("stats", "craftworld/cake") == 0
    assert "milk-bucket-sugar" in hrm.out
    assert hrm("flatten", "exponential/60") == 2
    assert "are not built" in hrm.err


def test_the_library_is_listed_and_printed(hrm: Hrm) -> None:
    assert hrm("library") == 0
    assert "craftworld/milk-bucket-sugar" in hrm.out
    assert hrm("library", "waterworld/rgb&cmy+black") == 0
    assert loads(hrm.out) == find("waterworld/rgb&cmy+black")
    listed = hrm.json("library")
    assert isinstance(listed, list)
    assert "figures/book" in listed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["check", "nowhere"], "nowhere: no such file; `hrm library` lists"),
        (["check", "craftworld/bok"], "did you mean 'book'?"),
        (["check", "."], "Is a directory"),
        (["compile", "a &"], "task, character 4: expected a proposition"),
        (["compile", "a", "--task", "b"], "write NAME=EXPR"),
        (["compile", "a", "-o", "no/such/folder/a.yaml"], "No such file or directory"),
        (["run", "craftworld/book", "--trace", "sugarcan"], "did you mean 'sugarcane'?"),
        (["run", "craftworld/book", "--trace", "{"], "labels are separated by spaces"),
        (["run", "craftworld/book", "--trace", "missing.jsonl"], "missing.jsonl: No such file"),
        (["draw", "craftworld/book", "-o", "book.bmp"], ".svg"),
        (["export", "craftworld/book", "--to", "dot", "--trace", "iron"], "--trace goes with --to asp only"),
        (["minimize", "craftworld/book", "--labels", "a &"], "formula, character 4"),
        (["flatten", "figures/none"], "there is no figure 'none'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value[:20],
)
def test_mistakes_get_one_line_and_exit_status_2(hrm: Hrm, arguments: list[str], message: str) -> None:
    assert hrm(*arguments) == 2
    assert hrm.out == ""
    assert hrm.err.startswith("hrm: ")
    assert message in hrm.err
    assert len(hrm.err.splitlines()) == 1
    assert "Traceback" not in hrm.err


@pytest.mark.parametrize(
    "arguments", [[], ["frobnicate"], ["chek", "a"], ["check"], ["export", "a", "--to", "pdf"], ["draw", "a"]]
)
def test_unknown_commands_and_missing_arguments_exit_with_status_2(hrm: Hrm, arguments: list[str]) -> None:
    assert hrm(*arguments) == 2
    assert "Traceback" not in hrm.err + hrm.out


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    command = f"{sys.executable} -m rewardmachines library craftworld/cake | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert result.stdout.startswith("propositions:")
    assert result.stderr == ""


def test_play_acts_and_films(hrm: Hrm, tmp_path: Path) -> None:
    film = tmp_path / "film.gif"
    assert hrm("play", "craftworld", "--task", "book", "--instance", 3, "--steps", 60, "--gif", film) == 0
    assert "verdict: neither after 60 steps" in hrm.out
    assert film.read_bytes().startswith(b"GIF8")
    assert hrm("play", "waterworld", "--setting", "wd", "--task", "rgb&cmy", "--png", tmp_path / "box.png") == 0
    assert (tmp_path / "box.png").read_bytes().startswith(b"\x89PNG")
    own = tmp_path / "own.yaml"
    assert hrm("compile", "iron | cow | table", "-o", own) == 0
    assert hrm("play", "craftworld", "--task", own, "--random") == 0
    assert "verdict: accept" in hrm.out


def test_keys_move_the_agent_in_a_terminal() -> None:
    """A real terminal: what is typed acts, the grid and the hierarchy are shown, and q leaves."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rewardmachines", "play", "craftworld", "--task", "book"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as player:
        os.close(theirs)
        shown = ""
        keys = iter(["w", "d", "\x1b[A", "r", "q"])
        while select.select([ours], [], [], 60)[0]:
            try:
                got = os.read(ours, 65536).decode(errors="replace")
            except OSError:
                break
            shown += got
            if "q: leave" in got and (key := next(keys, None)):
                os.write(ours, key.encode())
        assert player.wait(60) == 0
    os.close(ours)
    assert "task: book" in shown
    assert "step 3" in shown
    assert "w/↑ forward" in shown
    assert "█ wall, · floor, I iron, T table" in shown


def test_labels_reports_what_occurs(hrm: Hrm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hrm("labels", "rewardmachines/CraftWorld-OP-v0", "--episodes", 3, "--max-steps", 50) == 0
    assert "3 episodes" in hrm.out
    answer = hrm.json(
        "labels", "rewardmachines/CraftWorld-OP-v0", "--episodes", 1, "--max-steps", 2, "--hierarchy", "craftworld/cake"
    )
    assert isinstance(answer, dict)
    assert answer["steps"] == 3
    assert "table" in answer["needed_but_never_seen"]
    (tmp_path / "mine.py").write_text(
        "import gymnasium\n"
        "from rewardmachines.envs import LabelingWrapper\n"
        "def make():\n"
        "    lake = gymnasium.make('FrozenLake-v1')\n"
        "    labels = lambda cell: {'start'} if cell == 0 else set()\n"
        "    return LabelingWrapper(lake, labels=labels, propositions=['start'])\n"
    )
    monkeypatch.chdir(tmp_path)
    assert hrm("labels", "mine:make", "--episodes", 2) == 0
    assert "{start}" in hrm.out
    assert hrm("labels", "mine:made") == 2
    assert "the environment cannot be found as mine:made (AttributeError: " in hrm.err
    assert hrm("labels", "FrozenLake-v1") == 2
    assert "is not labelled" in hrm.err
    assert hrm("labels", "Nowhere-v0") == 2
    assert hrm("play", "craftworld", "--task", "boook") == 2
    assert "did you mean 'book'" in hrm.err
    assert hrm("play", "craftworld", "--instance", 11) == 2


def test_traces_are_recorded_and_a_machine_is_learned_from_them(hrm: Hrm, tmp_path: Path) -> None:
    traces, found = tmp_path / "traces.jsonl", tmp_path / "bucket.yaml"
    assert hrm("traces", "craftworld", "--task", "bucket", "--episodes", 40, "-o", traces) == 0
    assert "goal" in hrm.err
    assert hrm("induce", "--traces", traces, "-o", found, "--name", "bucket") == 0
    assert "3 states, 2 edges" in hrm.err
    assert "refuted: 2 states" in hrm.err
    assert hrm("equivalent", found, "craftworld/bucket", "--labels", "singletons", "--events") == 0
    answer = hrm.json("induce", "--traces", traces)
    assert isinstance(answer, dict)
    assert (answer["result"], answer["states"], answer["refuted"]) == ("learned", 3, [2])
    assert loads(json.dumps(answer["machine"]))


def test_callables_come_from_files_patterns_and_the_library(hrm: Hrm, tmp_path: Path) -> None:
    for name in ("paper", "leather"):
        save(find(f"craftworld/{name}"), tmp_path / f"{name}.yaml")
    goals = [
        Trace(tuple(frozenset({p}) for p in word.split()), Outcome.GOAL)
        for word in ("sugarcane workbench rabbit workbench table", "rabbit workbench sugarcane workbench table")
    ]
    save_traces(goals, tmp_path / "goals.jsonl")
    assert (
        hrm("induce", "--traces", tmp_path / "goals.jsonl", "--callable", tmp_path / "*.yaml", "--max-states", 3) == 0
    )
    assert loads(hrm.out).height <= 2
    assert hrm("induce", "--traces", tmp_path / "goals.jsonl", "--callable", "craftworld/paper", "--max-states", 2) in (
        0,
        1,
    )
    assert hrm("induce", "--traces", tmp_path / "goals.jsonl", "--callable", tmp_path / "*.yml") == 2
    assert "no file matches" in hrm.err


def test_learning_tasks_are_exported_for_ilasp(hrm: Hrm, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    save_traces([Trace((frozenset({"iron"}), frozenset({"table"})), Outcome.GOAL)], path)
    assert hrm("export", "--to", "ilasp", "--traces", path, "--callable", "craftworld/bucket", "--states", 3) == 0
    assert "#pos(" in hrm.out
    assert hrm("export", "--to", "ilasp") == 2
    assert "takes --traces" in hrm.err


def test_what_cannot_be_learned_exits_with_1_or_2(hrm: Hrm, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    save_traces([Trace((frozenset({"a"}),), Outcome.GOAL), Trace((frozenset({"b"}),), Outcome.GOAL)], path)
    assert hrm("induce", "--traces", path, "--max-states", 2) == 1
    assert "no machine of up to 2 states" in hrm.err
    assert hrm("induce", "--traces", path, "--max-states", 2, "--disjuncts", 2) == 0
    save_traces([Trace((frozenset({"a"}),), Outcome.GOAL), Trace((frozenset({"a"}), frozenset()))], path)
    assert hrm("induce", "--traces", path) == 2
    assert "is a prefix of the incomplete trace" in hrm.err
    path.write_text("")
    assert hrm("induce", "--traces", path) == 2
    assert "there are no traces" in hrm.err
