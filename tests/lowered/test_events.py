"""A hierarchy moves only when the label changes, and verdicts, their numbers and outcomes belong together."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from rewardmachines.core import traversal
from rewardmachines.core.events import is_event
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.core.traversal import initial_state as core_initial_state
from rewardmachines.lowered import LoweredHierarchy, VerdictCode, initial_state, lift, lower, move_on_event, step
from rewardmachines.lowered import verdict as lowered_verdict
from rewardmachines.traces import Outcome, compress

LOW = machine("low", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u1", "uR", "c & !b")])
TREE = hierarchy(machine("high", [("u0", "u1", "true", "low"), ("u1", "uA", "a")]), LOW)


@pytest.mark.parametrize("word", ["a", "ab", "aab", "abba", "aabbaa", "aba", "aacc", " a bb  a", "bbaa", "a a"])
def test_moving_on_events_is_stepping_through_the_compressed_trace(word: str) -> None:
    lowered = lower(TREE)
    labels = [frozenset(letter.strip()) for letter in word]
    before, *others = (jnp.asarray(lowered.bits.encode(label)) for label in labels)
    state, count = step(lowered.tables, initial_state(lowered.tables, lowered.root), before), 1
    for label in others:
        move = move_on_event(lowered.tables, state, before, label)
        count += int(move.is_event)
        before, state = label, move.after
    assert count == len(compress(labels))
    assert VerdictCode(int(lowered_verdict(lowered.tables, state))).verdict is verdict(TREE, compress(labels))


@pytest.mark.parametrize("word", ["aabbaa", "abba", "aacc", " a bb  a"])
def test_arrays_and_the_core_move_on_the_same_events_to_the_same_states(word: str) -> None:
    lowered = lower(TREE)
    first, *others = (frozenset(letter.strip()) for letter in word)
    core = traversal.move_on_event(TREE, core_initial_state(TREE), None, first)
    state = step(lowered.tables, initial_state(lowered.tables, lowered.root), bits(lowered, first))
    before = first
    for label in others:
        move = move_on_event(lowered.tables, state, bits(lowered, before), bits(lowered, label))
        core = traversal.move_on_event(TREE, core, before, label)
        assert bool(move.is_event) is is_event(before, label)
        assert lift(lowered, TREE, move.after) == core
        before, state = label, move.after


def bits(lowered: LoweredHierarchy, label: Label) -> jax.Array:
    return jnp.asarray(lowered.bits.encode(label))


def test_calls_that_return_at_once_are_seen_as_begun() -> None:
    one = hierarchy(machine("high", [("u0", "uA", "true", "low")]), machine("low", [("u0", "uA", "a")]))
    lowered = lower(one)
    nothing, label = (jnp.asarray(lowered.bits.encode(some)) for some in ("", "a"))
    start = initial_state(lowered.tables, lowered.root)
    move = move_on_event(lowered.tables, start, nothing, label)
    assert (int(move.called.depth), int(move.after.depth)) == (1, 0)
    still = move_on_event(lowered.tables, start, label, label)
    assert (int(still.called.depth), int(still.after.depth), bool(still.is_event)) == (0, 0, False)


@pytest.mark.parametrize("said", Verdict)
def test_verdicts_their_numbers_and_outcomes_are_translated_there_and_back(said: Verdict) -> None:
    assert VerdictCode.of(said).verdict is said
    assert Outcome.of(said).verdict is said
    assert bool(jnp.int32(VerdictCode.of(said)) == VerdictCode.of(said))
