"""Machines that are tested: runs that end with it, or are resumed in the middle, and a mistake that tests find."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import pytest

from lhrm import yards
from lhrm.toy import LABELS, MAX_STEPS, TOY, TREES, TWO_ROOMS, quickly
from lhrm.yards import FEW, TASKS
from rewardmachines.cli.commands.show import _described
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.conformance import TestProgress
from rewardmachines.lhrm.presets import lhrm_preset
from rewardmachines.reports.summary import summarize
from rewardmachines.rollout.algorithm import RunsSideBySide
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.runs.run import Run
from rewardmachines.runs.stopping import is_learned
from rewardmachines.runs.verbs import learn

pytestmark = pytest.mark.usefixtures("two_rooms_domain")

TESTED = quickly(explores_with=Exploration.PROPOSITIONS, tests=3)
CHUNK = TESTED.agent.chunk * TESTED.agent.environments
ASKED: dict[str, Any] = {"settings": TESTED, "instances": 1, "max_steps": MAX_STEPS}


def check_equal(whole: Run, halves: Run) -> None:
    assert whole.files.metrics.read_bytes() == halves.files.metrics.read_bytes()
    assert {name: one.tests for name, one in whole.progress.items()} == {
        name: one.tests for name, one in halves.progress.items()
    }


def test_a_run_ends_when_all_pairs_are_covered_and_goes_on_equally_after_a_break(tmp_path: Path) -> None:
    whole = learn(TWO_ROOMS.name, folder=tmp_path / "whole", seconds=600, **ASKED)
    assert whole.missing == {}
    for name, tree in TREES.items():
        assert difference(whole.hierarchy(name), tree, labels=LABELS, events=True) is None
        tests = whole.progress[name].tests
        assert tests.is_complete
        assert tests.covered + tests.out_of_reach == tests.pairs
        assert all(one.tried > 0 or one.pursued > 0 for one in tests.tries)
    assert whole.progress["fetch"].tests.pairs == 6, "two states that are left, and three labels"
    assert [task["tested"] for task in _described(whole)["tasks"]] == [
        str(whole.progress[n].tests) for n in whole.tasks
    ]
    assert "tested 3 times on each pair" in summarize(whole).why
    first = next(row.steps for row in whole.rows if any(event.task == "fetch" for event in row.learned))
    begun = learn(TWO_ROOMS.name, folder=tmp_path / "halves", seconds=600, steps=first + 4 * CHUNK, **ASKED)
    assert any(progress.tests.tries for progress in begun.progress.values())
    assert begun.missing
    check_equal(whole, learn(folder=tmp_path / "halves", resume=True, steps=10**9))


def test_in_gymnasium_environments_too(tmp_path: Path) -> None:
    settings = replace(FEW, tests=2)
    whole = yards.learn(tmp_path / "whole", steps=24 * yards.STEPS, settings=settings, where=TASKS[:2])
    yards.learn(tmp_path / "halves", steps=17 * yards.STEPS, settings=settings, where=TASKS[:2])
    halves = yards.learn(tmp_path / "halves", steps=24 * yards.STEPS, resume=True)
    assert any(one.tried for progress in whole.progress.values() for one in progress.tests.tries)
    check_equal(whole, halves)


def test_runs_side_by_side_count_as_each_does_alone() -> None:
    def run_of(seed: int) -> Lhrm:
        return Lhrm(JaxSuite(TOY, ("fetch",)), TESTED, Solvers(cores=1), seed=seed)

    together, chunks = RunsSideBySide([run_of(seed) for seed in (0, 1)]), 24
    for _ in range(chunks):
        together.advance([0, 1])
    for seed, run in enumerate(together.runs):
        alone = run_of(seed)
        for _ in range(chunks):
            alone.advance()
        assert isinstance(run, Lhrm)
        assert run.progress["fetch"].tests == alone.progress["fetch"].tests
        assert run.progress["fetch"].tests.tries


# -- a machine that is wrong where no policy goes


def world(task: str) -> Scenario:
    """Two rooms with this task alone."""
    return replace(TOY, domain=replace(TWO_ROOMS, task_set=replace(TWO_ROOMS.task_set, tasks={"go": task})))


WORLDS = {
    "a dead end": ("k ; g", "ltlf: !b U (k & X[!] F g)"),  # the button before the key
    "another order": ("k ; b", "k & b"),
}
"""A task, and another that is the same wherever a good policy for the first one goes."""


class Knowing(NamedTuple):
    """A run that knows the machine of a task, has good policies and can go anywhere; and the world of the other."""

    run: Lhrm
    other: Scenario


def lhrm(scenario: Scenario, config: LhrmConfig) -> Lhrm:
    return Lhrm(JaxSuite(scenario, ("go",)), config, Solvers(cores=1))


@pytest.fixture(scope="module", params=list(WORLDS))
def knowing(request: pytest.FixtureRequest) -> Knowing:
    task, other = WORLDS[request.param]
    run = lhrm(world(task), TESTED)
    while not is_learned(run, 0.95):
        run.advance()
        assert run.counters.chunks < 100
    return Knowing(run, world(other))


@pytest.mark.parametrize(("tests", "is_found"), [(0, False), (5, True)])
def test_mistakes_where_no_policy_goes_are_found_by_tests_alone(
    knowing: Knowing, tests: int, *, is_found: bool
) -> None:
    before = knowing.run.progress["go"]
    run = lhrm(knowing.other, replace(TESTED, tests=tests))
    run.restore(replace(knowing.run.host_state(), progress={"go": replace(before, tests=TestProgress())}), "here")
    run.state = run.state._replace(agent=jax.tree.map(lambda x: x.copy(), knowing.run.state.agent))
    for _ in range(8):
        run.advance()
    found = difference(run.pool.hierarchy("go"), knowing.other.task("go"), labels=LABELS, events=True)
    assert (found is None) == is_found
    assert (run.progress["go"].learned > before.learned) == is_found
    if not is_found:
        assert run.progress["go"].episodes_since >= before.episodes_since + 300, "`fast` would take it for confirmed"


def test_published_settings_test_nothing_and_numbers_of_tests_are_checked() -> None:
    for name in ("paper", "table"):
        assert lhrm_preset(name, "craftworld", "op").tests == 0
        assert lhrm_preset(name, "craftworld", "op", fresh=True).tests == 0
    with pytest.raises(RewardMachineError, match="on each pair, not -1 times"):
        LhrmConfig(tests=-1)
