"""Labels as bit sets, and formulas as pairs of masks. Mirrors `core/formula.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt32

from rewardmachines.core.errors import UnknownPropositionError
from rewardmachines.core.formula import Conjunction, Label

WORD: Final = 32
"""Bits of a word."""


@dataclass(frozen=True)
class LabelBits:
    """The order of propositions in a label: the i-th proposition is bit i % 32 of word i // 32."""

    propositions: tuple[str, ...]

    @property
    def words(self) -> int:
        """The number of words of a label; at least one."""
        return max(1, -(-len(self.propositions) // WORD))

    def encode(self, label: Iterable[str]) -> UInt32[np.ndarray, " W"]:
        """The words of a label.

        Raises:
            UnknownPropositionError: A proposition has no bit.
        """
        bits = np.zeros(self.words, np.uint32)
        for proposition in label:
            try:
                index = self.propositions.index(proposition)
            except ValueError:
                raise UnknownPropositionError(f"the proposition '{proposition}' has no bit") from None
            bits[index // WORD] |= np.uint32(1 << index % WORD)
        return bits

    def encode_all(self, labels: Sequence[Iterable[str]]) -> UInt32[np.ndarray, "N W"]:
        """The words of several labels, a row each."""
        return np.stack([self.encode(label) for label in labels]) if labels else np.zeros((0, self.words), np.uint32)

    def decode(self, bits: Sequence[int] | UInt32[np.ndarray, " W"]) -> Label:
        """The label that the words stand for."""
        return frozenset(p for i, p in enumerate(self.propositions) if int(bits[i // WORD]) >> i % WORD & 1)

    def masks(self, conjunction: Conjunction) -> tuple[UInt32[np.ndarray, " W"], UInt32[np.ndarray, " W"]]:
        """The propositions that a conjunction requires and forbids, as words."""
        return self.encode(conjunction.required), self.encode(conjunction.forbidden)


def holds(
    required: UInt32[Array, "*rows W"], forbidden: UInt32[Array, "*rows W"], label: UInt32[Array, " W"]
) -> Bool[Array, "*rows"]:
    """Whether the label satisfies each row. Mirrors `Conjunction.holds`; rows of ones in both masks never hold."""
    return jnp.all((label & required == required) & (label & forbidden == 0), axis=-1)
