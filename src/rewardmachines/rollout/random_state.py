"""The states of random generators as text, for exact resumption."""

from __future__ import annotations

import json

import numpy as np

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.files.document import parse_json


def state_text(generator: np.random.Generator) -> str:
    """The state of a generator, as JSON."""
    return json.dumps(generator.bit_generator.state)


def set_state(generator: np.random.Generator, text: str, where: str) -> None:
    """Sets a generator to the state that `state_text` has written.

    Args:
        generator: The generator, one of `numpy.random.default_rng`.
        text: The state.
        where: The text with which error messages begin.

    Raises:
        RewardMachineError: This is not a state of such a generator.
    """
    try:
        state = parse_json(text, where)
        np.random.PCG64().state = state
    except (ValueError, TypeError, KeyError):
        raise RewardMachineError(f"{where}: damaged, the state of its chance cannot be read") from None
    generator.bit_generator.state = state
