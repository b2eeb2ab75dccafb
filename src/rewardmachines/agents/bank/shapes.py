"""The shapes of a bank's networks, as its manifest describes them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import numpy as np

from rewardmachines.agents.bank.manifest import Manifest
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.formula_q import fresh_networks
from rewardmachines.agents.networks import Body, Network, NetworkConfig, features, stacked
from rewardmachines.core.errors import RewardMachineError


def network_shapes(manifest: Manifest, numbers: int, where: str) -> tuple[Any, Any]:
    """The shapes of the networks of formulas, and of those of machines.

    Args:
        manifest: What they look like.
        numbers: How many numbers there are in the file of networks.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: There are no such networks, or they do not have so many numbers. Networks are made to know
            their shapes, and a damaged manifest may ask for more than there is memory for.
    """
    sizes, interface, actions = manifest.sizes, manifest.interface, len(manifest.interface.actions)
    extra = sizes.states + len(interface.propositions)
    outputs, copies = (sizes.slots * actions, 1) if sizes.layout is Layout.SHARED else (actions, sizes.slots)
    wanted = copies * _parameters(sizes.network, interface.shape, 0, outputs, where)
    wanted += len(manifest.machines) * _parameters(sizes.call_network, interface.shape, extra, sizes.outputs, where)
    if wanted != numbers:
        raise RewardMachineError(f"{where}: damaged, or of another version: {numbers:,} numbers, not {wanted:,}")
    config = HierarchicalDqnConfig(layout=sizes.layout, network=sizes.network, call_network=sizes.call_network)

    def make() -> tuple[Any, Any]:
        chance = np.random.default_rng(0)
        calls = [Network(sizes.call_network, interface.shape, extra, sizes.outputs, chance) for _ in manifest.machines]
        return fresh_networks(config, sizes.slots, interface.shape, actions, chance), stacked(calls)

    shapes: tuple[Any, Any] = jax.eval_shape(make)
    return shapes


def _parameters(config: NetworkConfig, shape: tuple[int, ...], extra: int, outputs: int, where: str) -> int:
    """The number of weights and biases of a network."""
    has_filters = config.body in (Body.CNN, Body.POOLED_CNN)
    known = (*shape, *config.hidden, outputs, *(config.filters if has_filters else ()))
    if min(known) < 1 or (has_filters and (len(shape) != 3 or not config.filters)):
        raise RewardMachineError(f"{where}: damaged, there are no networks of such sizes")
    if (inputs := features(config, shape) + extra) < 1:
        raise RewardMachineError(f"{where}: damaged, observations are too small for so many filters")
    body = sum(4 * i * o + o for i, o in pairwise((shape[0], *config.filters))) if has_filters else 0
    return body + sum(i * o + o for i, o in pairwise((inputs, *config.hidden, outputs)))
