"""The noise of compiled worlds: what N environments show, given what is true there (`envs.noise`)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int32, PRNGKeyArray, UInt32

from rewardmachines.envs.noise import WorldNoise, labels_that_occur
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.lowered.traversal import ACCEPT, NEITHER


@dataclass(frozen=True)
class PerceptNoise:
    """Wrong labels and outcomes. All methods are pure; the fields are static settings."""

    rates: WorldNoise
    alphabet: tuple[tuple[int, ...], ...]
    """The labels that can occur, as words of bits."""

    @classmethod
    def of(cls, scenario: Scenario) -> PerceptNoise | None:
        """The noise of a scenario; None if it has none."""
        if not scenario.noise:
            return None
        environment = scenario.environment
        labels = labels_that_occur(scenario.domain.labels(dead_ends=scenario.dead_ends), environment.propositions)
        words = (environment.bits.encode(label).tolist() for label in labels)
        return cls(scenario.noise, tuple(map(tuple, words)))

    def label(
        self,
        now: UInt32[Array, "N W"],
        before: UInt32[Array, "N W"] | None,
        shown: UInt32[Array, "N W"] | None,
        key: PRNGKeyArray,
    ) -> UInt32[Array, "N W"]:
        """The labels that are shown.

        Args:
            now: The true labels.
            before: The true labels before the step; None at the beginning of episodes.
            shown: The labels that were shown before the step, which stay where there is no event.
            key: The random key.
        """
        if not self.rates.labels:
            return now
        wrong_key, choice_key = jax.random.split(key)
        alphabet = jnp.asarray(self.alphabet, jnp.uint32)
        is_true = (alphabet[None] == now[:, None]).all(axis=-1)
        other = alphabet[jax.random.categorical(choice_key, jnp.where(is_true, -jnp.inf, 0.0), axis=-1)]
        is_wrong = jax.random.bernoulli(wrong_key, self.rates.labels, now.shape[:1])
        event = jnp.where(is_wrong[:, None], other, now)
        if before is None or shown is None:
            return event
        return jnp.where((now != before).any(axis=-1)[:, None], event, shown)

    def outcome(
        self, end: Int32[Array, " N"], is_cut: Bool[Array, " N"], key: PRNGKeyArray
    ) -> tuple[Int32[Array, " N"], Bool[Array, " N"]]:
        """The ends of episodes that are shown, and the mask of those that seem truncated.

        Args:
            end: The true verdicts.
            is_cut: The mask of episodes that are truncated.
            key: The random key.
        """
        is_wrong = jax.random.bernoulli(key, self.rates.outcomes, end.shape) & ((end != NEITHER) | is_cut)
        was_goal = end == ACCEPT
        shown = jnp.where(is_wrong, jnp.where(was_goal, NEITHER, ACCEPT), end).astype(end.dtype)
        return shown, jnp.where(is_wrong, was_goal, is_cut)
