"""Trees of arrays, such as networks, compared."""

from __future__ import annotations

import jax
import numpy as np


def same(one: object, other: object) -> bool:
    """Whether two trees have the same structure and equal arrays."""
    return bool(jax.tree.all(jax.tree.map(np.array_equal, one, other)))
