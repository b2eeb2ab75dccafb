"""Agents on Gymnasium's vector environments: what they remember is what happened, and they learn from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rewardmachines as rm
from rewardmachines.agents.algorithms import crm_settings
from rewardmachines.agents.config import Layout
from rewardmachines.agents.gymnasium.observations import ObservationError
from rewardmachines.agents.gymnasium.settings import GYMNASIUM, GYMNASIUM_CRM
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.training import Progress, begin_training
from rewardmachines.agents.gymnasium.vector_env import Sensors, episode_limit, limit_of_first
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.lowered import lift

TASK = rm.compile_task("there ; back", tasks={"there": "left ; right"})
PLACES = {0: "left", 6: "right", 3: "back"}
LABELS = [set[str](), *({place} for place in PLACES.values())]
LENGTH, TRAP = 7, 7


class Corridor(gymnasium.Env[Any, Any]):
    """Seven cells in a row. Actions, which are counted from 1: left, right, and a jump into a trap."""

    def __init__(self, space: str = "number", log: list[Any] | None = None) -> None:
        self.space = space
        self.observation_space = {
            "number": spaces.Discrete(LENGTH + 1, start=10),
            "vector": spaces.Box(0, 1, (LENGTH + 1,), np.float32),
            "words": spaces.Text(3),
        }[space]
        self.action_space = spaces.Discrete(3, start=1)
        self.log = [] if log is None else log

    def _seen(self) -> Any:
        if self.space == "number":
            return np.int64(10 + self.cell)
        return np.eye(LENGTH + 1, dtype=np.float32)[self.cell] if self.space == "vector" else f"c{self.cell}"

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(1, LENGTH - 1))
        return self._seen(), {"cell": self.cell}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        before = self.cell
        self.cell = TRAP if action == 3 else int(np.clip(self.cell + (-1, 1)[action - 1], 0, LENGTH - 1))
        self.log.append((before, int(action) - 1, self.cell))
        return self._seen(), 0.0, self.cell == TRAP, False, {"cell": self.cell}


def wrapped(
    space: str = "number", *, steps: int = 30, log: list[Any] | None = None, task: rm.Hierarchy = TASK
) -> HierarchyWrapper:
    corridor = gymnasium.wrappers.TimeLimit(Corridor(space, log), steps)
    labelled = LabelingWrapper(
        corridor,
        labels=lambda _, info: {PLACES[info["cell"]]} if info["cell"] in PLACES else set(),
        propositions=PLACES.values(),
    )
    return HierarchyWrapper(labelled, task)


TINY = replace(
    GYMNASIUM,
    network=NetworkConfig(Body.MLP, hidden=(32,)),
    call_network=NetworkConfig(Body.MLP, hidden=(16,)),
    learning_rate=3e-3,
    replay_size=8_000,
    replay_start=200,
    target_period=50,
    annealing_steps=1_500,
    call_replay_start=32,
    call_annealing=50,
)
QUIET = replace(TINY, replay_start=8_000)
"""Never learns, so that there is less to compile."""


def rows_of(agent: Any) -> list[Any]:
    written = int(agent.replay.written[0])
    rows = jax.tree.map(lambda x: np.asarray(x)[:written], agent.replay.rows)
    return [jax.tree.map(lambda x, i=i: x[i], rows) for i in range(written)]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_what_is_remembered_are_the_steps_that_were_taken(mode: AutoresetMode) -> None:
    logs: list[list[Any]] = [[], []]
    makers = [lambda log=log: wrapped(steps=6, log=log) for log in logs]
    envs = SyncVectorEnv(makers, autoreset_mode=mode)
    trained = train_gymnasium(envs, TASK, config=QUIET, labels=LABELS, steps=300)
    rows = rows_of(trained.agent_state)
    assert len(rows) == trained.steps == sum(map(len, logs))
    remembered = sorted((int(row.before), int(row.action), int(row.after)) for row in rows)
    assert remembered == sorted(tuple(step) for log in logs for step in log)
    bits = trained.setup.plan.lowered.bits
    for row in rows:
        here, there = (frozenset({PLACES[c]} if c in PLACES else ()) for c in (int(row.before), int(row.after)))
        assert bits.decode(row.label) == there
        assert bool(row.is_event) == (here != there)
        assert bool(row.is_dead_end) == (int(row.after) == TRAP)
    assert trained.episodes > 10


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_the_hierarchy_stands_where_that_of_the_wrapper_does(mode: AutoresetMode) -> None:
    """Episodes end and are cut off while calls are running; nothing of them is left when others begin."""
    envs = SyncVectorEnv([lambda: wrapped(steps=9)] * 2, autoreset_mode=mode)
    training = begin_training(envs, TASK, QUIET, labels=LABELS)
    plan, sensors = training.setup.plan, training.sensors
    assert isinstance(sensors, Sensors)
    deepest = 0
    for _ in range(200):
        is_waiting = sensors.is_waiting
        for i, env in enumerate(envs.envs):
            state, size = jax.tree.map(
                lambda x, i=i: np.asarray(x)[i], (training.crew.states, training.crew.plans.size)
            )
            assert is_waiting[i] or lift(plan.lowered, TASK, state) == env.get_wrapper_attr("hierarchy_state")
            is_new = env.get_wrapper_attr("_elapsed_steps") == 0
            assert size == 0 or not (is_waiting[i] or is_new)
            deepest = max(deepest, int(state.depth))
        training.advance()
    assert deepest == 1
    longest = np.asarray(training.agent_state.call_replay.rows.steps).max()
    assert 0 < longest <= 9


def test_a_small_task_is_learned() -> None:
    told: list[Progress] = []
    trained = train_gymnasium(
        vectorize(wrapped, 8), TASK, config=TINY, labels=LABELS, steps=6_000, progress=told.append
    )
    assert trained.evaluate(wrapped(), episodes=10) == 1.0
    assert [progress.steps for progress in told] == [8 * TINY.chunk * (i + 1) for i in range(len(told))]
    assert told[-1].exploration < told[0].exploration
    assert (told[-1].mean_return or 0) > (told[0].mean_return or 0)


def test_crm_learns_from_vectors() -> None:
    task = rm.compile_task("right")
    envs = vectorize(lambda: wrapped("vector", task=task), 8)
    config = replace(crm_settings(TINY), discount=0.95, layout=Layout.SEPARATE)
    trained = train_gymnasium(envs, task, config=config, algorithm="crm", labels=LABELS, steps=4_000)
    assert trained.evaluate(wrapped("vector", task=task), episodes=10) == 1.0


def test_an_agent_is_trained_with_settings_of_its_own() -> None:
    with pytest.raises(RewardMachineError, match="settings of crm are a CrmConfig, not a HierarchicalDqnConfig"):
        train_gymnasium(vectorize(wrapped, 2), TASK, config=TINY, algorithm="crm", labels=LABELS, steps=1)
    with pytest.raises(RewardMachineError, match="settings of hrl are a HierarchicalDqnConfig, not a CrmConfig"):
        train_gymnasium(vectorize(wrapped, 2), TASK, config=GYMNASIUM_CRM, labels=LABELS, steps=1)


def test_policies_follow_the_hierarchy_by_labels() -> None:
    envs = vectorize(wrapped, 2)
    trained = train_gymnasium(envs, TASK, config=QUIET, labels=LABELS, steps=0)
    policy = trained.policy
    assert trained.policy is policy
    policy.reset({"back"})
    actions = {
        policy.act(np.int64(13), {"back"}),
        policy.act(np.int64(10), {"left"}),
        policy.act(np.int64(16), {"right"}),
    }
    assert actions <= {1, 2, 3}


def test_the_same_seed_gives_the_same_training() -> None:
    def trained(seed: int) -> Any:
        return train_gymnasium(vectorize(wrapped, 2), TASK, config=QUIET, labels=LABELS, steps=400, seed=seed)

    once, again, other = (
        [np.asarray(x).tobytes() for x in jax.tree.leaves(trained(seed).agent_state)] for seed in (1, 1, 2)
    )
    assert once == again
    assert once != other


def test_vector_environments_must_reset_themselves() -> None:
    envs = SyncVectorEnv([wrapped], autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(RewardMachineError, match="must be reset by themselves"):
        train_gymnasium(envs, TASK, steps=1)


def test_environments_must_be_labelled_and_know_what_the_hierarchy_speaks_of() -> None:
    with pytest.raises(RewardMachineError, match="LabelingWrapper"):
        train_gymnasium(vectorize(Corridor, 1), TASK, steps=1)
    with pytest.raises(UnknownPropositionError, match="'moon'"):
        train_gymnasium(vectorize(wrapped, 1), rm.compile_task("moon"), steps=1)


def test_labels_that_nobody_mentioned_are_reported() -> None:
    with pytest.raises(RewardMachineError, match="not among `labels`"):
        train_gymnasium(vectorize(wrapped, 4), TASK, labels=[{"left"}, {"right"}, {"back"}], steps=1)


def test_actions_must_be_discrete() -> None:
    class Steering(Corridor):
        def __init__(self) -> None:
            super().__init__()
            self.action_space = spaces.Box(-1, 1, (2,))

    with pytest.raises(RewardMachineError, match=r"must be discrete.*DiscreteActions\(env"):
        train_gymnasium(vectorize(Steering, 1), TASK, steps=1)


def test_observations_that_no_network_takes_must_be_encoded() -> None:
    envs = vectorize(lambda: wrapped("words"), 2)
    with pytest.raises(ObservationError, match="pass encode"):
        train_gymnasium(envs, TASK, labels=LABELS, steps=1)
    with pytest.raises(ObservationError, match="not an array of numbers"):
        train_gymnasium(envs, TASK, labels=LABELS, steps=1, encode=lambda text: text)

    def encode(text: str) -> Any:
        return np.eye(LENGTH + 1)[int(text[1:])]

    trained = train_gymnasium(envs, TASK, config=TINY, labels=LABELS, steps=0, encode=encode)
    assert trained.policy.act("c3", {"back"}) in {1, 2, 3}


def test_the_longest_episode_is_what_the_environment_says() -> None:
    assert episode_limit(wrapped(steps=30)) == limit_of_first(vectorize(wrapped, 2)) == 30
    assert episode_limit(Corridor()) is None
    corridor = Corridor()
    corridor.max_steps = 12  # type: ignore[attr-defined]
    assert episode_limit(corridor) == 12
