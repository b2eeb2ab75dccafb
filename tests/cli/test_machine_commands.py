"""Commands that write, check, run, transform, compare and draw machines, as a person would type them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from cli.commands import Hrm
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.files import load, loads, save, save_traces
from rewardmachines.language import compile_task
from rewardmachines.library import find
from rewardmachines.traces import Outcome, Trace

BOOK_TRACE = "sugarcane workbench {} rabbit workbench table"


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


def test_compile_tells_which_labels_a_tie_leaves_without_effect(hrm: Hrm) -> None:
    assert hrm("compile", "a & b", "--name", "both") == 0
    assert "'a & b' are ignored" in hrm.err
    assert "--tie" in hrm.err
    assert hrm("compile", "a & b", "--tie", "left") == 0
    assert "ignored" not in hrm.err
    assert hrm("compile", "a | b") == 0
    assert "ignored" not in hrm.err


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


def test_run_says_what_moved_the_hierarchy(hrm: Hrm, tmp_path: Path) -> None:
    """As in environments only events do with --events; where that makes a difference, both verdicts are printed."""
    twice = tmp_path / "twice.yaml"
    save(compile_task("a ; a"), twice)
    assert hrm("run", twice, "--trace", "{} a a") == 0
    assert "every label" in hrm.out
    assert "verdict: accept" in hrm.out
    assert "with --events: neither" in hrm.out
    assert hrm("run", twice, "--trace", "{} a a", "--events") == 0
    assert "events" in hrm.out
    assert "verdict: neither" in hrm.out
    assert "without --events: accept" in hrm.out
    assert hrm("run", twice, "--trace", "a {} a") == 0
    assert "--events: " not in hrm.out
    for flags, events, said in (((), False, "accept"), (("--events",), True, "neither")):
        answer = hrm.json("run", twice, "--trace", "{} a a", *flags)
        assert isinstance(answer, list)
        assert [(run["events"], run["verdict"], len(run["states"])) for run in answer] == [(events, said, 4)]


def test_run_judges_files_by_events_if_asked_to(hrm: Hrm, tmp_path: Path) -> None:
    twice, traces = tmp_path / "twice.yaml", tmp_path / "traces.jsonl"
    save(compile_task("a ; a"), twice)
    a = frozenset("a")
    save_traces([Trace((a, a)), Trace((a, frozenset(), a), Outcome.GOAL)], traces)
    assert hrm("run", twice, "--trace", traces) == 1
    assert "every label" in hrm.out
    assert hrm("run", twice, "--trace", traces, "--events") == 0


def test_draw_follows_events_if_asked_to(hrm: Hrm, tmp_path: Path) -> None:
    save(compile_task("a ; a"), tmp_path / "twice.yaml")
    pictures = []
    for trace, *flags in (("a",), ("a a",), ("a a", "--events")):
        assert hrm("draw", tmp_path / "twice.yaml", "-o", tmp_path / "x.svg", "--trace", trace, *flags) == 0
        pictures.append((tmp_path / "x.svg").read_text())
    assert pictures[0] == pictures[2] != pictures[1]


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
    assert "events" in hrm.out
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
