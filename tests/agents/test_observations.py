"""Observations and settings of training in Gymnasium environments: what networks see, and which ones suit it."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from rewardmachines.agents.config import Algorithm
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.gymnasium.observations import ObservationError, body_for, check_network, reading_of
from rewardmachines.agents.gymnasium.settings import GYMNASIUM, GYMNASIUM_CRM, settled, usual_settings
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import Body, NetworkConfig


def test_networks_are_chosen_by_the_shape_of_observations() -> None:
    assert body_for((5,)) is Body.MLP
    assert body_for((3, 8, 8)) is Body.CNN
    with pytest.raises(ObservationError, match="channels last"):
        body_for((84, 84, 3))
    with pytest.raises(ObservationError, match="could mean anything"):
        body_for((4, 4))
    assert settled(None, GYMNASIUM, NetworkConfig(Body.MLP), (4, 4)).call_network.body is Body.MLP
    chosen = settled(None, GYMNASIUM, None, (3, 8, 8))
    assert chosen.network.body is chosen.call_network.body is Body.CNN
    assert settled(None, GYMNASIUM_CRM, None, (3, 8, 8)).network.body is Body.CNN


def test_networks_must_fit_the_observations() -> None:
    check_network(NetworkConfig(Body.CNN), (3, 4, 4))
    with pytest.raises(ObservationError, match="too small"):
        check_network(NetworkConfig(Body.CNN), (3, 3, 8))
    with pytest.raises(ObservationError, match="channels first"):
        settled(HierarchicalDqnConfig(), GYMNASIUM, None, (6,))


def test_bytes_are_remembered_as_bytes_and_recalled_between_0_and_1() -> None:
    space = spaces.Box(0, 255, (1, 4, 4), np.uint8)
    picture = np.full((1, 4, 4), 255, np.uint8)
    reading = reading_of(space, None, picture)
    assert reading.one(picture).dtype == np.uint8
    assert np.asarray(reading.recall(None, reading.one(picture))).tolist() == np.ones((1, 4, 4)).tolist()


def test_numbers_are_recalled_one_hot() -> None:
    reading = reading_of(spaces.Discrete(3, start=-1), None, 0)
    assert reading.one(-1) == 0
    assert np.asarray(reading.recall(None, reading.one(1))).tolist() == [0, 0, 1]


def test_settings_fit_the_length_of_episodes_and_the_size_of_observations() -> None:
    cells = reading_of(spaces.Discrete(16), None, 0)
    many = reading_of(spaces.Discrete(500), None, 0)
    numbers = reading_of(spaces.Box(-1, 1, (3,), np.float32), None, np.zeros(3))
    discounts = [usual_settings(Algorithm.HRL, cells, limit).discount for limit in (50, 100, 200, 1_000, None)]
    assert discounts == [0.9, 0.9, 0.95, 0.98, 0.98]
    discounts = [usual_settings(Algorithm.HRL, numbers, limit).discount for limit in (10, 50, 200, 1_000)]
    assert discounts == [0.9, 0.96, 0.99, 0.99]
    assert [usual_settings(Algorithm.HRL, one, 100).annealing_steps for one in (cells, many)] == [5_000, 50_000]
    assert [usual_settings(Algorithm.HRL, one, 100).updates for one in (cells, many, numbers)] == [1, 2, 2]
    assert [usual_settings(Algorithm.HRL, one, 100).persistence for one in (cells, numbers)] == [0, 0.9]
    assert isinstance(usual_settings(Algorithm.CRM, cells, 100), CrmConfig)


def test_numbers_with_tiny_or_huge_bounds_are_shown_as_fractions_of_them() -> None:
    bounds = np.array([1.2, 0.07, 500, np.inf], np.float32)
    reading = reading_of(spaces.Box(-bounds, bounds), None, np.zeros(4))
    shown = reading.recall(None, np.array([1.2, 0.07, 500, 3], np.float32))
    assert np.allclose(shown, [1.2, 1, 1, 3])
    assert reading_of(spaces.Box(-1, 1, (3,), np.float32), None, np.zeros(3)).recall.sizes is None
