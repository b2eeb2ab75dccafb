from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.studies.baselines.algorithm import METHODS
from rewardmachines.studies.baselines.protocol import OutOfTime
from rewardmachines.studies.baselines.search_process import Searches


@pytest.fixture
def searches() -> Iterator[Searches]:
    made = Searches(60)
    yield made
    made.close()


def test_a_search_is_done_in_another_process_and_counted(searches: Searches) -> None:
    assert searches(math.sqrt, 9) == 3
    assert searches(math.sqrt, 16) == 4
    assert searches.calls == 2
    assert 0 < searches.seconds < 60


def test_a_search_is_ended_when_the_time_is_up(searches: Searches) -> None:
    searches(math.sqrt, 9)  # the process has started
    searches.seconds = searches.limit - 0.2
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        searches(math.factorial, 10**8)
    assert time.monotonic() - began < 20
    assert searches.calls == 1
    assert searches.seconds >= searches.limit
    with pytest.raises(OutOfTime):
        searches(math.sqrt, 9)


def test_a_search_that_waits_takes_no_processor_time(searches: Searches) -> None:
    searches.seconds = searches.limit - 0.5
    searches(time.sleep, 1)
    assert searches.seconds < searches.limit


def test_a_search_that_fails_is_reported(searches: Searches, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RewardMachineError, match="has ended before it had an answer"):
        searches(json.loads, 5)
    assert "TypeError" in capfd.readouterr().err


@pytest.mark.parametrize("method", METHODS)
def test_a_process_that_searches_does_not_load_jax(method: str) -> None:
    modules = (Searches.__module__, METHODS[method].make.__module__)
    code = "".join(f"import {module}\n" for module in modules)
    subprocess.run([sys.executable, "-c", f"{code}import sys\nassert 'jax' not in sys.modules"], check=True)


def test_a_search_may_take_forever() -> None:
    searches = Searches(math.inf)
    try:
        assert searches(math.sqrt, 9) == 3
    finally:
        searches.close()
