"""The authors' own hierarchies: of the sizes that were counted in their code, and equivalent to ours."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import REJECTING
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import size
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.library import find, names, task_set
from rewardmachines.traces import singletons

GOLDEN = Path(__file__).parents[1] / "golden" / "authors_hierarchies.csv"
ROWS = list(csv.DictReader(GOLDEN.read_text().splitlines()))
NESTED = [row for row in ROWS if row["flat"] == "no"]
FLAT = [row for row in ROWS if row["flat"] == "yes" and row["task"].startswith("craftworld")]
"""The authors' flat machines of WaterWorld are not the smallest."""


def has_dead_ends(row: dict[str, str]) -> bool:
    return row["dead_ends"] == "yes"


def authors(row: dict[str, str]) -> Hierarchy:
    dead_end = task_set(row["task"].partition("/")[0]).dead_end
    return find(f"{row['task']}@published{f'+{dead_end}' if has_dead_ends(row) else ''}")


def shown(row: dict[str, str]) -> str:
    return f"{row['task']}{'+' if has_dead_ends(row) else ''}"


@pytest.mark.parametrize("row", NESTED, ids=shown)
def test_sizes_are_those_that_were_counted(row: dict[str, str]) -> None:
    tree = authors(row)
    root = tree[tree.root]
    states = {state for edge in root.edges for state in (edge.source, edge.target)}
    disjuncts = {(edge.callee, disjunct) for edge in root.edges for disjunct in edge.formula.disjuncts}
    assert (tree.height, len(tree.reachable())) == (int(row["height"]), int(row["machines"]))
    assert (len(states), len(root.edges)) == (int(row["root_states"]), int(row["root_edges"]))
    assert len(disjuncts) == int(row["root_options"])
    assert (REJECTING in states) == (row["root_rejects"] == "yes")
    assert not check_determinism(tree)


@pytest.mark.parametrize("row", NESTED, ids=shown)
def test_they_say_what_ours_say(row: dict[str, str]) -> None:
    domain, dead_ends = task_set(row["task"].partition("/")[0]), has_dead_ends(row)
    ours = domain.hierarchy(row["task"].partition("/")[2], dead_ends=dead_ends)
    labels = domain.labels(dead_ends=dead_ends)
    if labels is None:  # labels of two colours may be told apart by who begins first
        labels = singletons(domain.all_propositions(dead_ends=dead_ends))
    assert difference(authors(row), ours, labels=labels, events=True) is None


@pytest.mark.parametrize("row", FLAT, ids=shown)
def test_flat_ones_in_craftworld_are_the_smallest(row: dict[str, str]) -> None:
    labels = task_set("craftworld").labels(dead_ends=has_dead_ends(row))
    flat = minimize(flatten(authors(row)), labels=labels)
    assert size(flat).states == int(row["root_states"])


def test_states_that_only_call_leave_rejecting_to_the_callee() -> None:
    ours, theirs = find("craftworld/book-quill+lava"), find("craftworld/book-quill@published+lava")
    assert REJECTING in ours[ours.root].states
    assert REJECTING not in theirs[theirs.root].states
    assert verdict(theirs, [{"lava"}]) is Verdict.REJECT


def test_they_are_found_by_name_and_only_where_there_are_any() -> None:
    assert {"craftworld/book@published", "waterworld/rg&bc@published+black"} <= set(names())
    assert task_set("craftworld").task_name("MilkB.Sugar@Published") == "milk-bucket-sugar@published"
    with pytest.raises(RewardMachineError, match="CraftWorld has no task 'bok'; did you mean 'book'"):
        find("craftworld/bok@published")
