"""Budgets hold, whatever a search is at when they are spent."""

from __future__ import annotations

import random
import time
from functools import cache
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.learning import (
    Budget,
    ContradictoryTracesError,
    Learned,
    Learner,
    Options,
    Result,
    Solvers,
    TimedOut,
    Unsatisfiable,
    induce,
    learning_task,
)
from rewardmachines.learning.clauses import Clauses
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits, memory_taken
from rewardmachines.learning.solvers import Question, quick
from rewardmachines.learning.task import check_traces
from rewardmachines.library import domain, task
from rewardmachines.traces import Outcome, Trace
from strategies import PROPOSITIONS, hierarchies, words

A, NOTHING = frozenset({"a"}), frozenset[str]()
SLACK = 3.0
"""Budgets hold within a second; on a busy machine a test allows for more, and still for far less than it once took."""


def episode(truth: Hierarchy, labels: list[Label], length: int, chance: random.Random) -> Trace:
    """Labels by chance, up to where the hierarchy decides."""
    word: list[Label] = []
    while len(word) < length and verdict(truth, word) is Verdict.NEITHER:
        word.append(chance.choice(labels))
    said = verdict(truth, word)
    return Trace(tuple(word), next(outcome for outcome in Outcome if outcome.verdict is said))


def episodes(name: str, count: int, length: int, *, dead_ends: bool = False) -> list[Trace]:
    truth = task("craftworld", name, dead_ends=dead_ends)
    labels = list(domain("craftworld").labels(dead_ends=dead_ends) or ())
    chance = random.Random(7)
    return [episode(truth, labels, length, chance) for _ in range(count)]


@cache
def many() -> tuple[Trace, ...]:
    """3,000 traces of a flat machine of eight states, the last of which takes minutes to find."""
    return tuple(episodes("book", 3000, 100))


def assert_in_time(started: float, seconds: float) -> None:
    assert time.monotonic() - started < seconds + SLACK


# -- time


@pytest.mark.parametrize("engine", ["sat", "clingo"])
def test_a_time_limit_holds_for_three_thousand_traces(engine: str) -> None:
    traces, started = many(), time.monotonic()
    result = induce(traces, timeout=2, engine=engine)  # type: ignore[arg-type]
    assert_in_time(started, 2)
    assert isinstance(result, TimedOut)
    assert result.reason == "time"
    assert result.seconds == pytest.approx(2, abs=SLACK)


@pytest.mark.parametrize("outcome", [Outcome.GOAL, Outcome.INCOMPLETE])
def test_a_time_limit_holds_for_a_trace_of_five_thousand_labels(outcome: Outcome) -> None:
    started = time.monotonic()
    ended = Trace((A, A), Outcome.DEAD_END)  # incomplete traces alone are refused
    result = induce([ended, Trace((A, NOTHING) * 2500, outcome)], timeout=1)
    assert_in_time(started, 1)
    assert isinstance(result, TimedOut)
    assert result.reason == "time"
    assert result.bound == len(result.refuted) + 2


def test_building_a_task_counts_as_a_part_of_the_search() -> None:
    started = time.monotonic()
    result = induce(many(), timeout=0.01)
    assert_in_time(started, 0)
    assert isinstance(result, TimedOut)
    assert (result.bound, result.calls) == (2, 0)
    with pytest.raises(BudgetExceeded, match="time"):
        learning_task(many(), limits=SearchLimits(0.01))


def test_the_budget_of_a_learner_holds_while_clauses_are_built() -> None:
    big = learning_task(many())
    started = time.monotonic()
    with Solvers(cores=1) as solvers, patch("rewardmachines.learning.learner.is_large", lambda _: False):
        result = Learner(solvers).learn(big, Budget(seconds=0.3))
    assert_in_time(started, 0.3)
    assert isinstance(result, TimedOut)


def test_a_model_that_was_found_in_this_process_is_kept_when_time_runs_out() -> None:
    with pytest.raises(BudgetExceeded) as exceeded:
        quick(Question([[1, 2], [-1, 3]], [], [[1, 2, 3]]), SearchLimits(1e-9))
    assert exceeded.value.model is not None


def test_machines_of_the_right_size_are_kept_when_time_runs_out() -> None:
    """With few of the traces a machine is found that explains all; then there is no time for those with fewer edges."""
    traces = episodes("paper", 60, 30)
    whole = induce(traces)
    assert isinstance(whole, Learned)

    def exceed(*_: object, **__: object) -> None:
        raise BudgetExceeded("time")

    with (
        patch("rewardmachines.learning.sampling.MANY_LABELS", 0),
        patch("rewardmachines.learning.learner._Search._ask_with_all_traces", exceed),
    ):
        result = induce(traces)
    assert isinstance(result, Learned)
    assert (result.states, result.refuted) == (whole.states, whole.refuted)
    assert not result.certificate.edges_minimal


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_times_that_are_none_are_refused(seconds: float) -> None:
    with pytest.raises(RewardMachineError, match="more than 0 seconds"):
        Budget(seconds=seconds)


def test_long_traces_are_checked_in_one_walk_each() -> None:
    long = (A, NOTHING) * 50_000
    started = time.monotonic()
    check_traces([Trace(long, Outcome.GOAL), Trace(long[:-1])], prefix_knowledge=True)
    with pytest.raises(ContradictoryTracesError):
        check_traces([Trace(long), Trace(long[:-1], Outcome.GOAL)], prefix_knowledge=True)
    assert_in_time(started, 0)


@given(st.lists(st.tuples(st.lists(st.sampled_from([A, NOTHING]), max_size=4), st.sampled_from(Outcome)), max_size=5))
def test_contradictions_are_those_of_the_definition(some: list[tuple[list[Label], Outcome]]) -> None:
    traces = [Trace(tuple(labels), outcome) for labels, outcome in some]
    for knowledge in (True, False):
        pairs = [(t, o) for t in traces for o in traces if o.labels[: len(t)] == t.labels]
        contradictory = any(
            t.outcome is not o.outcome
            if len(t) == len(o)
            else t.outcome is not Outcome.INCOMPLETE and (knowledge or t.outcome is not o.outcome)
            for t, o in pairs
        )
        try:
            check_traces(traces, prefix_knowledge=knowledge)
        except ContradictoryTracesError:
            assert contradictory
        else:
            assert not contradictory


# -- memory


def test_a_memory_limit_holds_for_this_process_too() -> None:
    big, limit = learning_task(many()), 40 * 2**20
    before = memory_taken()
    with Solvers(cores=1) as solvers, patch("rewardmachines.learning.learner.is_large", lambda _: False):
        result = Learner(solvers).learn(big, Budget(memory=limit))
    assert isinstance(result, TimedOut)
    assert result.reason == "memory"
    assert memory_taken() < before + 3 * limit


def test_the_memory_of_a_budget_is_also_that_of_solvers() -> None:
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded, match="memory"):
        solvers.decide(Question([[1]]), SearchLimits(30, 2**20, base=2**40))


def test_a_solver_is_not_held_to_the_memory_of_an_earlier_search() -> None:
    with Solvers(cores=1) as solvers:
        assert solvers.decide(Question([[1]]), SearchLimits(30, 2**33, base=2**40)) == [1]
        assert solvers.decide(Question([[1]]), SearchLimits(30)) == [1]
        assert solvers.decide(Question([[1]]), SearchLimits(30, 10**300, base=2**40)) == [1]


def test_memory_that_is_none_is_refused() -> None:
    with pytest.raises(RewardMachineError, match="more than 0 bytes"):
        Budget(memory=0)


# -- the same machines


def numbers(result: Result) -> tuple[object, ...]:
    """All of a result but the time."""
    machine, proof = (result.machine, result.certificate) if isinstance(result, Learned) else (None, None)
    return type(result), machine, result.refuted, result.calls, proof and (proof.edges_minimal, proof.literals_minimal)


@pytest.mark.parametrize("name", ["bucket", "paper", "milk-bucket", "book"])
@pytest.mark.parametrize("dead_ends", [False, True])
def test_neither_processes_nor_samples_change_what_is_learned(name: str, dead_ends: bool) -> None:
    traces = episodes(name, 120, 15, dead_ends=dead_ends)
    lower = [task("craftworld", n, dead_ends=dead_ends) for n in ("paper", "leather", "bucket") if n != name]
    callables = [callee for callee in lower if callee.height < task("craftworld", name).height]
    expected = numbers(induce(traces, callables=callables, max_states=4))
    with patch("rewardmachines.learning.solvers.QUICK_INTEGERS", 0):
        assert numbers(induce(traces, callables=callables, max_states=4)) == expected
    with patch("rewardmachines.learning.sampling.MANY_LABELS", 0):
        assert numbers(induce(traces, callables=callables, max_states=4)) == expected


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(hierarchies(max_height=2), st.lists(words, min_size=4, max_size=12), st.booleans())
def test_a_sample_never_refutes_too_much(tree: Hierarchy, some: list[list[Label]], prefix_knowledge: bool) -> None:
    traces = set()
    for word in some:
        ends = (end for end in range(len(word)) if verdict(tree, word[:end]) is not Verdict.NEITHER)
        cut = word[: next(ends, len(word))] if prefix_knowledge else word
        traces.add(Trace(tuple(cut), next(o for o in Outcome if o.verdict is verdict(tree, cut))))
    assume(Trace(()) not in traces and not any(not t.labels for t in traces))
    options = Options(negative_formulas=True, prefix_knowledge=prefix_knowledge)
    whole = learning_task(traces, PROPOSITIONS, options=options)
    with Solvers(cores=1) as solvers:
        expected = numbers(Learner(solvers).learn(whole, Budget(max_states=4)))
        with (
            patch("rewardmachines.learning.sampling.MANY_LABELS", 0),
            patch("rewardmachines.learning.sampling.PORTION", 1),
        ):
            assert numbers(Learner(solvers).learn(whole, Budget(max_states=4))) == expected


def test_what_has_no_machine_is_refuted_with_a_sample_too() -> None:
    traces = [Trace((frozenset(p),), Outcome.GOAL) for p in "abc"] + [Trace((frozenset(p),)) for p in "de"]
    with (
        patch("rewardmachines.learning.sampling.MANY_LABELS", 0),
        patch("rewardmachines.learning.sampling.PORTION", 1),
    ):
        assert isinstance(induce(traces, max_states=2), Unsatisfiable)


@given(st.lists(st.lists(st.integers(-9, 9).filter(bool), max_size=4), max_size=20))
def test_clauses_are_given_back_as_they_were(clauses: list[list[int]]) -> None:
    with patch("rewardmachines.learning.clauses.PENDING", 3):
        assert list(Clauses(clauses)) == clauses
        assert len(Clauses(clauses)) == len(clauses)
