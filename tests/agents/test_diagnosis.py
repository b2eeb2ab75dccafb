"""What is said where nothing is learned: what was seen, and what to change."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import rewardmachines as rm
from agents.one_way import LABELS, TASK, OneWay, make
from agents.test_lookahead import CRM, TINY
from rewardmachines.agents.config import AgentConfig, Algorithm
from rewardmachines.agents.gymnasium import diagnosis as words
from rewardmachines.agents.gymnasium.diagnosis import (
    Course,
    Diagnosis,
    Finding,
    NotLearnedWarning,
    diagnose,
    read_diagnosis,
    write_diagnosis,
)
from rewardmachines.agents.gymnasium.runs.watch import Watch
from rewardmachines.agents.gymnasium.train import train_gymnasium, vectorize
from rewardmachines.agents.gymnasium.training import Training, begin_training
from rewardmachines.agents.training.rows import Row
from rewardmachines.agents.training.success import Success
from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.envs import HierarchyWrapper, LabelingWrapper
from rewardmachines.reports.training_report import write_training_report

LATE = 10**6
"""So many steps that everything is said."""


def trained_a_little(task: rm.Hierarchy = TASK, config: AgentConfig = TINY, steps: int = 2_000) -> Training:
    algorithm = Algorithm.CRM if config is CRM else Algorithm.HRL
    quiet = replace(config, replay_start=8_000)
    training = begin_training(vectorize(lambda: make(task=task), 4), task, quiet, algorithm)
    while training.steps < steps:
        training.advance()
    return training


def findings(training: Training, course: Course | None = None) -> str:
    course = course or Course(LATE, training.episodes, training.goals, 0.0)
    return str(diagnose(training.setup, training.agent_state, course))


def test_before_enough_was_tried_and_after_it_is_learned_nothing_is_said() -> None:
    training = trained_a_little(steps=100)
    assert not diagnose(training.setup, training.agent_state, Course(100, 10, 0, 0.0))
    assert not diagnose(training.setup, training.agent_state, Course(LATE, 10, 9, None))
    assert not diagnose(training.setup, training.agent_state, Course(LATE, 10, 0, 0.97, wanted=0.95))
    assert diagnose(training.setup, training.agent_state, Course(LATE, 10, 0, 0.9, wanted=0.95))


@pytest.mark.parametrize("config", [TINY, CRM])
def test_a_proposition_that_never_occurs_is_named(config: AgentConfig) -> None:
    said = findings(trained_a_little(rm.compile_task("key ; window"), config))
    assert "'window' was never observed" in said
    assert "hrm labels" in said
    assert "'key'" not in said.splitlines()[0]


def test_an_option_that_never_succeeds_is_named_with_its_state() -> None:
    training = trained_a_little()
    state, root = training.agent_state, TASK[TASK.root]
    after = root.outgoing(root.initial)[0].target
    ended = jnp.zeros_like(state.calls.ended).at[:, root.states.index(after)].set(50)
    nothing = state.call_replay._replace(written=jnp.zeros_like(state.call_replay.written))
    stuck = state._replace(calls=state.calls._replace(ended=ended), call_replay=nothing)
    said = str(diagnose(training.setup, stuck, Course(LATE, training.episodes, 0, 0.0)))
    assert f"in state {after} of '{root.name}', 50 options were tried and none achieved 'door'" in said
    assert "set lookahead to 1" in said


def test_numbers_that_are_not_finite_or_too_large_come_first() -> None:
    training = trained_a_little(steps=100)
    state = training.agent_state
    broken = state.formulas._replace(online=jnp.full(3, jnp.nan))
    said = str(diagnose(training.setup, state._replace(formulas=broken), Course(LATE, 9, 0, 0.0)))
    assert said.startswith("- weights of networks are not finite: lower learning_rate")
    rows = state.replay.rows._replace(before=jnp.full((8_000, 2), 500.0))
    large = state._replace(replay=state.replay._replace(rows=rows))
    assert "as large as 500" in str(diagnose(training.setup, large, Course(LATE, 9, 0, 0.0)))


def test_what_is_left_depends_on_goals_and_greedy_returns() -> None:
    training = trained_a_little()
    assert "no episode has ended" in findings(training, Course(LATE, 0, 0, None))
    assert "never all of it in one of 9 episodes" in findings(training, Course(LATE, 9, 0, 0.0))
    assert "updates, now 1" in findings(training, Course(LATE, 10, 5, 0.5))


def test_a_lower_learning_rate_is_advised_only_where_returns_have_fallen() -> None:
    training = trained_a_little()
    fallen = findings(training, Course(LATE, 10, 5, 0.0, best=0.9))
    assert "learning_rate" in fallen
    assert "best policy so far is kept" in fallen
    for best in (None, 0.0, 0.1):
        short = findings(training, Course(LATE, 10, 5, 0.1, best=best))
        assert "learning_rate" not in short
        assert "train for longer" in short


@pytest.mark.parametrize("task", [TASK, rm.compile_task("key ; window")])
def test_longer_episodes_are_advised_only_where_some_were_cut_off(task: rm.Hierarchy) -> None:
    training = trained_a_little(task)
    assert training.cut_off > 0
    for cut_off in (0, training.cut_off):
        said = findings(training, Course(LATE, training.episodes, 0, 0.0, cut_off=cut_off))
        assert said != "nothing to say"
        assert ("make episodes longer" in said) is bool(cut_off)


def test_episodes_that_end_by_themselves_are_not_cut_off() -> None:
    def ending() -> HierarchyWrapper:
        row = LabelingWrapper(Ending(), labels=lambda _: set(), propositions=["key", "door"])
        return HierarchyWrapper(row, TASK)

    training = begin_training(vectorize(ending, 4), TASK, replace(TINY, replay_start=8_000), Algorithm.HRL)
    while training.steps < 200:
        training.advance()
    assert training.episodes > 10
    assert training.cut_off == 0


class Ending(OneWay):
    """A row whose episodes end after five steps, as the environment itself says."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.steps = 0
        return super().reset(**options)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, self.steps >= 5, truncated, info


@pytest.mark.parametrize(("returns", "is_learned"), [((1.0, 1.0, 0.9), True), ((0.0, 0.0, 1.0), False)])
def test_a_run_is_learned_where_it_is_good_enough_to_end(returns: tuple[float, ...], is_learned: bool) -> None:
    """The mean of three evaluations says whether a run ends; the last one alone would say something else."""
    rows = [Row(0, i, LATE, 100, 0, 10, 0.0, 0.0, 0.1, (mean,), (1,)) for i, mean in enumerate(returns, start=1)]
    watch, success = Watch(0.95, rows), Success([0], 0.95)
    success.note(rows)
    assert success.is_reached is is_learned
    assert Course(LATE, 100, 0, watch.returned, 0.95).is_learned is is_learned
    assert watch.best == max(returns)


def test_what_was_found_is_kept_in_a_file(tmp_path: Path) -> None:
    found = Diagnosis((Finding("nothing", "everything"),))
    path = tmp_path / "diagnosis.json"
    assert read_diagnosis(path) is None
    write_diagnosis(path, found)
    assert read_diagnosis(path) == found
    path.write_text("{")
    with pytest.raises(SyntaxProblem, match="damaged"):
        read_diagnosis(path)


def unreachable() -> LabelingWrapper:
    return LabelingWrapper(OneWay(), labels=lambda _: set(), propositions=["key", "door"])


def test_training_warns_where_it_gets_nowhere_and_at_its_end(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(words, "LEAST_STEPS", 200)
    monkeypatch.setattr("rewardmachines.agents.gymnasium.runs.watch.LEAST_STEPS", 200)
    config = replace(TINY, environments=4, chunk=10, evaluate_every=1, replay_start=8_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trained = train_gymnasium(
            unreachable, TASK, steps=400, max_steps=20, config=config, folder=tmp_path / "run", labels=LABELS
        )
    said = [str(one.message) for one in caught if issubclass(one.category, NotLearnedWarning)]
    assert len(said) == 2
    assert said[0].startswith("training is getting nowhere\n- 'door' was never observed")
    assert said[1].startswith("the task is not learned\n- 'door' was never observed")
    assert trained.files is not None
    assert read_diagnosis(trained.files.diagnosis) == trained.diagnosis
    page = write_training_report(rm.load_gymnasium_training(tmp_path / "run"), tmp_path / "report").read_text()
    assert "Why it is not learned" in page
    assert "never observed" in page
    assert [finding.what.split()[0] for finding in trained.diagnosis.findings[:2]] == ["'door'", "'key'"]
