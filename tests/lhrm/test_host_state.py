"""The state of LHRM that is not on the device: all of it is kept, and tables are the same whenever they are written."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

import rewardmachines as rm
from lhrm.toy import LABELS, TOY, TREES, quickly
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.host_state import LhrmState
from rewardmachines.rollout.jax_driver import JaxSuite

CONFIG = quickly(explores_with=Exploration.PROPOSITIONS)


def fresh() -> Lhrm:
    """LHRM at its beginning."""
    return Lhrm(JaxSuite(TOY, tuple(TREES)), CONFIG, Solvers(cores=1))


@pytest.fixture(scope="module")
def learned() -> Lhrm:
    """LHRM in the middle of a run, with machines on two levels."""
    run = fresh()
    while "all" not in run.pool.learned:
        run.advance()
        assert run.counters.chunks < 100
    return run


def test_a_state_holds_all_that_is_not_on_the_device(learned: Lhrm) -> None:
    state, again = learned.host_state(), fresh()
    written = from_plain(LhrmState, to_plain(state), "there")
    assert written == state
    again.restore(written, "there")
    assert again.host_state() == state != fresh().host_state()
    assert again.chance.random() != fresh().chance.random()
    assert sorted(again.registry.slots.values()) == list(range(len(again.registry.slots)))
    for mine, theirs in zip(jax.tree.leaves(again.tables), jax.tree.leaves(learned.tables), strict=True):
        assert np.array_equal(mine, theirs)


def test_what_goes_on_from_a_state_and_its_arrays_is_the_same_run(learned: Lhrm) -> None:
    again = fresh()
    again.restore(learned.host_state(), "there")
    again.state = jax.tree.map(lambda x: x.copy(), learned.state)
    rows = [again.advance() for _ in range(3)]
    assert rows == [learned.advance() for _ in range(3)]


def test_tables_that_have_grown_keep_their_room(learned: Lhrm) -> None:
    state, run = learned.host_state(), fresh()
    registry = state.registry
    wider = replace(
        registry, room=replace(registry.room, edges=64), option_room=replace(registry.option_room, slots=128)
    )
    run.restore(replace(state, registry=wider), "there")
    assert run.tables.task.options.is_active.shape == (128,)  # type: ignore[attr-defined]
    assert run.tables.task.tables.edge_required.shape[2] == 64


def test_a_state_of_another_run_is_refused(learned: Lhrm) -> None:
    other = Lhrm(JaxSuite(TOY, ("fetch", "press")), CONFIG, Solvers(cores=1))
    with pytest.raises(RewardMachineError, match="there: damaged, it speaks of other tasks"):
        other.restore(learned.host_state(), "there")


@pytest.mark.parametrize("way", Exploration)
def test_tables_are_written_the_same_whenever_they_are_written(way: Exploration) -> None:
    """A formula that a new machine brings may take in one that an exploration option seeks, which then seeks it."""
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
    once, again = (run.registry.write(run.pool, ["fetch"], way) for _ in range(2))
    assert run.registry.tree.root_of(special) == general
    for mine, theirs in ((once.options, again.options), (once.explored, again.explored)):
        assert jax.tree.all(jax.tree.map(np.array_equal, mine, theirs))
