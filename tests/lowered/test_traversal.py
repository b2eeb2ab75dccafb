from __future__ import annotations

from collections.abc import Collection

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paper import recorded, recorded_hierarchy
from rewardmachines.core.errors import NondeterminismError, RewardMachineError, TooLargeError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import HierarchyState, traverse, verdict_of
from rewardmachines.library import CRAFTWORLD, domain, task
from rewardmachines.lowered import Capacity, LabelBits, Tables, capacity_for, initial_state, lift, lower, step, verdict
from rewardmachines.lowered.traversal import VERDICTS, State
from strategies import ALL_LABELS, PROPOSITIONS, hierarchies

# One shape for every random hierarchy, so that everything below compiles once.
ROOM = Capacity(machines=6, states=8, chains=256, depth=5, edges=16, disjuncts=32)
LENGTH, BATCH = 12, 4


@jax.jit
def walks(tables: Tables, labels: jax.Array, root: int) -> tuple[State, jax.Array]:
    """Every state and verdict of a batch of traces."""

    def walk(word: jax.Array) -> tuple[State, jax.Array]:
        def body(state: State, label: jax.Array) -> tuple[State, tuple[State, jax.Array]]:
            after = step(tables, state, label)
            return after, (after, verdict(tables, after))

        _, seen = jax.lax.scan(body, initial_state(tables, root), word)
        return seen

    return jax.vmap(walk)(labels)


words = st.lists(st.sampled_from(ALL_LABELS), min_size=LENGTH, max_size=LENGTH)


batches = st.lists(words, min_size=BATCH, max_size=BATCH)


@settings(max_examples=80)
@given(st.one_of(hierarchies(), hierarchies(max_height=6), hierarchies(contextual=True)), batches)
def test_lowered_hierarchies_walk_every_trace_like_the_core(tree: Hierarchy, batch: list[list[Label]]) -> None:
    check_walks(tree, batch)


@settings(max_examples=60)
@given(hierarchies(max_height=3, many_disjuncts=True), batches)
def test_however_many_disjuncts_there_are_those_satisfied_are_kept(tree: Hierarchy, batch: list[list[Label]]) -> None:
    check_walks(tree, batch)


def check_walks(tree: Hierarchy, batch: list[list[Label]]) -> None:
    """The lowered hierarchy is where the core is after every label, with the same calls on its stack."""
    assume(ROOM.covers(capacity_for(tree)))
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    codes = np.stack([lowered.bits.encode_all(word) for word in batch])
    states, verdicts = jax.tree.map(np.asarray, walks(lowered.tables, jnp.asarray(codes), root=lowered.root))
    for b, word in enumerate(batch):
        for t, expected in enumerate(list(traverse(tree, word))[1:]):
            there = State(*(field[b, t] for field in states))
            assert lift(lowered, tree, there) == expected
            assert VERDICTS[verdicts[b, t]] is verdict_of(tree, expected)


def after(tree: Hierarchy, *word: Collection[str]) -> HierarchyState:
    """Where the lowered hierarchy is after the labels; the core must agree."""
    lowered = lower(tree)
    there = initial_state(lowered.tables, lowered.root)
    for label in word:
        there = step(lowered.tables, there, jnp.asarray(lowered.bits.encode(label)))
    *_, expected = traverse(tree, word)
    assert lift(lowered, tree, there) == expected
    return expected


@pytest.mark.parametrize("label", [{"p00"}, {"p15"}, {"p16"}, {"p31"}, {"p15", "p16"}, {f"p{i:02}" for i in range(32)}])
def test_each_of_32_disjuncts_is_kept_while_a_call_runs(label: set[str]) -> None:
    names = [f"p{i:02}" for i in range(32)]
    callee = machine("n", [("u0", "u1", "true"), ("u1", "uA", "p00 & p31")])
    tree = hierarchy(machine("m", [("u0", "uA", " | ".join(names), "n")]), callee, propositions=names)
    (call,) = after(tree, label).stack
    assert {str(d) for d in call.formula.disjuncts} == label


def test_the_initial_state_need_not_be_the_first_of_its_machine() -> None:
    inner = machine("n", [("u0", "u1", "a"), ("u1", "uA", "b")], states=["uA", "u1", "u0"])
    outer = machine("m", [("u0", "uA", "true", "n"), ("u1", "uA", "a")], states=["u1", "uA", "u0"])
    root = machine("r", [("u0", "u1", "true", "m"), ("u1", "uA", "c")], states=["u1", "u0", "uA"])
    tree = hierarchy(root, outer, inner)
    assert [call.source for call in after(tree, {"a"}).stack] == ["u0", "u0"]
    assert after(tree, {"a"}, {"b"}) == HierarchyState("r", "u1")
    assert after(tree, {"a"}, {"b"}, {"c"}) == HierarchyState("r", "uA")


def test_recorded_traversals_are_reproduced() -> None:
    entries = [e for e in recorded("traversal.json.gz") if e["domain"] == CRAFTWORLD]
    trees = [recorded_hierarchy(e) for e in entries]
    needed = [capacity_for(t) for t in trees]
    room = Capacity(*(max(getattr(n, f) for n in needed) for f in Capacity.__dataclass_fields__))
    names = domain(CRAFTWORLD).all_propositions(dead_ends=True)
    walk = jax.jit(_states)
    for entry, tree in zip(entries, trees, strict=True):
        lowered = lower(tree, propositions=names, capacity=room)
        longest = max(len(trace["labels"]) for trace in entry["traces"])
        padded = [[*trace["labels"], *([[]] * (64 - len(trace["labels"])))] for trace in entry["traces"]]
        assert longest <= 64
        codes = np.stack([lowered.bits.encode_all(word) for word in padded])
        verdicts = np.asarray(walk(lowered.tables, jnp.asarray(codes), lowered.root))
        for trace, said in zip(entry["traces"], verdicts, strict=True):
            expected = [v.replace("none", "neither") for v in trace["verdicts"]]
            assert [VERDICTS[v].value for v in said[: len(expected)]] == expected


def _states(tables: Tables, labels: jax.Array, root: int) -> jax.Array:
    def walk(word: jax.Array) -> jax.Array:
        def body(state: State, label: jax.Array) -> tuple[State, jax.Array]:
            after = step(tables, state, label)
            return after, verdict(tables, after)

        return jax.lax.scan(body, initial_state(tables, root), word)[1]

    return jax.vmap(walk)(labels)


def test_a_changed_machine_compiles_nothing_anew() -> None:
    compiled = 0

    def counted(tables: Tables, state: State, label: jax.Array) -> State:
        nonlocal compiled
        compiled += 1
        return step(tables, state, label)

    run = jax.jit(counted)
    room = Capacity(machines=8, states=8, chains=8, depth=4, edges=8, disjuncts=4)
    known = domain(CRAFTWORLD)
    for name in known.tasks:
        lowered = lower(task(CRAFTWORLD, name), propositions=known.propositions, capacity=room)
        label = jnp.asarray(lowered.bits.encode({"iron"}))
        run(lowered.tables, initial_state(lowered.tables, lowered.root), label)
    assert compiled == 1


def test_several_tasks_share_their_machines() -> None:
    known = domain(CRAFTWORLD)
    trees = [task(CRAFTWORLD, name) for name in known.tasks]
    lowered = lower(trees)
    assert len(lowered.machines) == len(trees) == 13
    assert [lowered.machines[r] for r in lowered.roots] == list(known.tasks)


def test_more_than_32_propositions_take_more_words() -> None:
    names = tuple(f"p{i}" for i in range(60))
    bits = LabelBits(names)
    assert bits.words == 2
    label = frozenset({"p0", "p31", "p32", "p59"})
    assert bits.decode(bits.encode(label)) == label
    tree = hierarchy(machine("m", [("u0", "uA", "p59 & p3 & !p40")]), propositions=names)
    lowered = lower(tree)
    start = initial_state(lowered.tables, lowered.root)
    for said, word in ((0, {"p59", "p3"}), (2, {"p59", "p3", "p40"}), (2, {"p3"})):
        after = step(lowered.tables, start, jnp.asarray(bits.encode(word)))
        assert int(verdict(lowered.tables, after)) == said


def test_what_cannot_be_lowered_says_why() -> None:
    with pytest.raises(NondeterminismError, match="starts both"):
        lower(hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "u1", "b")])))
    with pytest.raises(TooLargeError, match="larger capacity"):
        lower(task(CRAFTWORLD, "cake"), capacity=Capacity())
    one, other = machine("n", [("u0", "uA", "a")]), machine("n", [("u0", "uA", "b")])
    roots = [hierarchy(machine(r, [("u0", "uA", "true", "n")]), n) for r, n in (("x", one), ("y", other))]
    with pytest.raises(RewardMachineError, match="two different machines are called 'n'"):
        lower(roots)
    with pytest.raises(RewardMachineError, match="'a' has no bit"):
        lower(hierarchy(one), propositions=["b"])


def test_capacities_grow_by_doubling() -> None:
    small = Capacity(machines=4, states=4)
    assert small.grown(Capacity(machines=5, states=3)) == Capacity(machines=8, states=4)
    assert small.grown(Capacity(machines=17)).machines == 32
