"""A bank of skills for two rooms that was not learned: its Q-functions are the distances to what they are after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from agents.two_rooms import CELLS, PROPOSITIONS, TwoRooms
from lhrm.toy import SMALL, TOY
from rewardmachines.agents.bank.bank import Bank, BankInterface, Networks, NetworkSizes
from rewardmachines.agents.bank.files import NETWORKS, load_bank, write_bank
from rewardmachines.agents.config import Layout
from rewardmachines.agents.networks import Body, Dense, Network, NetworkConfig, stacked
from rewardmachines.core.formula import Conjunction
from rewardmachines.language import compile_task
from rewardmachines.runs import verbs
from rewardmachines.runs.maker import this_maker
from rewardmachines.runs.run import Run
from rewardmachines.traces import singletons

LINEAR = NetworkConfig(Body.MLP, hidden=())
"""Observations are one-hot, so that a linear network is a table."""
ACTIONS = TwoRooms().actions
SLOTS, STATES, OUTPUTS = 4, 5, 6
"""More than are in use."""
CALLED = {"fetch": "k ; b", "either": "k | g"}
"""The machines of the bank."""
CONFIG = replace(SMALL.agent, network=LINEAR, calls=replace(SMALL.agent.calls, network=LINEAR))


def _following() -> np.ndarray[Any, Any]:
    """Where each action leads from each cell, [cell, action]."""
    rooms = TwoRooms()
    state = rooms.reset(None, 0)
    return np.array(
        [
            [int(rooms.step(None, state._replace(cell=jnp.int32(c)), a).cell) for a in range(ACTIONS)]
            for c in range(CELLS)
        ]
    )


def q_table(proposition: str) -> np.ndarray[Any, Any]:
    """How soon each action can make a proposition true, [cell, action]; bumping into a wall changes nothing."""
    cell = "".join(("A.#.b", "..#..", ".....", "k.#.g")).index(proposition)
    after, steps = _following(), np.full(CELLS, CELLS)
    steps[cell] = 0
    for _ in range(CELLS):
        steps = np.minimum(steps, 1 + steps[after].min(axis=1))
    bumps = after == np.arange(CELLS)[:, None]
    return np.where(bumps, 0.0, 0.9 ** steps[after]).astype(np.float32)


def _table(network: Network, table: np.ndarray[Any, Any]) -> Network:
    """A linear network with these weights, and no bias."""
    head = network.head
    layer = head.layers[0]
    object.__setattr__(layer, "weight", table)
    object.__setattr__(layer, "bias", np.zeros_like(layer.bias))
    assert isinstance(head, Dense)
    return network


def room_bank(layout: Layout = Layout.SHARED, known: tuple[str, ...] = PROPOSITIONS) -> Bank:
    """A bank with policies of some propositions. Its machine `either` prefers g, which is farther away than k."""
    chance, shape = np.random.default_rng(0), (CELLS,)
    tables = np.zeros((CELLS, SLOTS, ACTIONS), np.float32)
    for slot, proposition in enumerate(known):
        tables[:, slot] = q_table(proposition)
    formulas: Any = _table(Network(LINEAR, shape, 0, SLOTS * ACTIONS, chance), tables.reshape(CELLS, -1))
    if layout is Layout.SEPARATE:
        formulas = stacked([_table(Network(LINEAR, shape, 0, ACTIONS, chance), tables[:, s]) for s in range(SLOTS)])
    machines = tuple(compile_task(text, propositions=PROPOSITIONS, name=name)[name] for name, text in CALLED.items())
    prefers = np.zeros((CELLS + STATES + len(PROPOSITIONS), OUTPUTS), np.float32)
    outputs = [disjunct for edge in machines[1].edges for disjunct in edge.formula.ordered()]
    prefers[CELLS + machines[1].states.index("u0"), ["g" in disjunct.required for disjunct in outputs].index(True)] = 1
    calls = stacked([_table(Network(LINEAR, shape, STATES + len(PROPOSITIONS), OUTPUTS, chance), prefers)] * 2)
    return Bank(
        domain="two-rooms",
        setting="plain",
        interface=BankInterface.of(TOY, CONFIG.observation),
        sizes=NetworkSizes(layout, LINEAR, LINEAR, SLOTS, STATES, OUTPUTS),
        formulas={Conjunction(frozenset({p})): slot for slot, p in enumerate(known)},
        changes=(*singletons(PROPOSITIONS), *(Conjunction(frozenset({p})) for p in known)),
        fatal=frozenset(),
        contexts=(Conjunction(),),
        machines=machines,
        returns={"fetch": 1.0, "either": 0.5},
        digest="",
        networks=Networks(formulas, calls),
    )


def saved_bank(path: Path, *arguments: Any) -> Bank:
    """The bank in a folder."""
    write_bank(room_bank(*arguments), path, this_maker())
    return load_bank(path)


def cut_off(folder: Path) -> None:
    """Takes the end of the file with the networks away."""
    (folder / NETWORKS).write_bytes((folder / NETWORKS).read_bytes()[:-8])


def train_with(bank: Bank, task: Any, folder: Path | None, **options: Any) -> Run:
    """Trains for a task in two rooms with a bank; one in three evaluations is good enough."""
    usual: dict[str, Any] = {"instances": 1, "max_steps": 60, "settings": bank.fitted(CONFIG)}
    run: Run = verbs.train("two-rooms", task, bank=bank, folder=folder, **{**usual, **options})
    return run
