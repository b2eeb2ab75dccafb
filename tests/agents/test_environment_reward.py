"""The environment's own reward in what agents of ours learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rewardmachines as rm
from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.gymnasium.settings import GYMNASIUM, GYMNASIUM_CRM
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.training import begin_training
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper

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


def config_of(algorithm: Algorithm, weight: float = WEIGHT) -> Any:
    usual: Any = GYMNASIUM_CRM if algorithm is Algorithm.CRM else GYMNASIUM
    return replace(usual, network=SMALL, replay_size=64, replay_start=64, environment_reward=weight)


def begun(algorithm: Algorithm, mode: AutoresetMode, weight: float = WEIGHT, steps: int = 9) -> Any:
    envs = SyncVectorEnv([make] * 2, autoreset_mode=mode)
    training = begin_training(envs, TASK, config_of(algorithm, weight), algorithm)
    for _ in range(steps):
        training.advance()
    return training


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
def test_each_step_is_remembered_with_what_the_environment_paid(algorithm: Algorithm, mode: AutoresetMode) -> None:
    ring = begun(algorithm, mode).agent_state.replay
    count = int(ring.written[0])
    after = np.asarray(ring.rows.after)[:count]
    assert set(after.tolist()) == {1, 2, 3}, "the task is done at the third cell"
    assert np.asarray(ring.rows.reward)[:count].tolist() == (-WEIGHT * after).tolist()


def test_environments_that_a_function_makes_pay_as_well() -> None:
    config = replace(config_of(Algorithm.CRM), environments=2, chunk=9)
    trained = train_gymnasium(make, TASK, steps=18, config=config, algorithm=Algorithm.CRM)
    ring = trained.agent_state.replay
    after = np.asarray(ring.rows.after)[: int(ring.written[0])]
    assert set(after.tolist()) == {1, 2, 3}
    assert np.asarray(ring.rows.reward)[: len(after)].tolist() == (-WEIGHT * after).tolist()


def test_options_that_call_machines_are_remembered_with_the_discounted_sum_over_their_steps() -> None:
    """The errand takes two steps, which cost 1 and 2; the root's other option takes one step, which costs 3."""
    training = begun(Algorithm.HRL, AutoresetMode.SAME_STEP, steps=30)
    ring, discount = training.agent_state.call_replay, training.setup.config.call_discount
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


def test_without_a_weight_nothing_is_remembered_of_it() -> None:
    state = begun(Algorithm.HRL, AutoresetMode.SAME_STEP, weight=0.0).agent_state
    assert state.replay.rows.reward is state.call_replay.rows.reward is None
    assert begun(Algorithm.CRM, AutoresetMode.SAME_STEP, weight=0.0).agent_state.replay.rows.reward is None


def test_environments_that_do_not_say_what_they_pay_are_refused() -> None:
    def plain() -> LabelingWrapper:
        return LabelingWrapper(Toll(), labels=lambda cell: set(), propositions=["a", "b", "c"])

    envs = SyncVectorEnv([plain], autoreset_mode=AutoresetMode.SAME_STEP)
    training = begin_training(envs, TASK, config_of(Algorithm.CRM), Algorithm.CRM)
    with pytest.raises(RewardMachineError, match="there is no environment_reward in info; wrap it: HierarchyWrapper"):
        training.advance()


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


@pytest.mark.parametrize("algorithm", [Algorithm.HRL, Algorithm.CRM])
@pytest.mark.parametrize(("weight", "steps"), [(0.0, 1), (1.0, 3)])
def test_agents_take_the_way_that_the_weighted_sum_of_rewards_says(
    algorithm: Algorithm, weight: float, steps: int
) -> None:
    task = rm.compile_task("there")

    def crossing() -> HierarchyWrapper:
        labelled = LabelingWrapper(
            Ferry(), labels=lambda cell: {"there"} if cell == 3 else set(), propositions=["there"]
        )
        return HierarchyWrapper(labelled, task)

    config = replace(
        config_of(algorithm, weight),
        replay_size=400,
        batch=32,
        learning_rate=1e-2,
        target_period=20,
        annealing_steps=400,
    )
    trained = train_gymnasium(vectorize(crossing, 4), task, steps=1_200, config=config, algorithm=algorithm)
    env, taken, done = crossing(), 0, False
    observation, info = env.reset(seed=0)
    while not done:
        observation, _, done, _, info = env.step(trained.policy.act(observation, info["label"]))
        taken += 1
    assert taken == steps
