"""What is said where nothing is learned: what was seen, what is missing, and what to change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.one_way import LABELS, TASK, OneWay, make
from lhrm import yards
from lhrm.toy import TOY, TREES
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.registry import CRM
from rewardmachines.core.errors import SyntaxProblem
from rewardmachines.envs import LabelingWrapper
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.conformance import TestProgress
from rewardmachines.lhrm.induction import FailedSearch
from rewardmachines.rollout.gym_settings import GYMNASIUM
from rewardmachines.rollout.jax_driver import JaxSuite
from rewardmachines.rollout.rows import Row
from rewardmachines.rollout.training import Training
from rewardmachines.runs import diagnosis as words
from rewardmachines.runs.diagnosis import (
    NOTHING,
    Course,
    Diagnosis,
    Finding,
    NotLearnedWarning,
    Watch,
    diagnose,
    diagnosis_of,
    diagnosis_of_run,
    ended_episodes,
    what_is_missing,
    write_diagnosis,
)
from rewardmachines.runs.journal import Chunk
from rewardmachines.runs.run import open_run
from rewardmachines.runs.stopping import is_learned
from rewardmachines.runs.verbs import learn, train
from runs.kinds import LEARN_DOMAIN, LHRM, TRAIN_DOMAIN, Kind

LATE = 10**6
"""A number of steps with which everything is said."""
QUIET = replace(
    GYMNASIUM,
    environments=4,
    chunk=10,
    evaluate_every=1,
    network=NetworkConfig(Body.MLP, hidden=(8,)),
    replay_size=8_000,
    replay_start=8_000,
    calls=replace(GYMNASIUM.calls, network=NetworkConfig(Body.MLP, hidden=(8,))),
)
"""Settings with which nothing is learned."""


def trained_a_little(
    task: rm.Hierarchy = TASK, agent: str = "hrl", steps: int = 2_000, where: Callable[..., Any] | None = None
) -> Training:
    """Training in a row of cells that has learned nothing."""
    settings, chunks = QUIET if agent == "hrl" else CRM.settings(QUIET), list[Chunk]()
    rare = replace(settings, evaluate_every=10**6)
    place = where or (lambda: make(task=task))
    train(place, task, agent=agent, settings=rare, steps=steps, stop_at=0, callbacks=[chunks.append])
    found = chunks[-1].session.algorithm
    assert isinstance(found, Training)
    return found


def findings(run: Training, course: Course | None = None) -> str:
    course = course or Course(LATE, run.counters.episodes, 0, 0.0)
    return str(diagnose(run, course))


# -- training


@pytest.fixture(scope="module")
def training() -> Training:
    return trained_a_little()


def test_before_enough_was_tried_and_after_it_is_learned_nothing_is_said(training: Training) -> None:
    assert not diagnose(training, Course(100, 10, 0, 0.0))
    assert not diagnose(training, Course(LATE, 10, 9, None))
    assert not diagnose(training, Course(LATE, 10, 0, 0.97, wanted=0.95))
    assert diagnose(training, Course(LATE, 10, 0, 0.9, wanted=0.95))


@pytest.mark.parametrize("agent", ["hrl", "crm"])
def test_a_proposition_that_never_occurs_is_named(agent: str) -> None:
    said = findings(trained_a_little(rm.compile_task("key ; window"), agent))
    assert "'window' was never observed" in said
    assert "hrm labels" in said
    assert "'key'" not in said.splitlines()[0]


def test_an_option_that_never_succeeds_is_named_with_its_state(training: Training) -> None:
    before, root = training.state, TASK[TASK.root]
    agent, after = before.agent, root.outgoing(root.initial)[0].target
    ended = jnp.zeros_like(agent.calls.ended).at[:, root.states.index(after)].set(50)
    nothing = agent.call_replay._replace(written=jnp.zeros_like(agent.call_replay.written))
    training.state = before._replace(agent=agent._replace(calls=agent.calls._replace(ended=ended), call_replay=nothing))
    said = findings(training)
    training.state = before
    assert f"in state {after} of '{root.name}', 50 options were tried and none achieved 'door'" in said
    assert "set lookahead to 1" in said


def test_numbers_that_are_not_finite_or_too_large_come_first(training: Training) -> None:
    before = training.state
    agent = before.agent
    training.state = before._replace(
        agent=agent._replace(formulas=agent.formulas._replace(online=jnp.full(3, jnp.nan)))
    )
    assert findings(training).startswith("- weights of networks are not finite: lower learning_rate")
    rows = agent.replay.rows._replace(before=jnp.full((8_000, 2), 500.0))
    training.state = before._replace(agent=agent._replace(replay=agent.replay._replace(rows=rows)))
    assert "as large as 500" in findings(training)
    training.state = before


def test_what_is_left_depends_on_goals_and_greedy_returns(training: Training) -> None:
    assert "no episode has ended" in findings(training, Course(LATE, 0, 0, None))
    assert "never all of it in one of 9 episodes" in findings(training, Course(LATE, 9, 0, 0.0))
    assert "updates, now 1" in findings(training, Course(LATE, 10, 5, 0.5))


def test_a_lower_learning_rate_is_advised_only_where_returns_have_fallen(training: Training) -> None:
    fallen = findings(training, Course(LATE, 10, 5, 0.0, best=0.9))
    assert "learning_rate" in fallen
    assert "best policy so far is kept" in fallen
    for best in (None, 0.0, 0.1):
        short = findings(training, Course(LATE, 10, 5, 0.1, best=best))
        assert "learning_rate" not in short
        assert "train for longer" in short


@pytest.mark.parametrize("task", [TASK, rm.compile_task("key ; window")])
def test_longer_episodes_are_advised_only_where_some_were_cut_off(task: rm.Hierarchy) -> None:
    run = trained_a_little(task)
    assert run.suite.cut_off > 0  # type: ignore[attr-defined]
    for cut_off in (0, 7):
        said = findings(run, Course(LATE, run.counters.episodes, 0, 0.0, cut_off=cut_off))
        assert said != "nothing to say"
        assert ("make episodes longer" in said) is bool(cut_off)


class Ending(OneWay):
    """A row whose episodes end after five steps, as the environment itself says."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        self.steps = 0
        return super().reset(**options)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        observation, reward, _, truncated, info = super().step(action)
        return observation, reward, self.steps >= 5, truncated, info


def unlabelled(env: Callable[[], Any]) -> Callable[[], LabelingWrapper]:
    return lambda: LabelingWrapper(env(), labels=lambda _: set(), propositions=["key", "door"])


def test_episodes_that_end_by_themselves_are_not_cut_off() -> None:
    run = trained_a_little(steps=200, where=unlabelled(Ending))
    assert run.counters.episodes > 10
    assert run.suite.cut_off == 0  # type: ignore[attr-defined]


def row(chunk: int, returned: float | None) -> Row:
    """A chunk of training with an evaluation."""
    greedy = None if returned is None else ((returned,),)
    return Row(chunk, LATE, 100, 1, (0,), (10,), (0,), (0.0,), 0.0, 0.0, 0.1, (), greedy, greedy)


@pytest.mark.parametrize(("returns", "is_enough"), [((1.0, 1.0, 0.9), True), ((0.0, 0.0, 1.0), False)])
def test_a_run_is_learned_where_it_is_good_enough_to_end(
    training: Training, returns: tuple[float, ...], is_enough: bool
) -> None:
    """The mean of three evaluations says whether a run ends; the last one alone would say something else."""
    watch = Watch(0.95, [row(chunk, mean) for chunk, mean in enumerate(returns, start=1)])
    before, training.recent = training.recent, [np.array([[mean]]) for mean in returns]
    assert is_learned(training, 0.95) is is_enough
    training.recent = before
    assert Course(LATE, 100, 0, watch.returned, 0.95).is_learned is is_enough
    assert watch.best == max(returns)


def test_what_was_found_is_kept_in_a_file(tmp_path: Path) -> None:
    found = Diagnosis((Finding("nothing", "everything"),))
    path = tmp_path / "diagnosis.json"
    assert diagnosis_of_run(path) is NOTHING
    write_diagnosis(path, found)
    assert diagnosis_of_run(path) == found
    path.write_text("{")
    with pytest.raises(SyntaxProblem, match="damaged"):
        diagnosis_of_run(path)


def warned(work: Callable[[], object]) -> list[warnings.WarningMessage]:
    """Warnings that something is not learned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [one for one in caught if issubclass(one.category, NotLearnedWarning)]


def test_training_warns_where_it_gets_nowhere_and_at_its_end_also_after_a_break(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(words, "LEAST_STEPS", 200)
    asked: dict[str, Any] = {"max_steps": 20, "settings": QUIET, "labels": LABELS, "stop_at": 0.9}
    folder, where = tmp_path / "run", unlabelled(OneWay)
    told = warned(lambda: train(where, TASK, steps=400, folder=folder, **asked))
    said = [str(one.message) for one in told]
    assert len(said) == 2
    assert said[0].startswith("training is getting nowhere\n- 'door' was never observed")
    assert said[1].startswith("the task is not learned\n- 'door' was never observed")
    assert {one.filename for one in told} == {__file__}
    run = open_run(folder)
    assert str(run.diagnosis) in said[1]
    assert [finding.what.split()[0] for finding in run.diagnosis.findings[:2]] == ["'door'", "'key'"]
    again = warned(lambda: train(where, folder=folder, resume=True, steps=440))
    assert [str(one.message).splitlines()[0] for one in again] == [
        "training is getting nowhere",  # in the first chunk, since the evaluations before the break count
        "the task is not learned",
    ]


def test_goals_before_a_break_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise a run that is resumed would say that no episode ever reached the goal."""
    seen: list[Course] = []

    def diagnosed(_: Training, course: Course) -> Diagnosis:
        seen.append(course)
        return NOTHING

    monkeypatch.setattr(words, "diagnose", diagnosed)
    yards.train(tmp_path / "run", steps=4 * yards.STEPS)
    yards.train(tmp_path / "run", steps=5 * yards.STEPS, resume=True)
    rows = open_run(tmp_path / "run").rows
    assert [course.goals for course in seen] == [sum(sum(one.goals) for one in rows[:count]) for count in (4, 5)]
    assert seen[-1].goals > sum(rows[-1].goals)
    judged = [one.mean_return for one in rows if one.mean_return is not None]
    assert seen[-1].best == max(judged)


def test_a_damaged_file_is_refused_before_a_run_goes_on(tmp_path: Path) -> None:
    TRAIN_DOMAIN.run(tmp_path / "run", steps=1)
    before = open_run(tmp_path / "run").rows
    (tmp_path / "run" / "diagnosis.json").write_text("{")
    with pytest.raises(SyntaxProblem, match="damaged"):
        TRAIN_DOMAIN.resume(tmp_path / "run", steps=10**6)
    assert open_run(tmp_path / "run").rows == before


def test_domains_are_not_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "LEAST_STEPS", 1)
    for kind in (TRAIN_DOMAIN, LEARN_DOMAIN):
        told = warned(lambda kind=kind: kind.run(tmp_path / kind.name, steps=1))  # type: ignore[misc]
        assert told == []
        assert open_run(tmp_path / kind.name).diagnosis == NOTHING


# -- LHRM


def lhrm() -> Lhrm:
    return Lhrm(JaxSuite(TOY, tuple(TREES)), LHRM, Solvers(cores=1))


def test_what_is_missing_is_said_of_every_task() -> None:
    run, none = lhrm(), dict.fromkeys(TREES, 7)

    def lacks(stop_at: float) -> dict[str, str]:
        found = what_is_missing(run, LHRM, none, stop_at)
        assert found == what_is_missing(run.host_state(), LHRM, none, stop_at), (
            "the state that is written says the same"
        )
        return {name: lack.what for name, lack in found.items()}

    goal = rm.Trace((frozenset("k"), frozenset("b")), rm.Outcome.GOAL)
    some = run.progress["press"].examples.collected(goal)
    run.progress["press"] = replace(run.progress["press"], examples=some)
    assert lacks(0.95) == {
        "fetch": "no goal trace of fetch was seen in 7 episodes",
        "press": "1 distinct goal trace was seen in 7 episodes: the first machine waits for 8",
        "all": "level 2 has to wait: level 1 is not mastered",
    }
    run.curriculum = replace(run.curriculum, level=2)
    for name in TREES:
        run.progress[name] = replace(run.progress[name], examples=replace(some, traces=(goal,)))
    run.progress["all"] = replace(run.progress["all"], failure=FailedSearch("all: nothing explains it", ()))
    assert lacks(0)["all"] == "given up: nothing explains it"
    assert set(lacks(0)) == {"all"}
    assert lacks(0.95)["fetch"] == "3 evaluations say whether it is learned, and there were 0"
    run.recent = [np.array([[0.9], [1.0], [0.0]])] * 3
    assert lacks(0.95)["fetch"] == "returns 0.90 on average: 0.95 is asked for"
    assert set(lacks(0.9)) == {"all"}
    asking = replace(LHRM, confirm_episodes=5)
    (stood,) = [lack for name, lack in what_is_missing(run, asking, none, 0.9).items() if name == "fetch"]
    assert stood.what == "its machine has stood 0 episodes, of 5"
    assert "confirm_episodes" in stood.advice
    tested = replace(run.progress["fetch"], tests=TestProgress(pairs=6, covered=3, out_of_reach=1))
    run.progress["fetch"] = tested
    asking = replace(LHRM, tests=5)
    (open_pairs,) = [lack for name, lack in what_is_missing(run, asking, none, 0.9).items() if name == "fetch"]
    assert open_pairs.what == "its machine was tested on 3 of 6 pairs of a state and a label, 1 are out of reach"
    assert "tests" in open_pairs.advice
    run.progress["fetch"] = replace(tested, tests=TestProgress(pairs=6, covered=5, out_of_reach=1))
    assert "fetch" not in what_is_missing(run, asking, none, 0.9)


def test_what_keeps_tasks_from_being_learned_comes_with_what_to_change() -> None:
    run = lhrm()
    lacks = what_is_missing(run, LHRM, dict.fromkeys(TREES, 90), 0.95)
    found = diagnosis_of(lacks, ("k", "b"), [frozenset({"k"})], 1_000, cut_off=90)
    assert [finding.what for finding in found.findings] == [
        "'b' was never observed in 1,000 steps",
        *(f"{name}: {lack.what}" for name, lack in lacks.items()),
    ]
    assert "persistence" in found.findings[1].advice
    assert "make episodes longer" in found.findings[0].advice
    assert "make episodes longer" in found.findings[1].advice
    assert "{longer}" not in str(found)
    assert "make episodes longer" not in str(diagnosis_of(lacks, ("b",), [], 1_000, cut_off=0))
    assert not diagnosis_of({}, ("k",), [], 1_000, cut_off=0)


def test_learning_that_learned_nothing_warns_at_its_end_and_not_too_early(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = replace(yards.FEW, agent=QUIET)
    asked: dict[str, Any] = {"steps": 200, "max_steps": 20, "settings": settings, "stop_at": 0.6}
    where = {"errand": unlabelled(OneWay)}
    assert warned(lambda: learn(where, **asked)) == []
    monkeypatch.setattr(words, "LEAST_STEPS", 200)
    (warning,) = warned(lambda: learn(where, folder=tmp_path / "run", **asked))
    assert "'key' was never observed in 200 steps" in str(warning.message)
    assert warning.filename == __file__
    run = open_run(tmp_path / "run")
    assert str(run.diagnosis) in str(warning.message)
    assert f"errand: {run.missing['errand']}" in str(run.diagnosis)
    episodes = ended_episodes(run.tasks, run.rows)["errand"]
    assert f"in {episodes:,} episodes" in run.missing["errand"]
    assert episodes == run.rows[-1].episodes > 0


def test_what_is_missing_is_judged_by_the_return_with_which_the_run_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise a run could end, as good enough, with a warning that its tasks are not learned."""
    monkeypatch.setattr(
        "rewardmachines.runs.run.what_is_missing", lambda *given: {"fetch": Finding(f"{given[-1]} is asked for", "")}
    )
    run = LEARN_DOMAIN.run(tmp_path / "run", steps=1, stop_at=0.6)
    assert run.missing == {"fetch": "0.6 is asked for"}


def test_a_run_ends_when_every_task_was_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind: Kind = LEARN_DOMAIN
    monkeypatch.setattr("rewardmachines.learning.solvers.quick", lambda *_: None)  # nothing is easy
    run = kind.run(tmp_path / "run", settings=replace(LHRM, learner_seconds=1e-9))
    assert all("given up: no machine was found in 1e-09 s" in message for message in run.missing.values())
    assert set(run.missing) == set(TREES)
    assert run.machines == {}
    rows = run.rows
    assert kind.resume(run.folder).rows == rows
    with pytest.raises(rm.RewardMachineError, match="nothing can be done about 'fetch' yet"):
        run.policy("fetch")
    assert run.evaluate() == []
