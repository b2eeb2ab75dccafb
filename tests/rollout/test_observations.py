"""Observations of Gymnasium environments: what is stored of them, what networks see, and which settings suit them."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rewardmachines.agents.crm.config import CrmConfig, crm_settings
from rewardmachines.agents.hierarchical_dqn.config import CallConfig, HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import CRM, HRL
from rewardmachines.envs import LabelingWrapper
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.rollout.gym_settings import GYMNASIUM, settled, usual_settings
from rewardmachines.rollout.interface import (
    ObservationCodec,
    ObservationError,
    body_for,
    check_network,
    codec_for,
)
from rollout.conftest import Trains


def test_networks_are_chosen_by_the_shape_of_observations() -> None:
    assert body_for((5,)) is Body.MLP
    assert body_for((3, 8, 8)) is Body.CNN
    with pytest.raises(ObservationError, match="channels last"):
        body_for((84, 84, 3))
    with pytest.raises(ObservationError, match="could mean anything"):
        body_for((4, 4))
    assert settled(None, GYMNASIUM, NetworkConfig(Body.MLP), (4, 4)).calls.network.body is Body.MLP
    chosen = settled(None, GYMNASIUM, None, (3, 8, 8))
    assert chosen.network.body is chosen.calls.network.body is Body.CNN
    assert settled(None, crm_settings(GYMNASIUM), None, (3, 8, 8)).network.body is Body.CNN


def test_networks_must_fit_the_observations() -> None:
    check_network(NetworkConfig(Body.CNN), (3, 4, 4))
    with pytest.raises(ObservationError, match="too small"):
        check_network(NetworkConfig(Body.CNN), (3, 3, 8))
    with pytest.raises(ObservationError, match="channels first"):
        settled(HierarchicalDqnConfig(), GYMNASIUM, None, (6,))


def test_bytes_are_remembered_as_bytes_and_recalled_between_0_and_1() -> None:
    space = spaces.Box(0, 255, (1, 4, 4), np.uint8)
    picture = np.full((1, 4, 4), 255, np.uint8)
    codec = codec_for(space, None, picture)
    assert codec.one(picture).dtype == np.uint8
    assert np.asarray(codec.recall(None, codec.one(picture))).tolist() == np.ones((1, 4, 4)).tolist()


def test_numbers_are_recalled_one_hot() -> None:
    codec = codec_for(spaces.Discrete(3, start=-1), None, 0)
    assert codec.one(-1) == 0
    assert np.asarray(codec.recall(None, codec.one(1))).tolist() == [0, 0, 1]


def test_settings_fit_the_length_of_episodes_and_the_size_of_observations() -> None:
    cells = codec_for(spaces.Discrete(16), None, 0)
    many = codec_for(spaces.Discrete(500), None, 0)
    numbers = codec_for(spaces.Box(-1, 1, (3,), np.float32), None, np.zeros(3))
    discounts = [usual_settings(HRL, cells, limit).discount for limit in (50, 100, 200, 1_000, None)]
    assert discounts == [0.9, 0.9, 0.95, 0.98, 0.98]
    discounts = [usual_settings(HRL, numbers, limit).discount for limit in (10, 50, 200, 1_000)]
    assert discounts == [0.9, 0.96, 0.99, 0.99]
    assert [usual_settings(HRL, one, 100).exploration.steps for one in (cells, many)] == [5_000, 50_000]
    assert [usual_settings(HRL, one, 100).updates for one in (cells, many, numbers)] == [1, 2, 2]
    assert [usual_settings(HRL, one, 100).persistence for one in (cells, numbers)] == [0, 0.9]
    assert isinstance(usual_settings(CRM, cells, 100), CrmConfig)


def test_numbers_with_tiny_or_huge_bounds_are_shown_as_fractions_of_them() -> None:
    bounds = np.array([1.2, 0.07, 500, np.inf], np.float32)
    codec = codec_for(spaces.Box(-bounds, bounds), None, np.zeros(4))
    shown = codec.recall(None, np.array([1.2, 0.07, 500, 3], np.float32))
    assert np.allclose(shown, [1.2, 1, 1, 3])
    assert codec_for(spaces.Box(-1, 1, (3,), np.float32), None, np.zeros(3)).recall.sizes is None


# -- pictures

SHAPE = (6, 5, 3)
PICTURE = np.random.default_rng(0).integers(0, 9, SHAPE, np.uint8)


def channels_first(space: spaces.Space[Any], example: Any = PICTURE) -> ObservationCodec:
    return codec_for(space, "channels-first", example)


@pytest.mark.parametrize(
    ("kind", "high", "bytes_each"), [(np.uint8, 255, 1), (np.uint8, 8, 1), (np.float32, 8, 4), (np.float64, 8, 4)]
)
def test_channels_come_first_and_storage_and_scale_stay_those_of_the_space(
    kind: type[Any], high: int, bytes_each: int
) -> None:
    space, picture = spaces.Box(0, high, SHAPE, kind), PICTURE.astype(kind)
    codec, plain = channels_first(space, picture), codec_for(space, None, picture)
    assert codec.shape == (3, 6, 5)
    assert codec.one(picture).itemsize == bytes_each
    assert codec.many(spaces.Box(0, high, (2, *SHAPE), kind), np.stack([picture] * 2)).itemsize == bytes_each
    shown, before = (np.asarray(r.recall(None, r.checked(picture))) for r in (codec, plain))
    assert np.array_equal(shown, before.transpose(2, 0, 1))
    assert shown.max() == pytest.approx(PICTURE.max() / (high if kind is np.uint8 else 1))


def test_only_pictures_have_channels() -> None:
    for space in (spaces.Discrete(3), spaces.Box(0, 1, (3,)), spaces.Text(2)):
        with pytest.raises(ObservationError, match="encode is a function or, for pictures, 'channels-first'"):
            channels_first(space)
    with pytest.raises(ObservationError, match="not 'channels-frist' for Box"):
        codec_for(spaces.Box(0, 255, SHAPE, np.uint8), "channels-frist", PICTURE)  # type: ignore[arg-type]
    with pytest.raises(ObservationError, match="a wrong observation"):
        channels_first(spaces.Box(0, 255, SHAPE, np.uint8)).checked(PICTURE.transpose(2, 0, 1))


def test_what_encode_returns_is_shown_as_it_is_and_bytes_are_stored_as_bytes() -> None:
    space = spaces.Dict({"picture": spaces.Box(0, 255, SHAPE, np.uint8)})

    def bytes_of(seen: Any) -> Any:
        return seen["picture"].transpose(2, 0, 1)

    codec = codec_for(space, bytes_of, {"picture": PICTURE})
    memory = codec.one({"picture": PICTURE})
    assert memory.dtype == codec.stored == np.uint8
    assert codec.shape == (3, 6, 5)
    assert np.array_equal(np.asarray(codec.recall(None, memory)), PICTURE.transpose(2, 0, 1).astype(np.float32))
    assert codec_for(space, lambda seen: seen["picture"] > 4, {"picture": PICTURE}).stored == np.uint8
    assert codec_for(space, lambda seen: seen["picture"] / 2, {"picture": PICTURE}).stored == np.float32
    assert codec_for(space, lambda seen: seen["picture"].astype(int), {"picture": PICTURE}).stored == np.float32


def test_numbers_that_were_bytes_before_must_stay_bytes() -> None:
    codec = codec_for(spaces.Discrete(3), lambda n: np.array([n], np.uint8) if n < 2 else np.array([n + 0.5]), 0)
    assert codec.one(1).tolist() == [1]
    with pytest.raises(ObservationError, match="encode returned an array of float64, and one of bytes before"):
        codec.one(2)


def test_a_codec_is_kept_in_a_record_and_knows_about_channels() -> None:
    space = spaces.Box(0, 255, SHAPE, np.uint8)

    def kept(codec: ObservationCodec) -> ObservationCodec:
        found: ObservationCodec = from_plain(ObservationCodec, json.loads(json.dumps(to_plain(codec))), "here")
        return found

    record = kept(channels_first(space))
    assert record.with_encode(None) == record.with_encode("channels-first") == channels_first(space)
    with pytest.raises(ObservationError, match="observations were not encoded"):
        kept(codec_for(space, None, PICTURE)).with_encode("channels-first")
    encoded = kept(codec_for(space, lambda seen: seen, PICTURE))
    with pytest.raises(ObservationError, match="pass it again"):
        encoded.with_encode(None)
    with pytest.raises(ObservationError, match="by a function: pass it again"):
        encoded.with_encode("channels-first")
    assert encoded.with_encode(np.asarray).one(PICTURE).tolist() == PICTURE.tolist()


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


def test_agents_act_on_pictures_as_most_environments_show_them(trains: Trains) -> None:
    def make() -> LabelingWrapper:
        return LabelingWrapper(
            Gallery(), labels=lambda seen: {"right"} if seen[0, 0, 0] == 180 else set(), propositions=["right"]
        )

    with pytest.raises(ObservationError, match=r"bring them to the front \(encode='channels-first'\)"):
        trains(make, "right", settings=None, labels=None, steps=1)
    network = NetworkConfig(Body.CNN, filters=(2, 2, 2), hidden=(4,))
    config = HierarchicalDqnConfig(
        environments=2, replay_size=20, replay_start=20, chunk=2, network=network, calls=CallConfig(network=network)
    )
    run = trains(make, "right", settings=config, labels=None, steps=1, encode="channels-first")
    policy = run.policy()
    policy.reset()
    assert policy.act(make().reset()[0], set()) in {0, 1}
