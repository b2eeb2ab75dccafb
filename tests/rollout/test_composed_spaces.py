"""Every space of Gymnasium, as that of observations and as that of actions: it works, or one line says what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import batch_space, iterate

import rewardmachines as rm
from rewardmachines.agents.crm.config import crm_settings
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.rollout.composed_spaces import SpaceRecord, record_of
from rewardmachines.rollout.interface import ObservationError, codec_for
from rewardmachines.runs.run import open_run
from rewardmachines.runs.verbs import train
from rollout.conftest import Trains
from rollout.rooms import CONFIG

LAST = 2
"""The cell at the right end of the corridor."""
CELLS = range(LAST + 1)
TASK = rm.compile_task("right", propositions=["right"])
TINY = crm_settings(
    replace(CONFIG, environments=2, chunk=4, batch=4, replay_start=8, network=replace(CONFIG.network, hidden=(4,)))
)
PICTURES = replace(TINY, network=NetworkConfig(filters=(2, 2, 2), hidden=(4,)))
STEPS = 2 * TINY.environments * TINY.chunk


@dataclass(frozen=True)
class Row:
    """A space of observations or of actions."""

    space: spaces.Space[Any]
    made: Callable[[Any], Any] = int
    """The observation of a cell; or of an action, the number of cells to the right."""
    says: str = ""
    """What is printed once when a run begins."""
    error: str = ""
    """What is said instead, where the space does not work."""
    encode: Any = None
    settings: Any = TINY

    def __str__(self) -> str:
        return f"{type(self.space).__name__}{list(self.space.shape or ())}"


PICTURE = spaces.Box(0, 255, (8, 8, 3), np.uint8)
CAMERA = spaces.Dict({"camera": PICTURE, "cell": spaces.Discrete(3)})
PARTS = spaces.Dict(
    {"at": spaces.Discrete(3, start=1), "flags": spaces.MultiBinary(2), "deep": spaces.Tuple([spaces.Box(0, 99, ())])}
)
TEXT = spaces.Text(4)
GRAPH = spaces.Graph(spaces.Box(0, 1, (2,)), None)
NO_NUMBERS = ": pass encode, a function of one observation to an array of numbers"

OBSERVATIONS = [
    Row(spaces.Box(0, 2, ()), np.float32, "observations (one number) are flattened to 1 number"),
    Row(spaces.Box(0, 2, (3,)), lambda cell: np.full(3, cell, np.float32)),
    Row(
        spaces.Box(0, 2, (2, 3)),
        lambda cell: np.full((2, 3), cell, np.float32),
        "observations (2 × 3 numbers) are flattened to 6 numbers",
    ),
    Row(
        spaces.Box(0, 255, (16, 16), np.uint8),
        lambda cell: np.full((16, 16), 100 * cell, np.uint8),
        "observations (16 × 16 numbers) are taken for pictures with one channel",
        settings=PICTURES,
    ),
    Row(PICTURE, lambda cell: np.full((8, 8, 3), 100 * cell, np.uint8), encode="channels-first", settings=PICTURES),
    Row(PICTURE, error="bring them to the front (encode='channels-first')", settings=None),
    Row(spaces.Box(0, 1, (2, 2, 2, 2)), error="could mean anything: pass a network, or encode them", settings=None),
    Row(spaces.Discrete(3)),
    Row(
        spaces.MultiDiscrete([2, 3], start=[5, 1]),
        lambda cell: np.array([5, 1 + cell]),
        "observations (2 choices) are flattened to 5 numbers",
    ),
    Row(
        spaces.MultiBinary((2, 2)),
        lambda cell: np.array([[1, cell > 0], [0, cell > 1]], np.int8),
        "observations (2 × 2 flags) are flattened to 4 numbers",
    ),
    Row(
        spaces.Tuple([spaces.Discrete(3), spaces.Box(-1, 1, (2,))]),
        lambda cell: (cell, np.zeros(2, np.float32)),
        "observations (a tuple of 2 parts) are flattened to 5 numbers",
    ),
    Row(
        PARTS,
        lambda cell: {"at": 1 + cell, "flags": np.array([1, 0], np.int8), "deep": (np.float32(30 * cell),)},
        "observations (a dict of at, deep, flags) are flattened to 6 numbers",
    ),
    Row(CAMERA, error=", whose ['camera'] is Box(0, 255, (8, 8, 3), uint8)" + NO_NUMBERS),
    Row(spaces.Tuple([spaces.Dict({"a": TEXT})]), error=", whose [0]['a'] is Text(1, 4, charset=" + "..." + NO_NUMBERS),
    Row(spaces.Dict({}), error="which have 0 numbers when each choice is one-hot (at most 65,536)" + NO_NUMBERS),
    Row(spaces.MultiDiscrete([9**6]), error="which have 531,441 numbers when each choice is one-hot"),
    Row(TEXT, lambda cell: "abc"[cell], error=NO_NUMBERS),
    Row(TEXT, lambda cell: "abc"[cell], encode=lambda seen: np.eye(3)["abc".index(seen)]),
    Row(spaces.Sequence(spaces.Discrete(3)), lambda cell: (cell,), error=NO_NUMBERS),
    Row(GRAPH, lambda cell: GRAPH.sample(), error=NO_NUMBERS),
    Row(spaces.OneOf([spaces.Discrete(3), TEXT]), lambda cell: (0, cell), error=NO_NUMBERS),
]
WORKING = [row for row in OBSERVATIONS if not row.error]

NOT_DISCRETE = "; wrap the environment below the labels: gymnasium.wrappers.TransformAction("
ACTIONS = [
    Row(spaces.Discrete(2, start=3), lambda action: action - 3),
    Row(spaces.MultiDiscrete([2, 3]), lambda action: action[0], "actions (2 choices) are one choice of 6 combinations"),
    Row(spaces.MultiBinary(2), lambda action: action[0], "actions (2 flags) are one choice of 4 combinations"),
    Row(
        spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(1)]),
        lambda action: action[0],
        "actions (a tuple of 2 parts) are one choice of 4 combinations",
    ),
    Row(
        spaces.Dict(
            {
                "go": spaces.Discrete(2, start=5),
                "look": spaces.MultiDiscrete(np.full((2, 1), 2), start=np.array([[1], [2]])),
            }
        ),
        lambda action: action["go"] - 5,
        "actions (a dict of go, look) are one choice of 8 combinations",
    ),
    Row(spaces.Discrete(300), error="300 actions are too many: at most 256" + NOT_DISCRETE),
    Row(spaces.MultiDiscrete([10, 10, 10]), error="1,000 actions are too many: at most 256" + NOT_DISCRETE),
    Row(spaces.Box(-1, 1, (2,)), error="rewardmachines.envs.DiscreteActions(env, levels=5)"),
    Row(spaces.Dict({"go": spaces.Discrete(2), "by": spaces.Box(0, 1, ())}), error=NOT_DISCRETE),
    Row(spaces.Dict({"go": spaces.Discrete(2), "say": TEXT}), error=", whose ['say'] is Text(1, 4"),
    Row(TEXT, error=NOT_DISCRETE),
    Row(spaces.Sequence(spaces.Discrete(3)), error=NOT_DISCRETE),
    Row(GRAPH, error=NOT_DISCRETE),
    Row(spaces.OneOf([spaces.Discrete(3)]), error=NOT_DISCRETE),
]
CHOSEN = [row for row in ACTIONS if not row.error]


class Corridor(gymnasium.Env[Any, Any]):
    """A corridor of three cells, in which one walks to the right or stays."""

    def __init__(self, seen: Row, acts: Row) -> None:
        self.observation_space, self.action_space, self._seen, self._acts = seen.space, acts.space, seen, acts

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0
        return self._shown(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert self.action_space.contains(action)
        self.cell = min(self.cell + int(self._acts.made(action)), LAST)
        return self._shown(), 0.0, False, False, {}

    def _shown(self) -> Any:
        return self._seen.made(self.cell) if not self._seen.error else self.observation_space.sample()


def maker(seen: Row = OBSERVATIONS[7], acts: Row = ACTIONS[1]) -> Callable[[], LabelingWrapper]:
    """Makes corridors with labels, in episodes of at most nine steps."""

    def make() -> LabelingWrapper:
        corridor = Corridor(seen, acts)
        return LabelingWrapper(
            gymnasium.wrappers.TimeLimit(corridor, 9),
            labels=lambda _: {"right"} if corridor.cell == LAST else set(),
            propositions=["right"],
        )

    return make


def begin(trains: Trains, row: Row, make: Any, **options: Any) -> Any:
    usual = {"agent": "crm", "settings": row.settings, "labels": None, "steps": STEPS, "encode": row.encode}
    return trains(make, TASK, **{**usual, **options})


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines about spaces that were printed since the last call."""
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith(("observations", "actions"))]


# -- vectors and combinations


@pytest.mark.parametrize("row", [row for row in WORKING if row.says], ids=str)
def test_vectors_are_those_of_gymnasium(row: Row) -> None:
    record, batch = record_of(row.space), batch_space(row.space, 3)
    codec = codec_for(row.space, None, row.space.sample())
    batch.seed(0)
    several = batch.sample()
    each = list(iterate(batch, several))
    for one, memory in zip(each, codec.many(batch, several), strict=True):
        expected: Any = spaces.flatten(row.space, one)
        assert np.array_equal(record.vector(one, np.dtype(np.float64)), expected)
        assert np.array_equal(codec.checked(one), memory)
        sizes = codec.recall.greatest if codec.recall.sizes is None else np.array(codec.recall.sizes)
        shown = np.asarray(codec.recall(None, memory)).ravel() * sizes
        assert np.allclose(shown, expected, rtol=1e-5)
    assert record.size == spaces.flatdim(row.space)


def test_numbers_are_shown_as_fractions_of_large_bounds_and_bytes_are_stored_as_bytes() -> None:
    codec = codec_for(PARTS, None, PARTS.sample())
    assert list(codec.recall.sizes or ()) == [1, 1, 1, 99, 1, 1]
    table = spaces.Box(0, 9, (2, 2), np.uint8)
    assert codec_for(table, None, None).dtype == "uint8"
    assert codec_for(table, None, table.sample()).recall.greatest == 9
    assert codec_for(spaces.MultiBinary(3), None, None).dtype == "uint8"


@pytest.mark.parametrize("row", [row for row in CHOSEN if row.says], ids=str)
def test_every_combination_of_actions_has_one_number(row: Row) -> None:
    record = record_of(row.space)
    numbers = np.arange(record.combinations)
    each = [record.combination(int(number)) for number in numbers]
    assert all(row.space.contains(one) for one in each)
    assert len({str(one) for one in each}) == len(each)
    batch = batch_space(row.space, len(each))
    assert batch.contains(record.combination(numbers))
    assert [str(one) for one in iterate(batch, record.combination(numbers))] == [str(one) for one in each]


@pytest.mark.parametrize("row", [row for row in [*WORKING, *CHOSEN] if row.says], ids=str)
def test_a_space_is_kept_in_a_record(row: Row) -> None:
    record = record_of(row.space)
    kept = from_plain(SpaceRecord, json.loads(json.dumps(to_plain(record))), "here")
    assert kept == record
    assert record_of(kept.space()) == record


def test_a_policy_refuses_what_is_not_in_the_space() -> None:
    codec = codec_for(PARTS, None, PARTS.sample())
    for wrong, fault in (
        ({"at": 0, "flags": np.array([0, 1]), "deep": (1.0,)}, "in its part 'at', 0 is out of the space"),
        ({"at": 1, "flags": np.array([0, 2]), "deep": (1.0,)}, "in its part 'flags', number 1 is 2"),
        ({"at": 1, "flags": np.array([0, 1]), "deep": ()}, "in its part 'deep', it has 0 parts"),
        (np.zeros(6), "it is of type ndarray, but the space has the parts 'at', 'deep', 'flags'"),
    ):
        with pytest.raises(ObservationError, match=fault):
            codec.checked(wrong)


# -- whole runs


PAIRS = [(row, CHOSEN[i % len(CHOSEN)]) for i, row in enumerate(WORKING)]
"""Each space of observations, each space of actions: programs are compiled for every pair."""


@pytest.mark.parametrize(("row", "acts"), PAIRS, ids=str)
def test_agents_learn_in_spaces_go_on_and_act(
    row: Row, acts: Row, trains: Trains, capsys: pytest.CaptureFixture[str]
) -> None:
    make = maker(row, acts)
    run = begin(trains, row, make)
    assert said(capsys) == [line for line in (row.says, acts.says) if line]
    again = train(make, TASK, folder=run.folder, resume=True, steps=2 * STEPS, encode=row.encode)
    assert isinstance(again, rm.Run)
    assert said(capsys) == []
    assert again.rows == begin(trains, row, make, steps=2 * STEPS).rows
    assert again.rows[-1].returns is not None
    policy = open_run(run.folder).policy(encode=row.encode)
    for cell in CELLS:
        policy.reset()
        assert acts.space.contains(policy.act(row.made(cell), set()))
    assert rm.play(HierarchyWrapper(make(), TASK), policy)[1] <= 9


@pytest.mark.parametrize("row", [row for row in OBSERVATIONS if row.error], ids=str)
def test_observations_that_no_network_takes_are_refused_in_a_line_that_says_what_to_do(
    row: Row, trains: Trains
) -> None:
    for where in (maker(row), SyncVectorEnv([maker(row)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)):
        with pytest.raises(ObservationError) as caught:
            begin(trains, row, where)
        told = str(caught.value)
        assert all(part in told for part in row.error.split("..."))
        assert "\n" not in told


@pytest.mark.parametrize("row", [row for row in ACTIONS if row.error], ids=str)
def test_actions_that_are_no_choice_are_refused_in_a_line_that_says_what_to_do(row: Row, trains: Trains) -> None:
    with pytest.raises(RewardMachineError) as caught:
        begin(trains, row, maker(acts=row), settings=TINY)
    assert row.error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("row", "acts"), [pair for pair in PAIRS if pair[0].says][-2:], ids=str)
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP], ids=lambda mode: mode.value)
def test_spaces_work_in_vector_environments_as_they_are(
    row: Row, acts: Row, mode: AutoresetMode, trains: Trains
) -> None:
    def make() -> HierarchyWrapper:
        return HierarchyWrapper(maker(row, acts)(), TASK)

    run = begin(trains, row, SyncVectorEnv([make] * TINY.environments, autoreset_mode=mode))
    assert run.rows[-1].steps >= STEPS // 2
    policy = run.policy()
    policy.reset()
    assert acts.space.contains(policy.act(row.made(0), set()))


def test_environments_that_all_end_at_once_are_reset_by_the_next_step(trains: Trains) -> None:
    """No action is taken in that step, yet the run goes on."""

    def make() -> HierarchyWrapper:
        return HierarchyWrapper(gymnasium.wrappers.TimeLimit(maker()(), 1), TASK)

    envs = SyncVectorEnv([make] * TINY.environments, autoreset_mode=AutoresetMode.NEXT_STEP)
    assert begin(trains, OBSERVATIONS[7], envs).rows[-1].steps >= STEPS


def test_a_run_goes_on_only_in_the_same_space(trains: Trains) -> None:
    run = begin(trains, WORKING[0], maker(WORKING[0]))
    with pytest.raises(RewardMachineError, match="observations"):
        train(maker(WORKING[2]), TASK, folder=run.folder, resume=True, steps=2 * STEPS)
