"""A new driver is one file: rooms that NumPy moves all at once go all the way, and no other file knows them.

The state of the environments is kept as arrays of the run, so that nothing need be replayed when it is resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import PRNGKeyArray

import rewardmachines as rm
from agents.two_rooms import CELLS, DOOR, PROPOSITIONS, TwoRooms
from cli.commands import Hrm
from lhrm.toy import TWO_ROOMS
from rewardmachines.agents.batches import where_rows
from rewardmachines.agents.networks import Chance
from rewardmachines.agents.protocol import Losses
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import register_domain, unregister_domain
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered import LabelBits
from rewardmachines.rollout.interaction import Interaction
from rewardmachines.rollout.policy import Encoding, plain_encoding
from rewardmachines.rollout.suite import Driver, TaskSpec
from rewardmachines.rollout.tables import Counts, Percept, RunState, TaskTables, copied
from rewardmachines.rollout.training import Training
from rewardmachines.runs.run import open_run
from rewardmachines.runs.verbs import train
from rollout.reference import check_training
from rollout.rooms import CONFIG, MAX_STEPS, STEPS, TREE, Case, label_of, moved, training

AFTER = np.array([[moved(cell, action) for action in range(4)] for cell in range(CELLS)], np.int32)
"""Where each action leads from each cell."""
BITS = LabelBits(PROPOSITIONS).encode_all([label_of(cell) for cell in range(CELLS)])
"""The label of each cell."""


class Programs:
    """The agent's part of a step, compiled."""

    def __init__(self, interaction: Interaction) -> None:
        self.begin, self.explore = jax.jit(interaction.begin), jax.jit(interaction.explore)
        self.observe, self.learn = jax.jit(interaction.observe), jax.jit(interaction.agent.learn)
        self.exploit, self.follow = jax.jit(interaction.exploit), jax.jit(interaction.follow)
        self.exploration = jax.jit(interaction.agent.exploration)
        self.where_rows = jax.jit(where_rows)


programs = lru_cache(2)(Programs)


@dataclass(frozen=True)
class NumpyDriver:
    """Moves rooms by looking up where actions lead."""

    interaction: Interaction
    longest: int

    @property
    def _does(self) -> Programs:
        return programs(self.interaction)

    def _percept(self, cells: Any, steps: Any) -> Percept:
        return Percept(cells, BITS[cells], end=None, is_cut=steps >= self.longest)

    def _begun(self, tables: TaskTables, count: int, key: PRNGKeyArray) -> Any:
        none, cells = np.zeros(count, np.int32), np.full(count, DOOR, np.int32)
        return self._does.begin(tables, none, none, self._percept(cells, none), key)

    def create(self, tables: TaskTables, chance: Chance, key: PRNGKeyArray) -> RunState:
        count = self.interaction.agent.config.environments
        agent = self.interaction.agent.create(tables.task, np.int32(0), chance)
        environments = np.full(count, DOOR, np.int32), np.zeros(count, np.int32)
        state: RunState = copied(
            RunState(agent, self._begun(tables, count, key), environments, jnp.int32(0), jax.random.fold_in(key, 1))
        )
        return state

    def shapes(self, tables: TaskTables) -> Any:
        return jax.eval_shape(lambda: self.create(tables, np.random.default_rng(0), jax.random.key(0)))

    def chunk(self, tables: TaskTables, state: RunState, *, learns: bool, most: int) -> tuple[RunState, Counts]:
        does, config = self._does, self.interaction.agent.config
        agent, episodes, key = state.agent, state.episodes, state.key
        cells, steps = map(np.array, state.environments)
        counted, losses, turns = np.zeros(2, np.int32), list[Losses](), 0
        while turns < config.chunk and counted[0] < most:
            turns, (key, *keys) = turns + 1, jax.random.split(key, 5)
            actions, agent, episodes = does.explore(tables, agent, episodes, keys[0])
            cells, steps = AFTER[cells, np.asarray(actions)], steps + 1
            agent, episodes, endings = does.observe(
                tables, agent, episodes, actions, self._percept(cells, steps), keys[1]
            )
            agent, loss = does.learn(tables.task, agent, keys[2], learns)
            losses.append(loss)
            over = np.asarray(endings.is_over)
            counted += [over.sum(), int(np.asarray(endings.is_goal).sum())]
            cells, steps = np.where(over, DOOR, cells).astype(np.int32), np.where(over, 0, steps).astype(np.int32)
            episodes = does.where_rows(over, self._begun(tables, len(cells), keys[3]), episodes)
        mean = Losses(*(jnp.stack(kind).mean() for kind in zip(*losses, strict=True)))
        rate = does.exploration(tables.task, agent)
        counts = Counts(jnp.array(counted[:1]), jnp.array(counted[1:]), jnp.int32(turns * len(cells)), mean, rate)
        return RunState(agent, episodes, (cells, steps), state.unlearned, key), counts

    def restart(self, tables: TaskTables, state: RunState, which: Any) -> RunState:
        cells, steps = (np.where(which, new, old) for new, old in zip((DOOR, 0), state.environments, strict=True))
        fresh = self._begun(tables, len(cells), state.key)
        return state._replace(
            episodes=where_rows(jnp.asarray(which), fresh, state.episodes), environments=(cells, steps)
        )

    def evaluate(self, tables: TaskTables, agent: Any, wanted: Any, seed: int) -> tuple[Any, Any]:
        key, cells, steps = jax.random.key(seed), np.full(1, DOOR, np.int32), np.zeros(1, np.int32)
        episodes, is_over, won = self._begun(tables, 1, key), not np.any(wanted), np.zeros(1)
        while not is_over:
            key, act_key, follow_key = jax.random.split(key, 3)
            actions, episodes = self._does.exploit(tables, agent, episodes, act_key)
            cells, steps = AFTER[cells, np.asarray(actions)], steps + 1
            episodes, over, won = self._does.follow(tables, episodes, actions, self._percept(cells, steps), follow_key)
            is_over = bool(np.asarray(over)[0])
        return np.asarray(won, float).reshape(1, 1), steps.reshape(1, 1)


def recalled(world: Any, cell: Any) -> Any:
    """What agents see: the cell as zeros and a one."""
    return jax.nn.one_hot(cell, CELLS)


class NumpySuite:
    """The rooms with a driver of their own: nothing of the package is derived from."""

    propositions, actions, shape, world, recall = PROPOSITIONS, 4, (CELLS,), jnp.int32(0), staticmethod(recalled)
    instances = curriculum_instances = 1
    dependencies: Mapping[str, tuple[str, ...]] = {}

    def __init__(self, scenario: Scenario, tasks: Iterable[str], *, flat: bool = False, given: bool = False) -> None:
        self.tasks, self.max_steps = tuple(TaskSpec(name, 1) for name in tasks), scenario.max_steps

    @property
    def encoding(self) -> Encoding:
        return plain_encoding(self.shape, self.propositions)

    def driver(self, interaction: Interaction) -> Driver:
        if interaction.learns_machines:
            raise RewardMachineError("machines are not learned in these rooms")
        return NumpyDriver(interaction, self.max_steps)

    def record(self) -> Any:
        return {"rooms": 1}

    def restore(self, record: Any, where: str) -> Any:
        assert record == {"rooms": 1}, where

    def check(self, encode: Any, where: str) -> None:
        assert encode is None, where

    def close(self) -> None:
        closed.append(self)


closed: list[NumpySuite] = []


DOMAIN = replace(
    TWO_ROOMS,
    task_set=replace(TWO_ROOMS.task_set, name="numpy-rooms", title="NumPyRooms"),
    environment=lambda _setting, _observation: TwoRooms(DOOR),
    suite=NumpySuite,
)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_domain(DOMAIN)
    yield
    unregister_domain(DOMAIN.name)


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


@pytest.mark.parametrize("algorithm", ["hrl", "crm"])
def test_it_makes_the_transitions_of_the_reference(algorithm: str) -> None:
    compiled = training("jax", algorithm, Case("jax", algorithm).settings())
    suite = NumpySuite(compiled.suite.scenario, ["task"], given=True)  # type: ignore[attr-defined]
    check_training(Training(suite, compiled.agent_kind, compiled.plan, compiled.config))


def test_it_is_trained_resumed_and_evaluated(tmp_path: Path) -> None:
    options: dict[str, Any] = {"settings": CONFIG, "instances": 1, "max_steps": MAX_STEPS, "stop_at": 0}
    whole = train("numpy-rooms", TREE, steps=2 * STEPS, folder=tmp_path / "whole", **options)
    train("numpy-rooms", TREE, steps=STEPS, folder=tmp_path / "broken", **options)
    again = train(folder=tmp_path / "broken", resume=True, steps=2 * STEPS)
    assert again.rows == whole.rows
    assert again.rows[-1].steps == 2 * STEPS
    assert any(row.returns is not None for row in again.rows)
    (evaluated,) = open_run(tmp_path / "broken").evaluate()
    assert evaluated.lengths[0] > 0
    env, policy = open_run(tmp_path / "broken").environment(), open_run(tmp_path / "broken").policy()
    assert rm.play(env, policy, steps=5)[1] > 0
    assert closed, "environments are closed in the end"
    with pytest.raises(RewardMachineError, match="only runs in compiled environments can go side by side"):
        train("numpy-rooms", TREE, steps=STEPS, seeds=2, folder=tmp_path / "runs", **options)
    with pytest.raises(RewardMachineError, match="machines are not learned in these rooms"):
        rm.learn("numpy-rooms", steps=STEPS, folder=tmp_path / "learned")


def test_commands_train_show_and_evaluate_in_it(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    sizes = [
        word for name in ("environments", "batch", "chunk") for word in ("--set", f"{name}={getattr(CONFIG, name)}")
    ]
    place = ["numpy-rooms", "fetch", "--instances", 1, "--max-steps", MAX_STEPS]
    assert hrm("train", *place, "--agent", "crm", "--steps", 400, *sizes, "-o", folder) in (0, 1), hrm.err
    assert hrm("train", "--resume", "--steps", 800, "-o", folder) in (0, 1), hrm.err
    assert open_run(folder).rows[-1].steps == 800
    assert hrm("evaluate", folder) == 0, hrm.err
    assert hrm("show", folder) == 0, hrm.err
    assert "NumPyRooms" in hrm.out
    assert "NumPyRooms" in (folder / "report" / "index.html").read_text()
