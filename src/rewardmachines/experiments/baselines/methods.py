"""The methods by name: the class of their settings, and the function that makes a learner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.experiments.baselines.deepsynth.learner import DeepSynth, DeepSynthConfig
from rewardmachines.experiments.baselines.jirp.learner import JirpConfig, JirpLearner
from rewardmachines.experiments.baselines.lrm.learner import LrmConfig, LrmLearner
from rewardmachines.experiments.baselines.protocol import Make


@dataclass(frozen=True)
class Method:
    """A method that learns flat machines."""

    config: type[Any]
    """The dataclass of its settings, whose defaults are the published ones."""
    make: Make
    """Makes a learner, given the task, the settings, a seed, and the function that does its searches."""


METHODS: Final[dict[str, Method]] = {
    "deepsynth": Method(DeepSynthConfig, DeepSynth),
    "jirp": Method(JirpConfig, JirpLearner),
    "lrm": Method(LrmConfig, LrmLearner),
}
"""All methods, by the name that specifications give."""


def method_named(name: str) -> Method:
    """The method of a name.

    Raises:
        RewardMachineError: There is none.
    """
    if name not in METHODS:
        hint = suggestion(name, METHODS) or f"; there are {', '.join(METHODS)}"
        raise RewardMachineError(f"there is no baseline '{name}'{hint}")
    return METHODS[name]
