"""Machines from traces, without environments: what is kept, what is relearned, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from rewardmachines.agents.options.option_set import OptionSet
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import verdict
from rewardmachines.learning import Learner, LearningTask, Result, Solvers, TimedOut
from rewardmachines.learning.limits import Reason
from rewardmachines.learning.task import Options
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.exploration import StrategyInputs, seen_propositions
from rewardmachines.lhrm.induction import Machines
from rewardmachines.lhrm.machine_pool import Pool
from rewardmachines.lhrm.tables import OptionRegistry, room_for
from rewardmachines.lowered import lower
from rewardmachines.rollout.rows import Trigger
from rewardmachines.rollout.suite import TaskSpec, ranked
from rewardmachines.traces import Outcome, Trace

PROPOSITIONS = ("a", "b", "c")
QUICK = LhrmConfig(goals=(1,), examples=1)


def trace(text: str, outcome: Outcome = Outcome.GOAL) -> Trace:
    """Labels as words; a dot is the empty one."""
    return Trace(tuple(frozenset(word.replace(".", "")) for word in text.split()), outcome)


def machines(config: LhrmConfig = QUICK, levels: Iterable[tuple[str, int]] = (("low", 1), ("high", 2))) -> Machines:
    pool = Pool(tuple(TaskSpec(*one) for one in levels), PROPOSITIONS)
    return Machines(pool, config, Solvers(cores=1), {"high": ("low",)})


def causes(found: Iterable[object]) -> list[tuple[str, str]]:
    return [(event.task, event.cause.value) for event in found]  # type: ignore[attr-defined]


def test_enough_goal_traces_make_the_first_machine_and_the_rest_is_forgotten() -> None:
    run = machines(LhrmConfig(goals=(3,), examples=2))
    assert run.take({"low": [trace("a"), trace(". a")]}) == []
    assert run.take({"low": [trace("a")]}) == []
    (event,) = run.take({"low": [trace(". b . a")]})
    assert (event.cause, event.goals) == (Trigger.GOALS, 2)
    assert run.progress["low"].examples.traces == (trace("a"), trace(". a"))
    assert not run.progress["low"].examples.goals


def test_goal_traces_of_a_chunk_count_in_their_order_and_not_the_shortest_first() -> None:
    run = machines(LhrmConfig(goals=(2,), examples=1))
    run.take({"low": [trace(". b . a"), trace(". a"), trace("a")]})
    assert run.progress["low"].examples.traces == (trace(". a"),)


def test_only_with_knowledge_of_prefixes_a_goal_trace_says_that_the_goal_was_not_reached_before() -> None:
    for prefixes, states in ((True, ["u0", "u1", "uA"]), (False, ["u0", "uA"])):
        run = machines(LhrmConfig(goals=(1,), examples=1, prefixes=prefixes))
        run.take({"low": [trace("a . a")]})
        assert sorted(run.pool.learned["low"].states) == states


def test_counterexamples_of_a_chunk_are_learned_from_shortest_first_and_only_if_still_wrong() -> None:
    run = machines()
    run.take({"low": [trace("a b")]})
    wrong = [trace("b", Outcome.INCOMPLETE), trace(". a", Outcome.INCOMPLETE), trace("c b", Outcome.INCOMPLETE)]
    events = run.take({"low": wrong})
    assert {event.cause for event in events} == {Trigger.COUNTEREXAMPLE}
    assert len(events) < len(wrong)
    tree = run.pool.hierarchy("low")
    assert all(verdict(tree, one.labels) is one.outcome.verdict for one in (*wrong, trace("a b")))


def test_callers_of_a_machine_are_learned_again_after_it() -> None:
    run = machines()
    run.take({"low": [trace("a b")], "high": []})
    run.take({"low": [trace("b", Outcome.INCOMPLETE), trace("a", Outcome.INCOMPLETE)]})
    run.take({"high": [trace("a b c")]})
    high = [trace(". c", Outcome.INCOMPLETE), trace("a b", Outcome.INCOMPLETE), trace("a c", Outcome.INCOMPLETE)]
    run.take({"high": high})
    assert "low" in run.pool.learned["high"].callees
    events = run.take({"low": [trace("a c b", Outcome.DEAD_END)]})
    assert causes(events)[:2] == [("low", "counterexample"), ("high", "callee")]
    tree = run.pool.hierarchy("high")
    assert all(verdict(tree, one.labels) is one.outcome.verdict for one in run.progress["high"].examples.traces)


def test_learned_flat_nothing_is_called() -> None:
    run = machines(LhrmConfig(goals=(1,), examples=1, callables=Callables.NONE))
    run.take({"low": [trace("a b")]})
    run.take({"low": [trace("b", Outcome.INCOMPLETE), trace("a", Outcome.INCOMPLETE)]})
    run.take({"high": [trace("a b c")]})
    run.take({"high": [trace("c", Outcome.INCOMPLETE), trace("a b", Outcome.INCOMPLETE)]})
    assert not run.pool.learned["high"].callees


def test_contradictory_labels_end_a_task_and_leave_its_machine_and_all_others_alone() -> None:
    run = machines()
    run.take({"low": [trace("a")], "high": [trace("b")]})
    before = run.pool
    (event,) = run.take({"low": [trace("a", Outcome.INCOMPLETE)]})
    assert event.cause is Trigger.PROBLEM
    assert event.message is not None
    assert event.message.startswith("low: its labels do not tell its ends apart: ")
    assert run.progress["low"].problem == event.message
    assert run.pool == before
    assert run.progress["low"].examples.traces == (trace("a"),)
    assert run.take({"low": [trace("b", Outcome.DEAD_END)]}) == []
    (other,) = run.take({"high": [trace("c b", Outcome.DEAD_END)]})
    assert other.cause is Trigger.COUNTEREXAMPLE


def test_a_learner_that_runs_out_of_time_gives_its_task_up_with_a_message() -> None:
    run = machines(LhrmConfig(goals=(1,), examples=1, learner_seconds=1e-6))
    (event,) = run.take({"low": [trace("a b c")]})
    assert event.cause is Trigger.PROBLEM
    assert event.message is not None
    assert "no machine was found in 1e-06 s" in event.message
    assert "low" not in run.pool.learned
    assert run.pool.hierarchy("low").height == 1


def out_of_time(monkeypatch: pytest.MonkeyPatch, *names: str, reason: Reason = "time") -> None:
    """From now on no machine is found for these tasks."""
    real = Learner.learn

    def learn(self: Learner, task: LearningTask, *arguments: Any, **more: Any) -> Result:
        if task.name in names:
            return TimedOut(3, (), 0.0, 0, reason)
        return real(self, task, *arguments, **more)

    monkeypatch.setattr(Learner, "learn", learn)


def three_levels(config: LhrmConfig = QUICK) -> Machines:
    """Low is a ; b, middle calls it, and high calls middle."""
    run = machines(config, [("low", 1), ("middle", 2), ("high", 3)])
    incomplete = Outcome.INCOMPLETE
    run.take({"low": [trace("a b")]})
    run.take({"low": [trace("b", incomplete), trace("a", incomplete)]})
    run.take({"middle": [trace("a b c")]})
    run.take({"middle": [trace(text, incomplete) for text in (". c", "a b", "a c", "b c")]})
    run.take({"high": [trace("a b c a")]})
    run.take({"high": [trace(text, incomplete) for text in (". a", "a b c", "a b a", "c a", "b c a", "a c a")]})
    assert "low" in run.pool.learned["middle"].callees
    assert "middle" in run.pool.learned["high"].callees
    return run


@pytest.mark.parametrize(
    ("reason", "words"), [("time", "more time"), ("memory", "more memory"), ("killed", "a solver was killed")]
)
def test_a_dependent_that_cannot_be_relearned_is_given_up_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, reason: Reason, words: str
) -> None:
    run = three_levels()
    out_of_time(monkeypatch, "middle", reason=reason)
    events = run.take({"low": [trace("a c b", Outcome.DEAD_END)]})
    assert causes(events) == [("low", "counterexample"), ("middle", "problem"), ("high", "callee")]
    assert "middle" not in run.pool.learned
    assert words in str(run.progress["middle"].problem)
    assert not run.pool.learned["high"].callees & {"middle"}
    for name in ("low", "high"):
        tree = run.pool.hierarchy(name)
        assert not check_determinism(tree)
        assert all(verdict(tree, one.labels) is one.outcome.verdict for one in run.progress[name].examples.traces)
    lower([run.pool.hierarchy(task.name) for task in run.pool.tasks])
    registry = OptionRegistry(room=room_for(run.pool.tasks, PROPOSITIONS))
    registry.write(run.pool, ["low", "middle"], Exploration.OPTIONS)


def test_a_task_that_was_given_up_is_tried_again_when_there_are_new_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    config = LhrmConfig(goals=(2,), examples=1)
    run = machines(config, [("low", 1)])
    with monkeypatch.context() as patch:
        out_of_time(patch, "low")
        (event,) = run.take({"low": [trace("a b"), trace(". a b")]})
        assert event.cause is Trigger.PROBLEM
        assert run.take({"low": [trace("a b"), trace("c a b")]}) == []
        (again,) = run.take({"low": [trace("c . a b")]})
        assert again.cause is Trigger.PROBLEM
    failure = run.progress["low"].failure
    assert failure is not None
    assert (failure.attempts, failure.fresh) == (2, frozenset())
    more = [trace("b a b"), trace("b . a b"), trace("b c a b"), trace("b c . a b")]
    assert run.take({"low": more[:3]}) == []
    (learned,) = run.take({"low": more})
    assert learned.cause is Trigger.GOALS
    assert run.progress["low"].problem is None
    assert set(run.progress["low"].examples.traces) == {trace("a b"), trace("c a b"), trace("b a b")}


def test_contradictory_labels_are_not_tried_again() -> None:
    run = machines()
    run.take({"low": [trace("a")]})
    run.take({"low": [trace("a", Outcome.INCOMPLETE)]})
    failure = run.progress["low"].failure
    assert failure is not None
    assert failure.is_final
    assert run.take({"low": [trace("b a"), trace("c a"), trace("c b a")]}) == []


def test_machines_may_have_more_disjuncts_cycles_and_negative_formulas_if_asked_for() -> None:
    either = {"low": [trace("a"), trace("b")]}
    absent = {"low": [trace("."), trace("b")]}
    wrong = {"low": [trace("a", Outcome.INCOMPLETE)]}
    for setting, goals in (({"disjuncts": 2}, either), ({"negative": True}, absent)):
        for changes in ({}, setting):
            run = machines(LhrmConfig(goals=(2,), examples=2, **changes), [("low", 1)])
            run.take(goals)
            if goals is absent:
                run.take(wrong)
            assert (run.progress["low"].problem is None) == bool(changes)
    assert LhrmConfig(cyclic=True).machine_space.acyclic is False
    assert LhrmConfig(negative=True).machine_space.negative_formulas
    assert LhrmConfig().machine_space == Options()


def test_refuted_sizes_are_not_searched_again() -> None:
    run = machines()
    run.take({"low": [trace("a b c a b")]})
    run.take({"low": [trace(text, Outcome.INCOMPLETE) for text in ("b", "c b", "a b", "a b c b", "b c a b")]})
    before = run.progress["low"]
    assert before.refuted
    run.take({"low": [trace("c . c b", Outcome.INCOMPLETE), trace("a c a b", Outcome.INCOMPLETE)]})
    after = run.progress["low"]
    assert after.calls - before.calls <= 2 + len(after.refuted) - len(before.refuted)


def test_levels_that_are_missing_are_closed_up() -> None:
    assert ranked({"cake": 4, "bucket": 1, "paper": 1}) == (
        TaskSpec("bucket", 1),
        TaskSpec("paper", 1),
        TaskSpec("cake", 2),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"examples": 11, "goals": (10, 150)}, "at most 10 goal traces, not 11"),
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"learner_seconds": 0}, "more than 0 seconds"),
        ({"learner_memory": 0}, "cannot do with 0 GiB"),
        ({"disjuncts": 0}, "at least one disjunct"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(Exception, match=words):
        LhrmConfig(**changes)  # type: ignore[arg-type]


def test_contexts_keep_their_numbers_when_machines_change() -> None:
    low = machine("low", [("u0", "uA", "a")])
    before = OptionSet(Hierarchy("top", (machine("top", [("u0", "uA", "!b", "low")]), low), PROPOSITIONS), ())
    more = machine("top", [("u0", "u1", "!c", "low"), ("u1", "uA", "!b", "low")])
    pool = Hierarchy("top", (more, low), PROPOSITIONS)
    after, anew = OptionSet(pool, (), before.contexts), OptionSet(pool, ())
    assert after.contexts[: len(before.contexts)] == before.contexts
    assert set(after.contexts) == set(anew.contexts)
    assert anew.contexts[: len(before.contexts)] != before.contexts


def test_formulas_of_tasks_above_the_level_do_not_learn_unless_others_need_them() -> None:
    run = three_levels()
    registry = OptionRegistry(room=room_for(run.pool.tasks, PROPOSITIONS))
    registry.see([frozenset(), *map(frozenset, "abc")])

    def learning(trained: list[str] | None, way: Exploration = Exploration.OPTIONS) -> set[str]:
        active = np.asarray(registry.write(run.pool, [], way, trained).options.is_active)
        return {str(formula) for formula, slot in registry.slots.items() if active[slot]}

    everything = learning(None)
    assert learning(["low", "middle", "high"]) == everything
    assert {"a", "b"} <= learning(["low"]) < everything
    assert learning([]) == set()
    assert {"a", "b", "c"} <= learning([], Exploration.PROPOSITIONS)


def propositions(registry: OptionRegistry) -> list[str]:
    experience = StrategyInputs(labels=registry.labels, fatal=registry.fatal)
    return list(map(str, seen_propositions(experience).propositions))


def test_a_proposition_that_is_a_dead_end_has_no_option() -> None:
    registry, dead, both = OptionRegistry(), frozenset("a"), frozenset("bc")
    assert registry.see([dead, both], [both])
    assert propositions(registry) == ["a", "b", "c"]
    assert registry.see([], [dead])
    assert not registry.see([dead], [dead])
    assert propositions(registry) == ["b", "c"]


def test_tasks_may_have_the_names_that_exploration_has_for_its_machines() -> None:
    names = ("formula 0", "formula 1", "random walk")
    run = machines(QUICK, [(name, 1) for name in names])
    for name in names:
        run.take({name: [trace("a b")]})
    registry = OptionRegistry(room=room_for(run.pool.tasks, PROPOSITIONS))
    registry.see([frozenset(), *map(frozenset, "abc")])
    written = registry.write(run.pool, names, Exploration.PROPOSITIONS, has_detours=True)
    assert written.lowered.machines[:3] == names
    assert {*written.lowered.machines} >= {*names, "formula 0'", "formula 1'", "random walk'"}
