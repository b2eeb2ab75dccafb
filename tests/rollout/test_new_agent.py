"""A new agent is one file: a plain DQN that ignores the hierarchy goes all the way, and no other file knows it.

It is rewarded when the task is done, and sees nothing but observations. In two rooms, one place is within its reach.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Bool, Float, Int32, PRNGKeyArray

from cli.commands import Hrm
from rewardmachines.agents import replay
from rewardmachines.agents.config import AgentConfig
from rewardmachines.agents.double_dqn import Batch, exploration, gradient, optimizer
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Chance, Network, single
from rewardmachines.agents.protocol import Agent, AnyAgent, Losses, Ready, Recall, Step, Task
from rewardmachines.agents.registry import AgentKind, register_agent, unregister_agent
from rewardmachines.agents.replay import Rings
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lowered import Capacity, State, verdict
from rewardmachines.lowered.traversal import ACCEPT
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.runs import diagnosis
from rewardmachines.runs.run import open_run
from rewardmachines.runs.verbs import train
from rollout.conftest import Trains
from rollout.rooms import CASES, CONFIG, make_rooms, training


class Experience(NamedTuple):
    """A step as this agent remembers it."""

    before: Any
    action: Any
    after: Any
    reward: Any
    is_end: Any


class DqnState(NamedTuple):
    """What the agent has learned and remembers."""

    online: Any
    target: Any
    optimizer: Any
    updates: Int32[Array, ""]
    steps: Int32[Array, ""]
    replay: Rings[Experience]


@dataclass(frozen=True)
class DqnConfig(AgentConfig):
    """The common settings, and one that no other agent has."""

    doubles: bool = True
    """Whether the online network picks the actions that the target network values."""


@dataclass(frozen=True)
class DqnAgent:
    """A Q-function of observations."""

    config: DqnConfig
    shape: tuple[int, ...]
    actions: int
    recall: Recall

    @property
    def _rule(self) -> Any:
        return optimizer(self.config.optimizer, self.config.learning_rate)

    def create(self, task: Task, memory: Any, chance: Chance) -> DqnState:
        zero, no = jnp.float32(0), jnp.bool_(False)
        online = single(Network(self.config.network, self.shape, 0, self.actions, chance))
        row = Experience(memory, jnp.uint8(0), memory, zero, no)
        return DqnState(
            online=online,
            target=jax.device_put(online, may_alias=False),
            optimizer=self._rule.init(eqx.filter(online, eqx.is_array)),
            updates=jnp.int32(0),
            steps=jnp.int32(0),
            replay=replay.empty(row, 1, self.config.replay_size),
        )

    def begin_plans(self, task: Task, states: State, now: Any, key: PRNGKeyArray) -> Int32[Array, " N"]:
        return jnp.zeros(states.machine.shape[0], jnp.int32)

    def act(
        self,
        task: Task,
        state: DqnState,
        plans: Any,
        states: State,
        observations: Float[Array, "N ..."],
        now: Any,
        explores: bool,
        key: PRNGKeyArray,
        guided: Bool[Array, " N"] | None = None,
    ) -> tuple[Int32[Array, " N"], DqnState, Any]:
        best = jnp.argmax(state.online(observations), axis=-1).astype(jnp.int32)
        if not explores:
            return best, state, plans
        draw_key, random_key = jax.random.split(key)
        wanders = jax.random.uniform(draw_key, best.shape) < self.exploration(task, state)
        if guided is not None:
            wanders &= ~guided
        random = jax.random.randint(random_key, best.shape, 0, self.actions)
        return jnp.where(wanders, random, best), state, plans

    def observe(
        self, task: Task, state: DqnState, plans: Any, step: Step, key: PRNGKeyArray
    ) -> tuple[DqnState, Any]:  # fmt: skip
        reward = jax.vmap(lambda at: verdict(task.tables, at))(step.to_state) == ACCEPT
        is_end = reward | step.is_dead_end
        rows = Experience(step.before, step.action.astype(jnp.uint8), step.after, reward.astype(jnp.float32), is_end)
        ring = jnp.zeros(step.action.shape, jnp.int32)
        steps = state.steps + step.is_valid.sum(dtype=jnp.int32)
        return state._replace(steps=steps, replay=replay.write(state.replay, rows, ring, step.is_valid)), plans

    def follow(self, task: Task, plans: Any, step: Step, key: PRNGKeyArray) -> Any:
        return plans

    def learn(self, task: Task, state: DqnState, key: PRNGKeyArray, ready: Ready = True) -> tuple[DqnState, Losses]:
        rows = replay.sample(state.replay, 0, self.config.batch, key)
        before, after = (jax.vmap(lambda m: self.recall(task.world, m))(part) for part in (rows.before, rows.after))
        discount = jnp.where(rows.is_end, 0.0, self.config.discount)
        batch = Batch(before, rows.action.astype(jnp.int32), rows.reward, discount, after, jnp.ones((1, 1), bool))
        picking = state.online if self.config.doubles else state.target
        losses, slope = gradient(lambda network, seen: network(seen), picking, state.target(after), batch)
        change, rule = self._rule.update(slope, state.optimizer)
        updates = state.updates + 1
        online = eqx.apply_updates(state.online, change)
        is_due = updates % self.config.target_period == 0
        target = jax.tree.map(lambda new, old: jnp.where(is_due, new, old), online, state.target)
        nothing: Any = None  # the replay memory is only read
        learned = DqnState(online, target, rule, updates, state.steps, nothing)
        kept = jax.tree.map(lambda new, old: jnp.where(ready, new, old), learned, state._replace(replay=nothing))
        loss = jnp.where(ready, losses.mean(), 0.0)
        return kept._replace(replay=state.replay), Losses(formulas=loss, calls=jnp.float32(0))

    def exploration(self, task: Task, state: DqnState) -> Float[Array, ""]:
        config = self.config
        return exploration(state.steps, config.exploration)


def build(config: DqnConfig, capacity: Capacity, shape: tuple[int, ...], actions: int, recall: Recall) -> AnyAgent:
    agent: Agent[Task, DqnState, Any] = DqnAgent(config, shape, actions, recall)
    return agent


def settings(usual: HierarchicalDqnConfig) -> DqnConfig:
    return DqnConfig(**{setting.name: getattr(usual, setting.name) for setting in fields(AgentConfig)})


DQN = AgentKind("dqn", DqnConfig, build, settings, is_flat=True, help="one Q-function of observations")


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_agent(DQN)
    yield
    unregister_agent("dqn")


@pytest.fixture
def hrm(capsys: pytest.CaptureFixture[str]) -> Hrm:
    return Hrm(capsys)


ONE_PLACE = {"task": "k", "agent": "dqn", "steps": 4_800, "stop_at": 0.95}
"""One place is to be reached, for which nothing need be remembered."""
QUICK = replace(
    CONFIG, batch=32, learning_rate=3e-3, replay_start=200, exploration=replace(CONFIG.exploration, steps=2_000)
)


def test_it_learns_is_resumed_and_evaluated_in_a_gymnasium_environment(trains: Trains, tmp_path: Path) -> None:
    options = {**ONE_PLACE, "settings": settings(QUICK)}
    whole = trains(make_rooms, **options)
    assert whole.rows[-1].mean_return == 1.0
    assert whole.evaluate()[0].returns == (1.0,)
    assert isinstance(whole.config.settings, DqnConfig)
    broken = trains(make_rooms, **{**options, "steps": 800, "folder": tmp_path / "broken"})
    assert broken.rows == whole.rows[: len(broken.rows)]
    again = train(folder=tmp_path / "broken", resume=True, steps=4_800)
    assert again.rows == whole.rows
    policy = open_run(tmp_path / "broken").policy()
    assert policy.options == ()
    with pytest.raises(RewardMachineError, match="settings of dqn are a DqnConfig, not a HierarchicalDqnConfig"):
        trains(make_rooms, **{**options, "settings": CONFIG})


def test_a_task_whose_past_it_would_have_to_know_is_beyond_it(trains: Trains, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the door, it would have to know whether it has been at `k`."""
    monkeypatch.setattr(diagnosis, "LEAST_STEPS", 2_000)
    with pytest.warns(diagnosis.NotLearnedWarning, match="train for longer"):
        run = trains(make_rooms, "k ; b", agent="dqn", settings=settings(QUICK), steps=4_800)
    assert max(row.mean_return for row in run.rows if row.mean_return is not None) == 0
    assert run.diagnosis


@pytest.mark.usefixtures("two_rooms_domain")
def test_commands_train_show_and_evaluate_it_in_a_domain(hrm: Hrm, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = {**{name: getattr(QUICK, name) for name in ("environments", "batch", "chunk", "evaluate_every")}}
    changes |= {"replay_size": 4000, "replay_start": 200, "exploration.steps": 2000, "doubles": False}
    changed = [word for name, value in changes.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    place = ["two-rooms", "fetch", "--instances", 1, "--max-steps", 35]
    assert hrm("train", *place, "--agent", "dqn", "--steps", 1_000, *changed, "-o", folder) in (0, 1), hrm.err
    assert hrm("train", "--resume", "--steps", 2_000, "-o", folder) in (0, 1), hrm.err
    run = open_run(folder)
    assert run.config.agent == "dqn"
    assert not run.config.settings.doubles
    assert run.rows[-1].steps == 2_000
    assert hrm("evaluate", folder) == 0, hrm.err
    assert hrm("show", folder) == 0, hrm.err
    assert "dqn" in hrm.out
    assert (folder / "report" / "index.html").exists()
    hrm.check_refused(["train", *place, "--agent", "dqm"], "there is no agent 'dqm'; did you mean 'dqn'?")


@pytest.mark.parametrize("driver", sorted({case.driver for case in CASES}))
def test_the_drivers_know_nothing_of_it(driver: str) -> None:
    run = training(driver, "dqn", settings(QUICK))
    rows = [run.advance() for _ in range(4)]
    assert rows[-1].steps == int(run.state.agent.steps) == int(run.state.agent.replay.written[0])
    assert rows[-1].formula_loss > 0
    assert np.isfinite(rows[-1].exploration)
    if driver == "gym":
        run.suite.close()


def test_runs_of_it_go_side_by_side() -> None:
    runs, alone = ([training("jax", "dqn", settings(QUICK), seed) for seed in (0, 1)] for _ in range(2))
    together = RunsSideBySide(runs)
    for _ in range(3):
        rows = together.advance()
        for row, run in zip(rows, alone, strict=True):
            assert replace(row, formula_loss=0.0) == replace(run.advance(), formula_loss=0.0)
