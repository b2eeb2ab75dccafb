"""Networks for Q-functions: a body that computes features of an observation, and dense layers that compute values.

Everything is written for a batch of observations. Several Q-functions either have whole networks, stacked along a
leading axis (`separate`, as in the paper), or share one body and have heads (`shared`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from math import prod, sqrt
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Features = Float[Array, "B F"]
Chance: TypeAlias = np.random.Generator
"""The random generator of initial weights. Networks are made on the host, where nothing needs to be compiled, and are
the same on every device."""


class Body(Enum):
    """The kind of a network's body.

    CNN: the paper's three 2×2 convolutions, for grids. POOLED_CNN: with max-pooling after the first, for large grids.
    MLP and FLAT: none, the dense layers see the observation as a vector.
    """

    CNN = "cnn"
    POOLED_CNN = "pooled-cnn"
    MLP = "mlp"
    FLAT = "flat"


class Layer(eqx.Module):
    """A dense layer with the uniform initialization that PyTorch uses by default."""

    weight: Any
    bias: Any

    def __init__(self, inputs: int, outputs: int, chance: Chance) -> None:
        bound = 1 / sqrt(max(inputs, 1))
        self.weight = chance.uniform(-bound, bound, (inputs, outputs)).astype(np.float32)
        self.bias = chance.uniform(-bound, bound, outputs).astype(np.float32)

    def __call__(self, x: Float[Array, "*B I"]) -> Float[Array, "*B O"]:
        outputs: Float[Array, "*B O"] = x @ self.weight + self.bias
        return outputs


def _windows(x: Float[Array, "B X Y C"]) -> Float[Array, "B X-1 Y-1 4*C"]:
    """The four cells of every 2×2 window side by side. A convolution is then a matrix product, which is much faster."""
    return jnp.concatenate([x[:, :-1, :-1], x[:, :-1, 1:], x[:, 1:, :-1], x[:, 1:, 1:]], axis=-1)


def _pooled(x: Float[Array, "B X Y C"]) -> Float[Array, "B X//2 Y//2 C"]:
    """The maximum of every 2×2 window, without overlap; an odd last row or column is left out."""
    x = x[:, : x.shape[1] // 2 * 2, : x.shape[2] // 2 * 2]
    return jnp.maximum(jnp.maximum(x[:, ::2, ::2], x[:, ::2, 1::2]), jnp.maximum(x[:, 1::2, ::2], x[:, 1::2, 1::2]))


class Convolutions(eqx.Module):
    """Convolutions of 2×2 cells, with stride 1 and without padding. Observations have their channels first."""

    layers: list[Layer]
    pool: bool = eqx.field(static=True)

    def __init__(self, channels: int, filters: Sequence[int], pool: bool, chance: Chance) -> None:
        self.layers = [Layer(4 * i, o, chance) for i, o in pairwise((channels, *filters))]
        self.pool = pool

    def __call__(self, observations: Float[Array, "B C X Y"]) -> Features:
        x = jnp.moveaxis(observations, 1, -1)
        for number, layer in enumerate(self.layers):
            x = jax.nn.relu(layer(_windows(x)))
            if self.pool and number == 0:
                x = _pooled(x)
        return x.reshape(x.shape[0], -1)


class Dense(eqx.Module):
    """Dense layers with rectifiers between them, and after the last one if `ends_linear` is false."""

    layers: list[Layer]
    ends_linear: bool = eqx.field(static=True)
    normalizes: bool = eqx.field(static=True)

    def __init__(self, sizes: Sequence[int], chance: Chance, *, ends_linear: bool, normalizes: bool = False) -> None:
        self.layers = [Layer(i, o, chance) for i, o in pairwise(sizes)]
        self.ends_linear, self.normalizes = ends_linear, normalizes

    def __call__(self, x: Features) -> Features:
        x = x.reshape(x.shape[0], -1)
        for number, layer in enumerate(self.layers):
            x = layer(x)
            if not (self.ends_linear and number == len(self.layers) - 1):
                x = jax.nn.relu(_normalized(x) if self.normalizes else x)
        return x


def _normalized(x: Features) -> Features:
    """The features of each observation with a mean of 0 and a variance of 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a network."""

    body: Body = Body.CNN
    """The body, which computes features of an observation: convolutions for grids, none for vectors."""
    filters: tuple[int, ...] = (16, 32, 32)
    """Filters of the convolutions, if the body has any."""
    hidden: tuple[int, ...] = (256,)
    """Sizes of the layers between the body's features and the values."""
    normalizes: bool = False
    """Whether these layers are normalized before their rectifiers, which keeps units from dying when many inputs are
    the same in all observations."""


def build_body(config: NetworkConfig, shape: tuple[int, ...], chance: Chance) -> Convolutions | Dense:
    """The body of a network.

    Args:
        config: The shape of the network.
        shape: The shape of an observation.
        chance: Draws the weights.
    """
    if config.body in (Body.CNN, Body.POOLED_CNN):
        return Convolutions(shape[0], config.filters, config.body is Body.POOLED_CNN, chance)
    return Dense((), chance, ends_linear=False)


def features(config: NetworkConfig, shape: tuple[int, ...]) -> int:
    """The number of features that the body computes from an observation of a shape."""
    if config.body in (Body.CNN, Body.POOLED_CNN):
        _, x, y = shape
        if config.body is Body.POOLED_CNN:
            x, y = (x - 1) // 2 + 1, (y - 1) // 2 + 1
        return config.filters[-1] * (x - len(config.filters)) * (y - len(config.filters))
    return prod(shape)


class Network(eqx.Module):
    """A body, and dense layers on its features and on numbers that are inputs beside the observation."""

    body: Convolutions | Dense
    head: Dense

    def __init__(self, config: NetworkConfig, shape: tuple[int, ...], extra: int, outputs: int, chance: Chance) -> None:
        self.body = build_body(config, shape, chance)
        sizes = (features(config, shape) + extra, *config.hidden, outputs)
        self.head = Dense(sizes, chance, ends_linear=True, normalizes=config.normalizes)

    def __call__(self, observations: Float[Array, "B ..."], extra: Features | None = None) -> Float[Array, "B O"]:
        x = self.body(observations)
        return self.head(x if extra is None else jnp.concatenate([x, extra], axis=-1))


def single(network: Any) -> Any:
    """A network that was made on the host, as arrays of the device."""
    return jax.device_put(network)  # unlike `jnp.asarray`, it compiles nothing


def stacked(networks: Sequence[Any]) -> Any:
    """Several networks along a leading axis, as arrays of the device."""
    return single(jax.tree.map(lambda *parts: np.stack(parts), *networks))


def put_into(old: Array, where: Any, new: Any) -> Array:
    """The array with a part of it replaced, computed on the host, where nothing needs to be compiled."""
    changed = np.array(old)
    changed[where] = new
    placed: Array = jax.device_put(changed)
    return placed
