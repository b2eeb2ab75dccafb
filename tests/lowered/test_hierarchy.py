"""How large tables can become, and that what is too large is refused before it is built."""

from __future__ import annotations

import time

import pytest

from rewardmachines.core.errors import TooLargeError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import RewardMachine, machine
from rewardmachines.library import find
from rewardmachines.library import names as library_names
from rewardmachines.lowered import Capacity, capacity_for, lower
from rewardmachines.lowered.chains import MAX_CHAINS, Chains


def doubling(height: int) -> Hierarchy:
    """Each machine calls the next under one of two conditions: 2 to the power of the height are the ways down."""
    last = machine(f"m{height}", [("u0", "uA", f"p{height} | q{height}")])
    calls = [machine(f"m{i}", [("u0", "uA", f"p{i} | q{i}", f"m{i + 1}")]) for i in range(1, height)]
    return hierarchy(*calls, last)


def test_as_many_chains_as_allowed_are_lowered_soon() -> None:
    begun = time.process_time()
    lowered = lower(doubling(13))
    assert lowered.capacity.chains == MAX_CHAINS == 8_192
    assert time.process_time() - begun < 10


@pytest.mark.parametrize("height", [14, 20, 150])
def test_more_chains_are_refused_with_their_number_before_any_table_is_made(height: int) -> None:
    tree = doubling(height)
    begun = time.process_time()
    with pytest.raises(
        TooLargeError, match=rf"'m{height - 13}', state 'u0': 16,384 .* at most 8,192 .* fewer disjuncts"
    ):
        lower(tree)
    assert time.process_time() - begun < 5


def test_chains_that_contradict_themselves_do_not_count() -> None:
    """Each call has 3 conditions, but what the first one fixed leaves only one of the others."""
    condition = "(a & !b & !c) | (b & !a & !c) | (c & !a & !b)"
    calls = [machine(f"m{i}", [("u0", "uA", condition, f"m{i + 1}")]) for i in range(1, 30)]
    tree = hierarchy(*calls, machine("m30", [("u0", "uA", condition)]))
    assert capacity_for(tree) == Capacity(machines=30, states=2, chains=3, depth=29, edges=1, disjuncts=3)
    assert lower(tree).capacity.chains == 3


def test_tables_that_would_fill_the_memory_are_refused_with_their_size() -> None:
    with pytest.raises(TooLargeError, match=r"the tables would take 10\.\d GiB, and at most 1 GiB .* split"):
        lower(wide(300), capacity=Capacity(machines=64, states=512, chains=8192, depth=2, edges=512, disjuncts=1))


def wide(count: int) -> Hierarchy:
    """A machine with so many states."""
    return hierarchy(machine("m", [*((f"u{i}", f"u{i + 1}", "a") for i in range(count)), (f"u{count}", "uA", "a")]))


def test_every_hierarchy_of_the_library_is_far_from_the_limit() -> None:
    for name in library_names():
        assert Chains(find(name)).most < MAX_CHAINS // 100


def test_the_chains_of_a_state_are_its_ways_down_to_the_leaf() -> None:
    callee: RewardMachine = machine("n", [("u0", "u1", "a"), ("u0", "uA", "b & !a"), ("u1", "uA", "c")])
    tree = hierarchy(machine("m", [("u0", "uA", "!a | c", "n")]), callee)
    found = {(str(chain.condition), len(chain.edges)) for chain in Chains(tree).of(tree["m"], "u0")}
    assert found == {("b & !a", 2), ("a & c", 2), ("b & c & !a", 2)}


def test_more_than_32_disjuncts_are_refused_with_their_number() -> None:
    names = [f"p{i:02}" for i in range(33)]
    assert lower(hierarchy(machine("m", [("u0", "uA", " | ".join(names[:32]))]))).capacity.disjuncts == 32
    with pytest.raises(TooLargeError, match="33 disjuncts, and at most 32 are lowered: write fewer"):
        lower(hierarchy(machine("m", [("u0", "uA", " | ".join(names))])))
