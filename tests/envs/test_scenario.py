"""Where to act, by name."""

from __future__ import annotations

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.registry import BUILT_IN, domain_of

SETTINGS = {name: tuple(known.settings) for name, known in BUILT_IN.items()}


def test_a_setting_belongs_to_one_domain() -> None:
    every = [setting for settings in SETTINGS.values() for setting in settings]
    assert len(set(every)) == len(every)
    assert all(setting in SETTINGS[domain_of(setting)] for setting in every)
    assert domain_of("FRL") == "craftworld"


def test_an_unknown_setting_is_told() -> None:
    with pytest.raises(RewardMachineError, match="there is no setting 'flr'"):
        domain_of("flr")
