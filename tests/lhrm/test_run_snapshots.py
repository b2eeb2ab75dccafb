"""Snapshots of LHRM: they hold all that is not on the device, and tables are the same whenever they are written."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

import rewardmachines as rm
from lhrm.room_runs import fresh
from lhrm.toy import LABELS
from rewardmachines.core.formula import Conjunction
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.run import LearnRun
from rewardmachines.lhrm.snapshot import Snapshot, restore, take_snapshot
from rewardmachines.runs.checkpoint import read_snapshot

pytestmark = pytest.mark.usefixtures("two_rooms_domain")


def test_a_snapshot_holds_all_that_is_not_on_the_device(rooms: LearnRun) -> None:
    path = rooms.folder / "checkpoint.safetensors"
    snapshot, run = read_snapshot(path, Snapshot), fresh()
    restore(run, snapshot, str(path))
    assert take_snapshot(run) == snapshot
    assert run.chance.random() != fresh().chance.random()
    assert sorted(run.registry.slots.values()) == list(range(len(run.registry.slots)))
    assert take_snapshot(fresh()) != snapshot


def test_tables_that_have_grown_keep_their_room(rooms: LearnRun) -> None:
    snapshot, run = read_snapshot(rooms.folder / "checkpoint.safetensors", Snapshot), fresh()
    grown = replace(
        snapshot, room=replace(snapshot.room, edges=64), option_room=replace(snapshot.option_room, slots=128)
    )
    restore(run, grown, "there")
    assert run.knowledge.options.is_active.shape == (128,)
    assert run.knowledge.tables.edge_required.shape[2] == 64


@pytest.mark.parametrize("way", Exploration)
def test_what_is_known_is_written_the_same_whenever_it_is_written(way: Exploration) -> None:
    """A formula that a new machine brings may take in one that a guide was after: the guide must know at once."""
    run = fresh()
    special, general = Conjunction(frozenset({"k"}), frozenset({"b"})), Conjunction(frozenset({"k"}))
    fetch, press = (
        rm.machine(name, [rm.Edge("u0", "uA", rm.Formula(frozenset({formula})))])
        for name, formula in (("fetch", special), ("press", general))
    )
    run.registry.see(LABELS)
    run.machines.pool = run.pool.with_machine(fetch)
    run.registry.write(run.pool, ["fetch"], way)
    run.machines.pool = run.pool.with_machine(press)
    once = run.registry.write(run.pool, ["fetch"], way).arrays
    again = run.registry.write(run.pool, ["fetch"], way).arrays
    assert run.registry.tree.root_of(special) == general
    assert jax.tree.all(jax.tree.map(np.array_equal, once, again))
