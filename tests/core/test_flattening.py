from __future__ import annotations

import pytest
from hypothesis import given

from paper import drawn, recorded, recorded_hierarchy
from rewardmachines.core.equivalence import difference, equivalent
from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import LEAF, RewardMachine, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.sizes import Size, flat_size, size
from rewardmachines.core.traversal import traverse, verdict_of
from rewardmachines.library import exponential_family
from strategies import hierarchies, words


def isomorphic(a: RewardMachine, b: RewardMachine) -> bool:
    """Whether renaming states turns one flat machine into the other, matching from the initial states outwards."""
    names = {a.initial: b.initial}
    queue = [a.initial]
    while queue:
        here = queue.pop()
        theirs = {(e.formula, e.callee): e.target for e in b.outgoing(names[here])}
        ours = {(e.formula, e.callee): e.target for e in a.outgoing(here)}
        if ours.keys() != theirs.keys():
            return False
        for key, target in ours.items():
            if target not in names:
                names[target] = theirs[key]
                queue.append(target)
            if names[target] != theirs[key]:
                return False
    same_kind = all(
        (s in a.accepting) == (t in b.accepting) and (s in a.rejecting) == (t in b.rejecting) for s, t in names.items()
    )
    return same_kind and len(names) == len(a.states) == len(b.states) == len(set(names.values()))


def test_flattening_book_gives_the_drawn_machine() -> None:
    flat = flatten(drawn("craftworld_book_nonflat"))
    assert size(flat) == Size(9, 9)
    assert isomorphic(flat["M0"], drawn("flattening_without_compression")["M0"])


def test_compressing_it_gives_the_flat_book() -> None:
    smallest = minimize(flatten(drawn("craftworld_book_nonflat")))
    assert size(smallest) == Size(8, 8)
    assert isomorphic(smallest["M0"], drawn("craftworld_book_flat")["M"])
    assert isomorphic(smallest["M0"], drawn("flattening_with_compression")["M0"])


def test_the_preliminary_transformation_keeps_the_context_off_later_visits() -> None:
    flat = flatten(drawn("transformation_a"))
    assert isomorphic(flat["M0"], drawn("transformation_d")["M0"])
    witness = difference(flat, drawn("transformation_b"))
    assert witness == ({"a"}, {"b"}, {"a", "c"}, {"c"})


@pytest.mark.parametrize("height", range(1, 9))
def test_the_exponential_family_has_the_printed_sizes(height: int) -> None:
    family = exponential_family(height)
    assert size(family) == Size(3 * height, 2 * height)
    assert flat_size(family) == size(flatten(family)) == Size(2**height + 1, 2**height)


def test_sizes_follow_theorem_2_where_hierarchies_do_not_help() -> None:
    machines = [machine("m1", [("u0", "uA", "a")])]
    machines += [machine(f"m{i}", [("u0", "uA", "true", f"m{i - 1}")]) for i in range(2, 7)]
    chain = hierarchy(*machines, root="m6")
    assert size(chain) == Size(12, 6)
    assert flat_size(chain) == size(flatten(chain)) == Size(2, 1)


@pytest.mark.parametrize(("height", "states", "edges"), [(1, 3, 4), (2, 7, 16), (3, 23, 64), (4, 87, 256)])
def test_sizes_follow_theorem_2_with_two_edges_from_each_state(height: int, states: int, edges: int) -> None:
    """N = 1, U = 3, E = 2: an upper bound, reached where no two edges join the same states."""

    def bounds(h: int) -> tuple[int, int]:
        if h == 1:
            return 3, 2 * 2
        lower_states, lower_edges = bounds(h - 1)
        return 3 + (lower_states - 2) * 2 * 2, 2 * 2 * lower_edges

    assert bounds(height) == (states, edges)
    machines = [machine("m1", [("u0", "u1", "a & !b"), ("u0", "uA", "b"), ("u1", "u0", "b & !a"), ("u1", "uA", "a")])]
    for i in range(2, height + 1):
        callee = f"m{i - 1}"
        edges_of = [
            ("u0", "u1", "c", callee),
            ("u0", "uA", "!c", callee),
            ("u1", "u0", "c", callee),
            ("u1", "uA", "!c", callee),
        ]
        machines.append(machine(f"m{i}", edges_of))
    tower = hierarchy(*machines, root=f"m{height}")
    assert flat_size(tower) == size(flatten(tower))


def test_what_would_be_too_large_is_not_built() -> None:
    with pytest.raises(TooLargeError, match="1,099,511,627,777 states"):
        flatten(exponential_family(40))


def test_formulas_that_land_on_the_same_states_are_ored() -> None:
    callee = machine("n", [("u0", "A1", "a & !b"), ("u0", "A2", "b & !a")], accepting=["A1", "A2"])
    root = machine("m", [("u0", "uA", "a & b"), ("u0", "uA", "true", "n")])
    flat = flatten(hierarchy(root, callee))
    assert size(flat) == Size(2, 1)
    assert len(flat["m"].edges[0].formula.disjuncts) == 3


def test_names_of_embedded_states_do_not_clash() -> None:
    callee = machine("n", [("u0", "u1", "a"), ("u1", "uA", "a")])
    root = machine("m", [("u0", "u1", "true", "n"), ("u1", "uA", "true", "n"), ("u1", "u0>u1/n/u1", "b & !a")])
    flat = flatten(hierarchy(root, callee))
    assert size(flat).states == len(set(flat["m"].states)) == 6
    assert equivalent(flat, hierarchy(root, callee))


@given(hierarchies(), words)
def test_flattening_preserves_the_verdict_of_every_prefix(tree: Hierarchy, word: list[Label]) -> None:
    flat = flatten(tree)
    assert flat.is_flat
    for deep, shallow in zip(traverse(tree, word), traverse(flat, word), strict=True):
        assert verdict_of(tree, deep) is verdict_of(flat, shallow)


@given(hierarchies())
def test_the_flat_size_is_known_without_building_it(tree: Hierarchy) -> None:
    assert flat_size(tree) == size(flatten(tree))


def test_recorded_hierarchies_are_equivalent_to_their_flat_forms() -> None:
    broken = 0
    for entry in [*recorded("traversal.json.gz"), *recorded("traversal_extra.json.gz")]:
        if any("error" in trace for trace in entry["traces"]):
            broken += 1
            continue
        tree = recorded_hierarchy(entry)
        flat = flatten(tree)
        assert equivalent(tree, flat)
        assert size(flat) == flat_size(tree)
        assert all(e.callee == LEAF for e in flat[flat.root].edges)
    assert broken == 4
