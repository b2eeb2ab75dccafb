"""Networks: what normalized layers do not depend on."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardmachines.agents.networks import Body, Network, NetworkConfig

SHAPE = (2, 3, 3)


def _network(seed: int, *, normalizes: bool) -> Network:
    config = NetworkConfig(Body.FLAT, hidden=(16, 8), normalizes=normalizes)
    return Network(config, SHAPE, 0, 4, np.random.default_rng(seed))


def _values(network: Network, seed: int) -> Any:
    observations = np.random.default_rng(seed).uniform(0, 1, (5, *SHAPE)).astype(np.float32)
    return np.asarray(network(jnp.asarray(observations)))


def _changed(network: Network, weight: float, bias: float) -> Network:
    """The first layer with weights that are so many times as large, and all biases moved alike."""
    first = network.head.layers[0]
    changed: Network = eqx.tree_at(
        lambda net: (net.head.layers[0].weight, net.head.layers[0].bias),
        network,
        (weight * first.weight, weight * first.bias + bias),
    )
    return changed


@given(st.integers(0, 99), st.floats(0.5, 50), st.floats(-50, 50))
@settings(max_examples=25, deadline=None)
def test_normalized_layers_depend_neither_on_the_scale_nor_on_a_common_shift(
    seed: int, weight: float, bias: float
) -> None:
    """A shift that is common to all units is what makes a layer without it fall silent."""
    network = _network(seed, normalizes=True)
    assert _values(_changed(network, weight, bias), seed) == pytest.approx(_values(network, seed), rel=1e-2, abs=1e-2)


def test_layers_without_it_fall_silent() -> None:
    silent = _changed(_network(0, normalizes=False), 1.0, -50.0)
    values = _values(silent, 0)
    assert (values == values[0]).all()  # whatever is observed
    assert np.ptp(_values(_changed(_network(0, normalizes=True), 1.0, -50.0), 0), axis=0).max() > 0.01
