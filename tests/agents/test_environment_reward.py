"""The environment's own reward in what agents of ours learn from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import rewardmachines as rm
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import agent_kind
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.rollout.gym_settings import GYMNASIUM
from rewardmachines.rollout.training import Training
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.run import play
from rewardmachines.runs.verbs import train
from rollout.rooms import gym_training

TASK = rm.compile_task("errand ; c", tasks={"errand": "a ; b"})
WEIGHT = 0.5
SMALL = NetworkConfig(Body.MLP, hidden=(4,))
CELLS = 5
PLACES = {1: "a", 2: "b", 3: "c"}


class Toll(gymnasium.Env[Any, Any]):
    """Cells in a row, of which the last ends the episode. Each step leads on, and costs the cell that it leads to."""

    observation_space = spaces.Discrete(CELLS)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return np.int64(0), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.cell += 1
        return np.int64(self.cell), -float(self.cell), self.cell == CELLS - 1, False, {}


def make() -> HierarchyWrapper:
    labelled = LabelingWrapper(
        Toll(), labels=lambda cell: {PLACES[cell]} if cell in PLACES else set(), propositions=PLACES.values()
    )
    return HierarchyWrapper(labelled, TASK)


def config_of(agent: str, weight: float = WEIGHT) -> Any:
    usual = replace(
        GYMNASIUM,
        network=SMALL,
        replay_size=64,
        replay_start=64,
        environment_reward=weight,
        calls=replace(GYMNASIUM.calls, network=SMALL),
    )
    return replace(agent_kind(agent).settings(usual), environments=2, evaluate_every=10**6)


def begun(agent: str, mode: AutoresetMode | None, chunks: int = 1) -> Training:
    run = gym_training(make, TASK, replace(config_of(agent), chunk=9), mode=mode)
    for _ in range(chunks):
        run.advance()
    return run


@pytest.mark.parametrize("mode", [None, AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_each_step_is_remembered_with_what_the_environment_paid(agent: str, mode: AutoresetMode | None) -> None:
    """In environments that are begun one by one, and in vectors of them."""
    ring = begun(agent, mode).state.agent.replay
    count = int(ring.written[0])
    after = np.asarray(ring.rows.after)[:count]
    assert set(after.tolist()) == {1, 2, 3}, "the task is done at the third cell"
    assert np.asarray(ring.rows.reward)[:count].tolist() == (-WEIGHT * after).tolist()


def test_options_that_call_machines_are_remembered_with_the_discounted_sum_over_their_steps() -> None:
    """The errand takes two steps, which cost 1 and 2; the root's other option takes one step, which costs 3."""
    run = begun("hrl", None, chunks=3)
    assert isinstance(run.config, HierarchicalDqnConfig)
    ring, discount = run.state.agent.call_replay, run.config.calls.discount
    written = np.asarray(ring.written)
    size = len(np.asarray(ring.rows.steps)) // len(written)
    found = set()
    for machine, count in enumerate(written.tolist()):
        rows = slice(machine * size, machine * size + min(count, size))
        starts, steps, rewards = (np.asarray(x)[rows] for x in (ring.rows.start, ring.rows.steps, ring.rows.reward))
        for start, length, reward in zip(starts.tolist(), steps.tolist(), rewards.tolist(), strict=True):
            paid = sum(discount**i * -WEIGHT * (start + i + 1) for i in range(length))
            assert reward == pytest.approx(paid, rel=1e-5)
            found.add((start, length))
    assert {(0, 1), (1, 1), (2, 1), (0, 2)} <= found


def test_vector_environments_that_do_not_say_what_they_pay_are_refused() -> None:
    def plain() -> LabelingWrapper:
        return LabelingWrapper(Toll(), labels=lambda cell: set(), propositions=["a", "b", "c"])

    run = gym_training(plain, TASK, config_of("crm"), mode=AutoresetMode.SAME_STEP)
    with pytest.raises(RewardMachineError, match="there is no environment_reward in info; wrap each: HierarchyWrapper"):
        run.advance()


def test_weights_must_make_sense() -> None:
    with pytest.raises(RewardMachineError, match="is finite, not nan"):
        HierarchicalDqnConfig(environment_reward=float("nan"))
    assert HierarchicalDqnConfig(environment_reward=-1.0).environment_reward == -1, "what is paid may be a nuisance"


class Ferry(gymnasium.Env[Any, Any]):
    """The other side is one ride away, which costs 1, or three steps along the shore, which cost nothing."""

    observation_space = spaces.Discrete(4)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return np.int64(0), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self.cell = self.cell, 3 if action == RIDE else self.cell + 1
        return np.int64(self.cell), -float(action == RIDE), self.cell == 3, False, {"before": before}


RIDE = 1


@pytest.mark.parametrize("agent", ["hrl", "crm"])
@pytest.mark.parametrize(("weight", "steps"), [(0.0, 1), (1.0, 3)])
def test_agents_take_the_way_that_the_weighted_sum_of_rewards_says(
    agent: str, weight: float, steps: int, tmp_path: Path
) -> None:
    def crossing() -> LabelingWrapper:
        return LabelingWrapper(Ferry(), labels=lambda cell: {"there"} if cell == 3 else set(), propositions=["there"])

    config = replace(
        config_of(agent, weight),
        environments=4,
        replay_size=400,
        batch=32,
        learning_rate=1e-2,
        target=20,
        exploration=replace(config_of(agent, weight).exploration, steps=400),
    )
    folder, chunks = tmp_path / "run", list[Chunk]()
    options: dict[str, Any] = {"settings": config, "steps": 1_200, "stop_at": 0, "callbacks": [chunks.append]}
    run = train(crossing, "there", agent=agent, folder=folder, **options)
    _, taken = play(HierarchyWrapper(crossing(), run.hierarchy("there")), run.policy())
    assert taken == steps
    learned = chunks[-1].session.trained.state.agent
    for memory in (learned.replay, *([learned.call_replay] if agent == "hrl" else [])):
        assert (memory.rows.reward is None) == (weight == 0), "without a weight nothing is remembered of it"
