"""Commands that record traces, and learn machines from them."""

from __future__ import annotations

import json
from pathlib import Path

from cli.commands import Hrm
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.files import loads, save, save_traces
from rewardmachines.library import find
from rewardmachines.traces import Outcome, Trace


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


def test_wrong_traces_are_named_and_given_up(hrm: Hrm, tmp_path: Path) -> None:
    path, iron, table = tmp_path / "traces.jsonl", frozenset({"iron"}), frozenset({"table"})
    right = [Trace((iron, table), Outcome.GOAL)] * 12 + [Trace((table, iron))] * 4 + [Trace((iron,))] * 4
    save_traces([*right, Trace((table, iron), Outcome.GOAL)], path)
    assert hrm("induce", "--traces", path) == 2
    assert "line 21" in hrm.err
    assert "at least one trace would have to be wrong" in hrm.err
    assert hrm("induce", "--traces", path, "--noise", "0.05") == 0
    assert "given up: <{table} {iron}> goal" in hrm.err
    assert verdict(loads(hrm.out), (iron, table)) is Verdict.ACCEPT
    answer = hrm.json("induce", "--traces", path, "--noise", "0.05")
    assert isinstance(answer, dict)
    assert (answer["noise"]["mistakes"], answer["noise"]["plausible"]) == (1, True)
    assert (answer["noise"]["certified"], answer["noise"]["bounds"]) == (False, [])
    assert "not proved to be the smallest" in hrm.err
    answer = hrm.json("induce", "--traces", path, "--noise", "0.05", "--certify")
    assert isinstance(answer, dict)
    assert answer["noise"]["certified"]
    assert [(bound["states"], bound["mistakes"] > 1) for bound in answer["noise"]["bounds"]] == [(2, True)]
    assert "1 of 21 traces given up" in hrm.err
    assert "; proved to be the smallest with so few mistakes" in hrm.err
    assert hrm("induce", "--traces", path, "--certify") == 2
    assert "certify goes with noise" in hrm.err
    assert hrm("induce", "--traces", path, "--noise", "0.7") == 2
    assert "share" in hrm.err


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


def test_traces_that_contradict_each_other_are_named_with_their_lines(hrm: Hrm, tmp_path: Path) -> None:
    a, b = (tmp_path / name for name in ("a.jsonl", "b.jsonl"))
    goal, more = '{"outcome": "goal", "labels": [["x"]]}', '{"outcome": "goal", "labels": [["x"], ["y"]]}'
    a.write_text(f'\n{{"outcome": "goal", "labels": [["z"]]}}\n{goal}\n')
    b.write_text(f"{more}\n")
    for command in (("induce",), ("export", "--to", "ilasp")):
        assert hrm(*command, "--traces", a, "--traces", b) == 2
        assert f"{a}, line 3" in hrm.err
        assert f"{b}, line 1" in hrm.err
        assert "prefix" in hrm.err
    b.write_text('{"outcome": "dead_end", "labels": [["x"]]}\n')
    assert hrm("induce", "--traces", a, "--traces", b) == 2
    assert f"{a}, line 3" in hrm.err
    assert f"{b}, line 1" in hrm.err


def test_incomplete_traces_alone_are_refused(hrm: Hrm, tmp_path: Path) -> None:
    """Otherwise a machine would be invented: no machine that never accepts has to explain anything."""
    (tmp_path / "t.jsonl").write_text('{"outcome": "incomplete", "labels": [["a"], ["b"]]}\n')
    assert hrm("induce", "--traces", tmp_path / "t.jsonl", "-o", tmp_path / "m.yaml") == 2
    assert "goal" in hrm.err
    assert not (tmp_path / "m.yaml").exists()
