"""Pictures whose channels come last, and arrays made of observations: stored as bytes, shown as they should be."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import rewardmachines as rm
from rewardmachines.agents.gymnasium.observations import ObservationError, Reading, reading_of
from rewardmachines.agents.gymnasium.reading_record import ReadingRecord
from rewardmachines.agents.gymnasium.settings import GYMNASIUM
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.runs.records import from_plain, to_plain

SHAPE = (6, 5, 3)
PICTURE = np.random.default_rng(0).integers(0, 9, SHAPE, np.uint8)


def channels_first(space: spaces.Space[Any], example: Any = PICTURE) -> Reading:
    return reading_of(space, "channels-first", example)


@pytest.mark.parametrize(
    ("kind", "high", "bytes_each"), [(np.uint8, 255, 1), (np.uint8, 8, 1), (np.float32, 8, 4), (np.float64, 8, 4)]
)
def test_channels_come_first_and_storage_and_scale_stay_those_of_the_space(
    kind: type[Any], high: int, bytes_each: int
) -> None:
    space, picture = spaces.Box(0, high, SHAPE, kind), PICTURE.astype(kind)
    reading, plain = channels_first(space, picture), reading_of(space, None, picture)
    assert reading.shape == (3, 6, 5)
    assert reading.one(picture).itemsize == bytes_each
    assert reading.many(spaces.Box(0, high, (2, *SHAPE), kind), np.stack([picture] * 2)).itemsize == bytes_each
    shown, before = (np.asarray(r.recall(None, r.checked(picture))) for r in (reading, plain))
    assert np.array_equal(shown, before.transpose(2, 0, 1))
    assert shown.max() == pytest.approx(PICTURE.max() / (high if kind is np.uint8 else 1))


def test_only_pictures_have_channels() -> None:
    for space in (spaces.Discrete(3), spaces.Box(0, 1, (3,)), spaces.Text(2)):
        with pytest.raises(ObservationError, match="encode is a function or, for pictures, 'channels-first'"):
            channels_first(space)
    with pytest.raises(ObservationError, match="not 'channels-frist' for Box"):
        reading_of(spaces.Box(0, 255, SHAPE, np.uint8), "channels-frist", PICTURE)  # type: ignore[arg-type]
    with pytest.raises(ObservationError, match="a wrong observation"):
        channels_first(spaces.Box(0, 255, SHAPE, np.uint8)).checked(PICTURE.transpose(2, 0, 1))


def test_what_encode_returns_is_shown_as_it_is_and_bytes_are_stored_as_bytes() -> None:
    space = spaces.Dict({"picture": spaces.Box(0, 255, SHAPE, np.uint8)})

    def bytes_of(seen: Any) -> Any:
        return seen["picture"].transpose(2, 0, 1)

    reading = reading_of(space, bytes_of, {"picture": PICTURE})
    memory = reading.one({"picture": PICTURE})
    assert memory.dtype == reading.dtype == np.uint8
    assert reading.shape == (3, 6, 5)
    assert np.array_equal(np.asarray(reading.recall(None, memory)), PICTURE.transpose(2, 0, 1).astype(np.float32))
    assert reading_of(space, lambda seen: seen["picture"] > 4, {"picture": PICTURE}).dtype == np.uint8
    assert reading_of(space, lambda seen: seen["picture"] / 2, {"picture": PICTURE}).dtype == np.float32
    assert reading_of(space, lambda seen: seen["picture"].astype(int), {"picture": PICTURE}).dtype == np.float32


def test_numbers_that_were_bytes_before_must_stay_bytes() -> None:
    reading = reading_of(spaces.Discrete(3), lambda n: np.array([n], np.uint8) if n < 2 else np.array([n + 0.5]), 0)
    assert reading.one(1).tolist() == [1]
    with pytest.raises(ObservationError, match="encode returned an array of float64, and one of bytes before"):
        reading.one(2)


def test_a_record_of_a_reading_knows_about_channels() -> None:
    space = spaces.Box(0, 255, SHAPE, np.uint8)
    plain = json.loads(json.dumps(to_plain(ReadingRecord.of(channels_first(space)), brief=True)))
    record = from_plain(ReadingRecord, plain, "here")
    assert record.reading(None) == record.reading("channels-first") == channels_first(space)
    without = ReadingRecord.of(reading_of(space, None, PICTURE))
    assert "moves_channels" not in to_plain(without, brief=True)["recall"], (
        "records of earlier versions stay as they are"
    )
    with pytest.raises(ObservationError, match="observations were not encoded"):
        without.reading("channels-first")
    encoded = ReadingRecord.of(reading_of(space, lambda seen: seen, PICTURE))
    with pytest.raises(ObservationError, match="by a function: pass it again"):
        encoded.reading("channels-first")


class Gallery(gymnasium.Env[Any, Any]):
    """Shows a picture of where it stands: the brighter, the farther to the right."""

    observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 1
        return self._seen(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = min(self.place + int(action), 3)
        return self._seen(), 0.0, False, False, {}

    def _seen(self) -> Any:
        return np.full((8, 8, 3), 60 * self.place, np.uint8)


def test_agents_act_on_pictures_as_most_environments_show_them() -> None:
    task = rm.compile_task("right")

    def make() -> HierarchyWrapper:
        labelled = LabelingWrapper(
            Gallery(), labels=lambda seen: {"right"} if seen[0, 0, 0] == 180 else set(), propositions=["right"]
        )
        return HierarchyWrapper(labelled, task)

    small = GYMNASIUM.__class__(replay_size=20, replay_start=10)
    with pytest.raises(ObservationError, match=r"bring them to the front \(encode='channels-first'\)"):
        train_gymnasium(vectorize(make, 2), task, steps=0)
    trained = train_gymnasium(vectorize(make, 2), task, config=small, steps=0, encode="channels-first")
    assert trained.policy.act(make().reset()[0], set()) in {0, 1}
