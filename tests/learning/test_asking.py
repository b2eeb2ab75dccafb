"""Machines that ask: the machine of an oracle is found, and the questions are few and never about what is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from random import Random

import pytest

from learning.written_traces import dead_end, goal, incomplete
from rewardmachines.core.equivalence import Word, difference, equivalent
from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import verdict
from rewardmachines.language import compile_task
from rewardmachines.learning import (
    ContradictoryTracesError,
    HierarchyOracle,
    Learned,
    LearningTask,
    Options,
    Result,
    Solvers,
    TimedOut,
    Unsatisfiable,
    induce,
    learning_task,
)
from rewardmachines.learning.asking import asking_task
from rewardmachines.learning.limits import BudgetExceeded, SearchLimits
from rewardmachines.learning.rivals import RivalSearch
from rewardmachines.library import task
from rewardmachines.traces import Outcome, Trace, singletons

FLAT = ("batter", "bucket", "compass", "leather", "paper", "quill", "sugar")
"""The tasks of CraftWorld that call no other."""
EXPRESSIONS = ("a ; b", "a & b", "(a | b) ; c", "a avoid b", "(a & b) ; c avoid d", "a ; b ; a")


@dataclass
class Notes:
    """An oracle that keeps the questions."""

    truth: HierarchyOracle
    asked: list[Word] = field(default_factory=list)
    machines: list[Hierarchy] = field(default_factory=list)

    def membership(self, labels: Word) -> Outcome:
        self.asked.append(labels)
        return self.truth.membership(labels)

    def equivalence(self, hierarchy: Hierarchy) -> Trace | None:
        self.machines.append(hierarchy)
        return self.truth.equivalence(hierarchy)


def notes(truth: Hierarchy) -> Notes:
    return Notes(HierarchyOracle(truth, singletons(truth.propositions), events=False))


def check_found(result: Result, truth: Hierarchy, labels: Iterable[frozenset[str]] | None = None) -> None:
    assert isinstance(result, Learned)
    alphabet = singletons(truth.propositions) if labels is None else list(labels)
    assert difference(result.hierarchy, truth, labels=alphabet) is None


@pytest.mark.parametrize("name", FLAT)
def test_flat_tasks_of_craftworld_are_found(name: str) -> None:
    truth = task("craftworld", name)
    oracle = notes(truth)
    result = induce(propositions=truth.propositions, oracle=oracle)
    check_found(result, truth)
    assert result.asked is not None
    assert (result.asked.membership, result.asked.equivalence) == (len(oracle.asked), len(oracle.machines))
    assert len(set(oracle.asked)) == len(oracle.asked), "no question is asked twice"
    assert {t.labels for t in result.asked.traces} >= set(oracle.asked)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_tasks_of_the_documents_are_found(text: str) -> None:
    truth = compile_task(text)
    result = induce(propositions=truth.propositions, oracle=notes(truth))
    check_found(result, truth)


@pytest.mark.parametrize("text", ["a ; b", "a & b", "a ; b ; a"])
def test_a_function_suffices_when_a_goal_trace_is_given(text: str) -> None:
    truth = compile_task(text)
    oracle = notes(truth)
    first = oracle.truth.goal_traces()
    result = induce(first, truth.propositions, oracle=oracle.membership)
    check_found(result, truth)
    assert isinstance(result, Learned)
    assert result.asked is not None
    assert (result.asked.equivalence, result.asked.unique_up_to) == (0, result.states + 1)


def test_a_machine_that_calls_others_is_found() -> None:
    truth = task("craftworld", "milk-bucket")
    result = induce(propositions=truth.propositions, callables=[task("craftworld", "bucket")], oracle=notes(truth))
    check_found(result, truth)
    assert isinstance(result, Learned)
    assert result.machine.callees == {"bucket"}


def random_machine(seed: int) -> Hierarchy:
    """A machine of two to four states over the labels of at most one of two propositions, with one edge on each."""
    random = Random(seed)
    inner = [f"u{i}" for i in range(random.randint(1, 3))]
    edges = []
    for number, state in enumerate(inner):
        later = [*inner[number + 1 :], "uA", "uR"]
        targets = random.sample(later, k=min(2, len(later)))
        edges += [(state, targets[0], "a & !b"), (state, targets[1], "b & !a")]
    return hierarchy(machine("m", edges), propositions="ab")


@pytest.mark.parametrize("seed", range(12))
def test_random_machines_are_found(seed: int) -> None:
    truth = random_machine(seed)
    check_found(induce(propositions="ab", oracle=notes(truth)), truth)


def test_cycles_and_labels_of_several_propositions_are_found_if_declared() -> None:
    cycle = hierarchy(
        machine("m", [("u0", "u1", "a"), ("u1", "u0", "b & !a"), ("u1", "uA", "a & c")]), propositions="abc"
    )
    alphabet = [frozenset(label) for label in ("a", "b", "ac")]
    oracle = HierarchyOracle(cycle, alphabet, events=False)
    result = induce(propositions="abc", oracle=oracle, alphabet=alphabet, acyclic=False)
    check_found(result, cycle, alphabet)
    assert isinstance(result, Learned)
    assert any(edge.target == "u0" for edge in result.machine.edges)


def rivals(space: LearningTask, first: Hierarchy, states: int) -> Hierarchy | None:
    with Solvers(cores=1) as solvers:
        search = RivalSearch(solvers, singletons("ab"), SearchLimits(), lambda *_: lambda: None)
        found = (search.find(space, first, states, n) for n in range(1, search.longest(space, first, states) + 1))
        return next((rival for rival in found if rival is not None), None)


@pytest.mark.parametrize("seed", range(6))
def test_no_rival_means_that_brute_force_finds_none_either(seed: int) -> None:
    """All machines of three states with one edge on each label are tried on the traces that are known."""
    truth = random_machine(seed)
    random = Random(seed)
    words = [tuple(random.choices(singletons("ab"), k=random.randint(1, 4))) for _ in range(random.choice([4, 30]))]
    known = [Trace(word, Outcome.of(verdict(truth, word))) for word in words]
    space = asking_task(learning_task(known, "ab", options=Options(prefix_knowledge=False)))
    ways = ("u1", "uA", "uR", None)
    agreeing = []
    for first_a, first_b, then_a, then_b in product(ways, ways, ways[1:], ways[1:]):
        chosen = [
            ("u0", first_a, "a & !b"),
            ("u0", first_b, "b & !a"),
            ("u1", then_a, "a & !b"),
            ("u1", then_b, "b & !a"),
        ]
        edges = [(source, target, label) for source, target, label in chosen if target]
        if "u1" in (first_a, first_b) and first_a != first_b and then_a != then_b:
            some = hierarchy(machine("m", edges, states=["u0", "u1", "uA", "uR"], rejecting=["uR"]), propositions="ab")
            if all(verdict(some, t.labels) is t.outcome.verdict for t in known):
                agreeing.append(some)
    if not agreeing:
        pytest.skip("no machine of this size and form")
    others = [other for other in agreeing if not equivalent(other, agreeing[0], labels=singletons("ab"))]
    rival = rivals(space, agreeing[0], 3)
    if rival is None:
        assert not others
    else:
        assert all(verdict(rival, t.labels) is t.outcome.verdict for t in known)
        assert not equivalent(rival, agreeing[0], labels=singletons("ab"))


def test_a_rival_differs_on_a_shortest_trace() -> None:
    truth = compile_task("a ; b")
    oracle = notes(truth)
    result = induce([goal("a b")], "ab", oracle=oracle.membership, extra_states=0)
    assert isinstance(result, Learned)
    assert result.asked is not None
    assert result.asked.unique_up_to == result.states


def test_recorded_traces_say_that_their_prefixes_did_not_end() -> None:
    recorded = asking_task(learning_task([goal("a b")], "ab"))
    asked = asking_task(learning_task([goal("a b")], "ab", options=Options(prefix_knowledge=False)))
    assert incomplete("a") in recorded.traces
    assert incomplete("a") not in asked.traces


def test_an_asked_goal_trace_may_have_ended_before() -> None:
    truth = compile_task("a")
    result = induce([Trace(goal("b a b").labels, Outcome.GOAL)], "ab", oracle=notes(truth), prefix_knowledge=False)
    check_found(result, truth)


def test_a_dead_end_can_be_the_first_answer() -> None:
    truth = compile_task("a ; b avoid c")
    result = induce([dead_end("c")], truth.propositions, oracle=notes(truth))
    check_found(result, truth)


def test_a_counterexample_that_contradicts_a_trace_is_named() -> None:
    class Forgetful:
        def membership(self, labels: Word) -> Outcome:
            return Outcome.INCOMPLETE

        def equivalence(self, hierarchy: Hierarchy) -> Trace:
            return incomplete("a")

    with pytest.raises(ContradictoryTracesError, match="both as goal and as incomplete"):
        induce([goal("a")], "ab", oracle=Forgetful())


@pytest.mark.parametrize("text", ["a avoid b", "(a & b) ; c avoid d"])
def test_counterexamples_may_bring_propositions_unless_they_are_given(text: str) -> None:
    truth = compile_task(text)
    check_found(induce(oracle=notes(truth)), truth)
    with pytest.raises(UnknownPropositionError, match="not among the given ones"):
        induce(propositions=["a"], oracle=notes(truth))


def test_a_question_needs_something_to_begin_with() -> None:
    with pytest.raises(RewardMachineError, match="no trace reaches"):
        induce(propositions="ab", oracle=lambda _: Outcome.INCOMPLETE)
    with pytest.raises(RewardMachineError, match="'c'"):
        induce([goal("a")], "ab", oracle=lambda _: Outcome.INCOMPLETE, alphabet=["a", "c"])
    with pytest.raises(RewardMachineError, match="fewer states"):
        induce([goal("a")], "ab", oracle=lambda _: Outcome.INCOMPLETE, extra_states=-1)


def test_a_counterexample_that_is_none_is_found_out() -> None:
    class Stubborn:
        def membership(self, labels: Word) -> Outcome:
            return Outcome.GOAL if labels else Outcome.INCOMPLETE

        def equivalence(self, hierarchy: Hierarchy) -> Trace:
            return incomplete("")

    with pytest.raises(RewardMachineError, match="explains"):
        induce(propositions="a", oracle=Stubborn())


def test_no_machine_and_no_time_keep_the_answers() -> None:
    truth = hierarchy(machine("m", [("u0", "uA", "a & !b"), ("u0", "uA", "b & !a")]), propositions="ab")
    too_large = induce(propositions="ab", oracle=notes(truth), max_states=2)
    assert isinstance(too_large, Unsatisfiable)
    assert too_large.asked is not None
    assert too_large.asked.unique_up_to is None
    assert goal("a") in too_large.asked.traces or goal("b") in too_large.asked.traces
    check_found(induce(propositions="ab", oracle=notes(truth), disjuncts=2), truth)


def test_answers_are_kept_when_the_time_is_up() -> None:
    answers = [Outcome.INCOMPLETE]

    def slow(labels: Word) -> Outcome:
        if not answers:
            raise BudgetExceeded("time")  # as the next check of the limits would
        return answers.pop()

    result = induce([goal("a b")], "ab", oracle=slow)
    assert isinstance(result, TimedOut)
    assert result.asked is not None
    assert (result.asked.membership, result.asked.unique_up_to) == (1, None)
    assert len(result.asked.traces) == 3, "the goal trace, its prefix, and the answer"
