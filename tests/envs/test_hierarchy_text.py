"""Where a hierarchy stands is told in lines of text."""

from __future__ import annotations

from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import traverse
from rewardmachines.envs.hierarchy_text import progress_lines, stack_lines

LOW = machine("low", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u1", "uR", "c & !b")])
TREE = hierarchy(machine("high", [("u0", "u1", "true", "low"), ("u1", "uA", "a")]), LOW)
A, B, C = frozenset("a"), frozenset("b"), frozenset("c")


def test_calls_are_indented_and_what_moves_the_innermost_machine_follows() -> None:
    *_, state = traverse(TREE, [A])
    assert stack_lines(state) == ["high: u0 -> u1", "  low: u1"]
    lines = progress_lines(TREE, state, A)
    assert lines[:6] == ["task: high", "label: {a}", "", "high: u0 -> u1", "  low: u1", ""]
    assert lines[6] == "moves on"
    assert lines[7:] == ["  b", "  c & !b"]


def test_an_end_is_told_instead() -> None:
    *_, goal = traverse(TREE, [A, B, A])
    assert progress_lines(TREE, goal, A)[-1] == "GOAL"
    *_, dead_end = traverse(TREE, [A, C])
    assert progress_lines(TREE, dead_end, C)[-1] == "DEAD END"


def test_long_conditions_are_shortened() -> None:
    wide = hierarchy(machine("wide", [("u0", "uA", " | ".join("abcdefghijkl"))]))
    assert len(progress_lines(wide, next(traverse(wide, [])), A)) == len(["task", "label", "", "u0", "", "on"]) + 8
