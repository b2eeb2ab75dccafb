"""Machines from traces, without environments: what is kept, what is relearned, and what happens when it fails."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rewardmachines.agents.option_tables import Menu
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import verdict
from rewardmachines.learning import Solvers, learner
from rewardmachines.lhrm.book import Book
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.machines import Cause, Machines
from rewardmachines.lhrm.pool import Pool, TaskSpec, ranked
from rewardmachines.traces import Outcome, Trace

PROPOSITIONS = ("a", "b", "c")
QUICK = LhrmConfig(first_goals=1, goals=1, examples=1)


def trace(text: str, outcome: Outcome = Outcome.GOAL) -> Trace:
    """Labels as words; a dot is the empty one."""
    return Trace(tuple(frozenset(word.replace(".", "")) for word in text.split()), outcome)


def machines(config: LhrmConfig = QUICK, levels: Iterable[tuple[str, int]] = (("low", 1), ("high", 2))) -> Machines:
    pool = Pool(tuple(TaskSpec(*one) for one in levels), PROPOSITIONS)
    return Machines(pool, config, Solvers(cores=1), {"high": ("low",)})


def causes(found: Iterable[object]) -> list[tuple[str, str]]:
    return [(event.task, event.cause.value) for event in found]  # type: ignore[attr-defined]


def test_enough_goal_traces_make_the_first_machine_and_the_rest_is_forgotten() -> None:
    run = machines(LhrmConfig(first_goals=3, goals=3, examples=2))
    assert run.take({"low": [trace("a"), trace(". a")]}) == []
    assert run.take({"low": [trace("a")]}) == []
    (event,) = run.take({"low": [trace(". b . a")]})
    assert (event.cause, event.goals) == (Cause.GOALS, 2)
    assert run.learnings["low"].examples.traces == (trace("a"), trace(". a"))
    assert not run.learnings["low"].examples.goals


def test_counterexamples_of_a_chunk_are_learned_from_shortest_first_and_only_if_still_wrong() -> None:
    run = machines()
    run.take({"low": [trace("a b")]})
    wrong = [trace("b", Outcome.INCOMPLETE), trace(". a", Outcome.INCOMPLETE), trace("c b", Outcome.INCOMPLETE)]
    events = run.take({"low": wrong})
    assert {event.cause for event in events} == {Cause.COUNTEREXAMPLE}
    assert len(events) < len(wrong)
    tree = run.pool.hierarchy("low")
    assert all(verdict(tree, one.labels) is one.outcome.verdict for one in (*wrong, trace("a b")))


def test_who_calls_a_machine_is_learned_again_after_it() -> None:
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
    assert all(verdict(tree, one.labels) is one.outcome.verdict for one in run.learnings["high"].examples.traces)


def test_learned_flat_nothing_is_called() -> None:
    run = machines(LhrmConfig(first_goals=1, goals=1, examples=1, callables=Callables.NONE))
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
    assert event.cause is Cause.PROBLEM
    assert event.message is not None
    assert event.message.startswith("low: its labels do not tell its ends apart: ")
    assert run.learnings["low"].problem == event.message
    assert run.pool == before
    assert run.learnings["low"].examples.traces == (trace("a"),)
    assert run.take({"low": [trace("b", Outcome.DEAD_END)]}) == []
    (other,) = run.take({"high": [trace("c b", Outcome.DEAD_END)]})
    assert other.cause is Cause.COUNTEREXAMPLE


def test_a_learner_that_runs_out_of_time_gives_its_task_up_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "quick", lambda _: None)  # nothing is so easy that it takes no time
    run = machines(LhrmConfig(first_goals=1, goals=1, examples=1, learner_seconds=1e-6))
    (event,) = run.take({"low": [trace("a b c")]})
    assert event.cause is Cause.PROBLEM
    assert event.message is not None
    assert "no machine was found in 1e-06 s" in event.message
    assert "low" not in run.pool.learned
    assert run.pool.hierarchy("low").height == 1


def test_refuted_sizes_are_not_searched_again() -> None:
    run = machines()
    run.take({"low": [trace("a b c a b")]})
    run.take({"low": [trace(text, Outcome.INCOMPLETE) for text in ("b", "c b", "a b", "a b c b", "b c a b")]})
    before = run.learnings["low"]
    assert before.refuted
    run.take({"low": [trace("c . c b", Outcome.INCOMPLETE), trace("a c a b", Outcome.INCOMPLETE)]})
    after = run.learnings["low"]
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
        ({"examples": 11, "first_goals": 10}, "at most 10 goal traces, not 11"),
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"learner_seconds": 0}, "more than 0 seconds"),
        ({"evaluate_episodes": 0}, "at least one episode"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, float], words: str) -> None:
    with pytest.raises(Exception, match=words):
        LhrmConfig(**changes)  # type: ignore[arg-type]


def test_contexts_keep_their_numbers_when_machines_change() -> None:
    low = machine("low", [("u0", "uA", "a")])
    before = Menu(Hierarchy("top", (machine("top", [("u0", "uA", "!b", "low")]), low), PROPOSITIONS), ())
    more = machine("top", [("u0", "u1", "!c", "low"), ("u1", "uA", "!b", "low")])
    pool = Hierarchy("top", (more, low), PROPOSITIONS)
    after, anew = Menu(pool, (), before.contexts), Menu(pool, ())
    assert after.contexts[: len(before.contexts)] == before.contexts
    assert set(after.contexts) == set(anew.contexts)
    assert anew.contexts[: len(before.contexts)] != before.contexts


def test_a_proposition_that_is_a_dead_end_is_not_scouted_for() -> None:
    book, dead, both = Book(), frozenset("a"), frozenset("bc")
    assert book.see([dead, both], [both])
    assert [str(formula) for formula in book.scouts()] == ["a", "b", "c"]
    assert book.see([], [dead])
    assert not book.see([dead], [dead])
    assert [str(formula) for formula in book.scouts()] == ["b", "c"]
