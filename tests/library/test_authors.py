"""The authors' own hierarchies: of the sizes that were counted in their code, and equivalent to ours."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rewardmachines.agents.registry import CRM, FLAT_HRL, HRL
from rewardmachines.agents.setup import OptionPlan, prepare
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import REJECTING
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.sizes import Size, size
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.library import find, names, task_set

GOLDEN = Path(__file__).parents[1] / "golden" / "authors_hierarchies.csv"
ROWS = list(csv.DictReader(GOLDEN.read_text().splitlines()))
NESTED = [row for row in ROWS if row["flat"] == "no"]
FLAT = [row for row in ROWS if row["flat"] == "yes"]


def has_dead_ends(row: dict[str, str]) -> bool:
    return row["dead_ends"] == "yes"


def authors(row: dict[str, str]) -> Hierarchy:
    dead_end = task_set(row["task"].partition("/")[0]).dead_end
    flat = "-flat" if row["flat"] == "yes" else ""
    return find(f"{row['task']}@published{flat}{f'+{dead_end}' if has_dead_ends(row) else ''}")


def shown(row: dict[str, str]) -> str:
    return f"{row['task']}{' flat' if row['flat'] == 'yes' else ''}{'+' if has_dead_ends(row) else ''}"


@pytest.mark.parametrize("row", ROWS, ids=shown)
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


@pytest.mark.parametrize("row", ROWS, ids=shown)
def test_they_say_what_ours_say(row: dict[str, str]) -> None:
    domain, dead_ends = task_set(row["task"].partition("/")[0]), has_dead_ends(row)
    ours = domain.hierarchy(row["task"].partition("/")[2], dead_ends=dead_ends)
    assert difference(authors(row), ours, labels=domain.labels(dead_ends=dead_ends), events=True) is None


@pytest.mark.parametrize("row", FLAT, ids=shown)
def test_a_dead_end_is_one_option_of_flat_machines_and_ruled_out_by_all_others(row: dict[str, str]) -> None:
    flat = authors(row)
    domain = task_set(row["task"].partition("/")[0])
    disjuncts = {disjunct for edge in flat[flat.root].edges for disjunct in edge.formula.disjuncts}
    if domain.dead_end is not None and has_dead_ends(row):
        dead_end = frozenset({domain.dead_end})
        rejecting = {edge.formula for edge in flat[flat.root].edges if edge.target in flat[flat.root].rejecting}
        assert rejecting == {Formula(frozenset({Conjunction(dead_end)}))}
        assert all(disjunct.forbidden >= dead_end for disjunct in disjuncts - {Conjunction(dead_end)})


@pytest.mark.parametrize("row", FLAT, ids=shown)
def test_flat_hrl_has_the_options_and_formulas_of_the_authors_flat_machines(row: dict[str, str]) -> None:
    domain, dead_ends = task_set(row["task"].partition("/")[0]), has_dead_ends(row)
    propositions, labels = domain.all_propositions(dead_ends=dead_ends), domain.labels(dead_ends=dead_ends)
    for algorithm in (HRL, FLAT_HRL):
        plan = prepare(authors(row), algorithm, propositions, labels)
        assert isinstance(plan, OptionPlan)
        assert len(plan.option_set.outputs[plan.hierarchy.root]) == int(row["root_options"])
        assert len(plan.option_set.formulas) == int(row["formulas"])
        assert len(set(plan.slots.numbers.values())) == int(row["trained_formulas"])
        assert size(plan.hierarchy) == Size(int(row["root_states"]), int(row["root_edges"]))


@pytest.mark.parametrize("row", FLAT, ids=shown)
def test_crm_keeps_the_states_of_the_authors_flat_machines(row: dict[str, str]) -> None:
    domain, dead_ends = task_set(row["task"].partition("/")[0]), has_dead_ends(row)
    propositions, labels = domain.all_propositions(dead_ends=dead_ends), domain.labels(dead_ends=dead_ends)
    assert prepare(authors(row), CRM, propositions, labels).hierarchy == authors(row)


def test_states_that_only_call_leave_rejecting_to_the_callee() -> None:
    ours, theirs = find("craftworld/book-quill+lava"), find("craftworld/book-quill@published+lava")
    assert REJECTING in ours[ours.root].states
    assert REJECTING not in theirs[theirs.root].states
    assert verdict(theirs, [{"lava"}]) is Verdict.REJECT


def test_they_are_found_by_name_and_only_where_there_are_any() -> None:
    assert {"craftworld/book@published", "waterworld/rg&bc@published+black"} <= set(names())
    assert {"craftworld/book@published-flat+lava", "waterworld/rg&bc@published-flat"} <= set(names())
    assert task_set("craftworld").task_name("MilkB.Sugar@Published-Flat") == "milk-bucket-sugar@published-flat"
    assert task_set("craftworld").task_name("MilkB.Sugar@Published") == "milk-bucket-sugar@published"
    with pytest.raises(RewardMachineError, match="CraftWorld has no task 'bok'; did you mean 'book'"):
        find("craftworld/bok@published")
