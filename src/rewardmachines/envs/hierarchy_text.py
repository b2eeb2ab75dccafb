"""Hierarchy states as lines of text, to be shown beside a picture."""

from __future__ import annotations

from typing import Final

from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import HierarchyState, Verdict, exit_condition, show_label, verdict_of
from rewardmachines.drawing.symbols import pretty

_MAX_DISJUNCTS: Final = 8
"""The number of disjuncts of an exit condition that are shown."""
ENDS: Final = {Verdict.ACCEPT: "GOAL", Verdict.REJECT: "DEAD END"}
"""The ends of episodes in words, by the verdict of the hierarchy."""


def stack_lines(state: HierarchyState) -> list[str]:
    """The calls from the root inwards, each further to the right, and the state of the innermost machine.

    >>> stack_lines(HierarchyState("book", "u1"))
    ['book: u1']
    """
    calls = [f"{'  ' * depth}{call.caller}: {call.source} -> {call.target}" for depth, call in enumerate(state.stack)]
    return [*calls, f"{'  ' * len(state.stack)}{state.machine}: {state.state}"]


def progress_lines(hierarchy: Hierarchy, state: HierarchyState, label: Label) -> list[str]:
    """The task, the label, where the hierarchy stands, and what would move it on, or how it ended.

    Args:
        hierarchy: The hierarchy of the task.
        state: The hierarchy state.
        label: The label that was observed last.
    """
    heading = [f"task: {hierarchy.root}", f"label: {show_label(label)}"]
    verdict = verdict_of(hierarchy, state)
    if verdict is not Verdict.NEITHER:
        return [*heading, "", *stack_lines(state), "", ENDS[verdict]]
    disjuncts = exit_condition(hierarchy, state.machine, state.state).ordered()[:_MAX_DISJUNCTS]
    return [*heading, "", *stack_lines(state), "", "moves on", *(f"  {disjunct}" for disjunct in disjuncts)]


def what_moves_on(hierarchy: Hierarchy, state: HierarchyState) -> str:
    """The exit condition of a hierarchy state in one line, in the notation of pictures."""
    return pretty(exit_condition(hierarchy, state.machine, state.state))
