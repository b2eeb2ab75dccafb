"""Vector environments are stepped as they are: whatever makes them, with rows, and with evaluations where they can be.

That every step is the right one is the subject of `test_reference.py`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

import rewardmachines as rm
from agents.two_rooms import CELLS, DOOR, PROPOSITIONS
from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.rollout.gym_environments import ReplayWarning
from rewardmachines.rollout.interface import ObservationError, episode_limit
from rewardmachines.rollout.vector_environments import NotEvaluatedWarning, VectorSuite, function_of
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.verbs import train
from rollout.conftest import Trains
from rollout.rooms import CONFIG, MAX_STEPS, STEPS, TREE, Rooms, label_of, labelled, make_rooms, moved

MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]


def make_followed() -> HierarchyWrapper:
    """The rooms with the task beside them."""
    return HierarchyWrapper(make_rooms(), TREE)


def sync(make: Callable[[], Any] = make_followed, mode: AutoresetMode = MODES[0], *, same: bool = True) -> Any:
    """Environments side by side, made by one function or by functions of their own."""
    makers = [make if same else partial(make) for _ in range(CONFIG.environments)]
    return SyncVectorEnv(makers, autoreset_mode=mode)


class NativeRooms(VectorEnv[Any, Any, Any]):
    """Rooms that are stepped all at once, without single environments: they label themselves, and know their task."""

    def __init__(self) -> None:
        self.num_envs, self.metadata = CONFIG.environments, {"autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space, self.single_action_space = spaces.Discrete(CELLS), spaces.Discrete(4)
        self.observation_space = spaces.MultiDiscrete([CELLS] * self.num_envs)
        self.action_space = spaces.MultiDiscrete([4] * self.num_envs)
        self.propositions = PROPOSITIONS

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.cells, self.steps = np.full(self.num_envs, DOOR), np.zeros(self.num_envs, int)
        self.is_over = np.zeros(self.num_envs, bool)
        return self.cells.copy(), self._info()

    def _info(self) -> dict[str, Any]:
        labels = np.empty(self.num_envs, object)
        labels[:] = [label_of(int(cell)) for cell in self.cells]
        return {"label": labels}

    def step(self, actions: Any) -> Any:
        self.steps = np.where(self.is_over, 0, self.steps + 1)
        moves = [moved(int(cell), int(action)) for cell, action in zip(self.cells, actions, strict=True)]
        self.cells = np.where(self.is_over, DOOR, moves)
        terminated = np.array([label_of(int(cell)) == {"k"} for cell in self.cells]) & ~self.is_over
        truncated = (self.steps >= MAX_STEPS) & ~terminated
        self.is_over = terminated | truncated
        return self.cells.copy(), terminated.astype(float), terminated, truncated, self._info()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("same", [True, False])
def test_a_vector_environment_is_stepped_as_it_is_and_evaluated_where_a_function_makes_its_environments(
    mode: AutoresetMode, same: bool, trains: Trains
) -> None:
    envs = sync(mode=mode, same=same)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = trains(envs)
    said = [one for one in caught if issubclass(one.category, NotEvaluatedWarning)]
    assert len(said) == (0 if same else 1)
    rows = run.rows
    assert rows[-1].steps >= STEPS
    assert rows[-1].episodes == sum(sum(row.ended) for row in rows) > 0
    assert [row.returns is not None for row in rows] == [same and row.chunk % 2 == 0 for row in rows]
    assert run.config.gym is not None
    assert run.config.gym.is_vector
    if not same:
        with pytest.raises(RewardMachineError, match="one by one"):
            run.evaluate()
    policy = run.policy()
    policy.reset(label_of(DOOR))
    assert policy.act(DOOR, label_of(DOOR)) in range(4)
    assert envs.reset()[0].tolist() == [DOOR] * 4, "it belongs to the caller, and is left open"


def test_equal_seeds_give_equal_rows_and_the_same_as_environments_that_are_begun_one_by_one(trains: Trains) -> None:
    """Rooms leave nothing to chance, so that only actions depend on the seed."""
    one, again, other = (trains(sync(), seed=seed).rows for seed in (1, 1, 2))
    assert one == again != other
    alone = trains(make_rooms, seed=1)
    assert [(row.steps, row.goals, row.ended) for row in alone.rows] == [
        (row.steps, row.goals, row.ended) for row in one
    ]


def test_environments_in_other_processes_and_native_ones_are_stepped_likewise(trains: Trains) -> None:
    envs = AsyncVectorEnv([make_followed] * 4, autoreset_mode=MODES[1], context="spawn")
    rows = trains(envs).rows
    assert rows == trains(sync(mode=MODES[1])).rows
    assert rows[1].returns is not None
    with pytest.warns(NotEvaluatedWarning, match="no function makes single environments"):
        native = trains(NativeRooms(), "k")
    assert native.rows[-1].episodes > 0
    assert sum(sum(row.goals) for row in native.rows) > 0
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(sync())
    assert function_of(wrapped) is None, "what it shows may be something else"
    wrapped.close()


def test_a_run_that_is_resumed_begins_other_episodes_and_says_so(tmp_path: Path, trains: Trains) -> None:
    envs = sync()
    run = trains(envs, folder=tmp_path / "run")
    with pytest.warns(ReplayWarning, match=r"4 of 4 episodes could not be replayed.*vector environment"):
        again = train(envs, folder=tmp_path / "run", resume=True, steps=2 * STEPS)
    assert again.rows[: len(run.rows)] == run.rows
    assert again.rows[-1].steps == 2 * STEPS
    with pytest.warns(ReplayWarning):  # without it, the function that makes one goes on
        assert train(folder=tmp_path / "run", resume=True, steps=3 * STEPS).rows[-1].steps == 3 * STEPS
    assert open_run(tmp_path / "run").evaluate()[0].lengths


def test_what_needs_single_episodes_is_done_with_environments_that_are_begun_one_by_one(trains: Trains) -> None:
    run = trains(sync(), instances=2)
    assert run.config.gym is not None
    assert not run.config.gym.is_vector
    assert len((run.rows[1].returns or ((),))[0]) == 2
    assert not trains(sync(make_rooms)).config.gym.is_vector, "they are given the hierarchy"  # type: ignore[union-attr]
    for options in ({"instances": 2}, {"max_steps": 9}):
        with pytest.raises(RewardMachineError, match="cannot be begun one by one"):
            trains(sync(same=False), **options)
    with pytest.raises(RewardMachineError, match=r"do not follow the hierarchy: wrap each: HierarchyWrapper"):
        trains(sync(make_rooms, same=False))


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.filterwarnings("ignore:nothing is evaluated")
def test_vector_environments_follow_the_hierarchy_of_the_task(same: bool, trains: Trains) -> None:
    with pytest.raises(RewardMachineError, match=r"follows? another hierarchy"):
        trains(sync(same=same), "k")


def test_vector_environments_must_reset_themselves(trains: Trains) -> None:
    with pytest.raises(RewardMachineError, match="must be reset by themselves"):
        trains(sync(mode=AutoresetMode.DISABLED))


def test_settings_have_as_many_environments_as_there_are(trains: Trains) -> None:
    run = trains(sync(), settings=replace(CONFIG, environments=7), steps=1)
    assert run.config.settings.environments == 4
    suite = VectorSuite(sync(), GymTask("task", 1, make_followed, hierarchy=TREE))
    with closing(suite.envs), pytest.raises(RewardMachineError, match="has 4 environments, not 7"):
        suite.training_environments(replace(CONFIG, environments=7))


# -- what environments must be, one by one or side by side


class Steered(Rooms):
    """Rooms with a wheel."""

    action_space = spaces.Box(-1, 1, (2,))  # type: ignore[assignment]


class Told(Rooms):
    """Rooms that say in words where the agent is."""

    observation_space = spaces.Text(3)  # type: ignore[assignment]

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        cell, info = super().reset(**options)
        return f"c{cell}", info

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        cell, *rest = super().step(action)
        return f"c{cell}", *rest  # type: ignore[return-value]


class Shifted(Rooms):
    """Rooms whose cells are counted from 10, and whose actions from 1."""

    observation_space, action_space = spaces.Discrete(CELLS, start=10), spaces.Discrete(4, start=1)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        cell, info = super().reset(**options)
        return np.int64(10 + cell), info

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        cell, *rest = super().step(action - 1)
        return np.int64(10 + cell), *rest  # type: ignore[return-value]


def followed(env: type[Rooms], labels: Callable[[Any], Any] = lambda _: set[str]()) -> Callable[[], HierarchyWrapper]:
    def make() -> HierarchyWrapper:
        timed = gymnasium.wrappers.TimeLimit(env(), MAX_STEPS)
        return HierarchyWrapper(LabelingWrapper(timed, labels=labels, propositions=PROPOSITIONS), TREE)

    return make


@pytest.fixture(params=["one by one", "side by side"])
def begin(request: pytest.FixtureRequest, trains: Trains) -> Callable[..., Run]:
    """Trains in environments that a function makes, or in a vector of them."""

    def begin(make: Callable[[], Any], *arguments: Any, **options: Any) -> Run:
        is_alone = request.param == "one by one"
        return trains(make if is_alone else sync(make), *arguments, **{"steps": 1, **options})

    return begin


Begin = Callable[..., Run]


def test_environments_must_be_labelled_and_know_what_the_hierarchy_speaks_of(begin: Begin) -> None:
    with pytest.raises(RewardMachineError, match="LabelingWrapper"):
        begin(Rooms)
    with pytest.raises(UnknownPropositionError, match="'moon'"):
        begin(make_rooms, "moon")


def test_labels_that_are_not_among_those_that_were_announced_are_reported(begin: Begin) -> None:
    with pytest.raises(RewardMachineError, match="not among `labels`"):
        begin(make_followed, labels=[{"k"}, {"b"}, {"g"}])


def test_actions_must_be_discrete(begin: Begin) -> None:
    with pytest.raises(RewardMachineError, match=r"must be discrete.*DiscreteActions\(env"):
        begin(followed(Steered))


def test_observations_that_no_network_takes_must_be_encoded(begin: Begin) -> None:
    make = followed(Told)
    with pytest.raises(ObservationError, match="pass encode"):
        begin(make)
    with pytest.raises(ObservationError, match="not an array of numbers"):
        begin(make, encode=lambda text: text)

    def encode(text: str) -> Any:
        return np.eye(CELLS)[int(text[1:])]

    policy = begin(make, encode=encode).policy(encode=encode)
    policy.reset()
    assert policy.act("c3", set()) in range(4)


def test_numbers_of_cells_and_actions_may_begin_anywhere(begin: Begin) -> None:
    run = begin(followed(Shifted), steps=STEPS)
    assert (run.rows[-1].returns is None) is (run.rows[-1].chunk % 2 == 1)
    policy = run.policy()
    policy.reset()
    assert policy.act(np.int64(10 + DOOR), set()) in {1, 2, 3, 4}
    with pytest.raises(ObservationError, match="wrong observation"):
        policy.act(np.int64(3), set())


def test_an_agent_is_trained_with_settings_of_its_own(begin: Begin) -> None:
    with pytest.raises(RewardMachineError, match="settings of crm are a CrmConfig, not a HierarchicalDqnConfig"):
        begin(make_followed, agent="crm")


def test_the_longest_episode_is_what_the_environment_says() -> None:
    assert episode_limit(labelled(Rooms(), 30)) == 30
    assert episode_limit(Rooms()) is None
    rooms: Any = Rooms()
    rooms.max_steps = 12
    assert episode_limit(rooms) == 12
    Rooms.opened = 0


def test_a_task_that_is_done_at_the_first_label_can_be_trained(begin: Begin) -> None:
    """Every episode has one step."""
    done = rm.compile_task("k", propositions=PROPOSITIONS)

    def make() -> HierarchyWrapper:
        return HierarchyWrapper(LabelingWrapper(Rooms(), labels=lambda _: {"k"}, propositions=PROPOSITIONS), done)

    run = begin(make, done, labels=None, steps=STEPS)
    last = run.rows[-1]
    assert last.episodes == last.steps
    assert run.rows[1].mean_return == 1.0
    assert re.fullmatch(r"\(\(1\.0,\),\)", str(run.rows[1].lengths))
