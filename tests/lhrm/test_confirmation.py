"""A machine is confirmed once enough episodes have not refuted it, and a run waits for that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lhrm.test_suspects import LEARNED, TASKS, TOP, searched
from lhrm.toy import MAX_STEPS, TWO_ROOMS, quickly
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.curriculum import Curriculum
from rewardmachines.lhrm.induction import Machines
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.lhrm.suspects import tasks_to_check
from rewardmachines.lhrm.tables import drawing_chances
from rewardmachines.runs.verbs import learn
from rewardmachines.traces import Outcome, Trace

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

ASKING = LhrmConfig(confirm_episodes=10)
EPISODES = 400
"""More than a run of the toy domain makes for any of its tasks, if it may end earlier."""


def stood(**episodes: int) -> Machines:
    """Machines that have stood these numbers of episodes, and all others enough of them."""
    run = searched(0, config=ASKING)
    run.count([episodes.get(task.name, ASKING.confirm_episodes) for task in TASKS])
    return run


def test_episodes_count_for_machines_that_are_there() -> None:
    run = Machines(Pool(TASKS, ("a", "b", "c"), {"low": LEARNED["low"]}), ASKING, Solvers(cores=1), {})
    run.count([4, 5, 6, 7, 8])
    run.count([1, 5, 0, 0, 0])
    assert {name: progress.episodes_since for name, progress in run.progress.items() if progress.episodes_since} == {
        "low": 10
    }
    assert [task.name for task in TASKS if run.is_confirmed(task.name)] == ["low"]


def test_a_new_machine_has_everything_to_show_again() -> None:
    first, last = frozenset({"a"}), frozenset({"b"})
    with Solvers(cores=1) as solvers:
        run = Machines(Pool(TASKS[:1], ("a", "b"), {}), replace(ASKING, goals=(1,), examples=1), solvers, {})
        run.take({"deep": [Trace((first, last), Outcome.GOAL)]})
        run.count([99])
        assert run.progress["deep"].episodes_since == 99
        run.take({"deep": [Trace((last,))]})
    assert run.progress["deep"].learned == 2
    assert run.progress["deep"].episodes_since == 0


def names(run: Machines, plan: Curriculum = TOP, config: LhrmConfig = ASKING) -> set[str]:
    return {TASKS[number].name for number in tasks_to_check(run, plan, config)}


def test_machines_of_mastered_levels_are_suspect_until_they_are_confirmed() -> None:
    assert names(stood(low=9, mid=9, high=9), config=ASKING) == {"low", "mid"}
    assert names(stood(low=9, mid=10), replace(TOP, level=2), ASKING) == {"low"}
    assert names(stood(high=9), replace(TOP, level=4), ASKING) == {"high"}
    assert names(stood(), replace(TOP, level=4), ASKING) == set()


def test_machines_whose_policies_return_enough_are_suspect_before_their_level_is_mastered() -> None:
    returns = TOP.returns
    returns[4] = [0.6, 0.51]
    assert names(stood(high=9), replace(TOP, running=tuple(map(tuple, returns))), ASKING) == {"high"}
    returns[4] = [0.6, 0.5]
    assert names(stood(high=9), replace(TOP, running=tuple(map(tuple, returns))), ASKING) == set()


def test_a_level_waits_for_its_machines_to_be_confirmed() -> None:
    high = np.ones((len(TASKS), 2))
    first = replace(TOP, level=1, weight=0.0)
    assert [task.name for number, task in enumerate(TASKS) if number in stood(low=9, high=9).unconfirmed] == [
        "low",
        "high",
    ]
    assert first.evaluated(high, stood(low=9).unconfirmed).level == 1
    assert first.evaluated(high, stood(high=9).unconfirmed).level == 2
    assert first.given_up(1).evaluated(high, stood(low=9).unconfirmed).level == 2
    waiting = np.asarray(drawing_chances(stood(low=9), first.evaluated(high, [1]), ASKING)).sum(axis=1)
    assert waiting == pytest.approx([0.25 / 3, 0.25 / 3 + 0.75, 0.25 / 3, 0, 0])


def test_when_everything_is_mastered_most_episodes_are_for_what_is_not_confirmed() -> None:
    before = np.asarray(drawing_chances(stood(low=9), TOP, ASKING))
    after = np.asarray(drawing_chances(stood(low=9), replace(TOP, level=4), ASKING))
    assert before.sum(axis=1) == pytest.approx([0.15, 0.15 + 0.25, 0.15, 0.15, 0.15])
    assert after.sum(axis=1) == pytest.approx([0.05, 0.05 + 0.75, 0.05, 0.05, 0.05])


def test_a_run_goes_on_until_all_machines_are_confirmed_and_counts_on_when_it_is_resumed(tmp_path: Path) -> None:
    config = quickly(explores_with=Exploration.PROPOSITIONS, confirm_episodes=EPISODES)
    few = 24 * config.agent.chunk * config.agent.environments
    asked: dict[str, Any] = {"settings": config, "instances": 1, "max_steps": MAX_STEPS}
    begun = learn(TWO_ROOMS.name, folder=tmp_path / "run", seconds=600, steps=few, **asked)
    assert any("has stood" in message for message in begun.missing.values())
    run = learn(folder=tmp_path / "run", resume=True, seconds=600, steps=10**9)
    assert run.missing == {}
    for number, name in enumerate(run.tasks):
        changed = max(row.chunk for row in run.rows if name in {event.task for event in row.learned})
        since = sum(row.ended[number] for row in run.rows if row.chunk > changed)
        assert run.progress[name].episodes_since == since >= EPISODES


@pytest.mark.parametrize("fresh", [False, True])
def test_fast_confirms_machines_and_takes_detours_and_the_rules_of_the_paper_do_not(fresh: bool) -> None:
    for setting, domain, episodes in (
        ("wod", "waterworld", 1_000),
        ("op", "craftworld", 300),
        ("frl", "craftworld", 300),
    ):
        fast = lhrm_preset("fast", domain, setting, fresh=fresh)
        assert (fast.confirm_episodes, fast.detour_rate) == (episodes, 0.004)
        for name in ("table", "paper"):
            assert lhrm_preset(name, domain, setting).confirm_episodes == 0
    with pytest.raises(RewardMachineError, match="after a number of episodes, not -1"):
        LhrmConfig(confirm_episodes=-1)
