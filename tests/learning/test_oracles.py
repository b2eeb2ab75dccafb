"""Learning again and again: what is remembered, and oracles that tell what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from learning.written_traces import NAMES, SINGLE, dead_end, goal, incomplete
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.errors import RewardMachineError, UnknownPropositionError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import verdict
from rewardmachines.language import compile_task
from rewardmachines.learning import (
    HierarchyOracle,
    Learned,
    Learner,
    Options,
    Solvers,
    TraceOracle,
    ask_until_right,
    first_error,
    induce,
    learning_task,
    shortest,
)
from rewardmachines.library import task
from rewardmachines.traces import Trace


def test_a_size_that_was_refuted_is_not_searched_again() -> None:
    traces = [goal("a b c"), incomplete("b a c"), incomplete("c")]
    with Solvers(cores=1) as solvers:
        learner = Learner(solvers)
        first = learner.learn(learning_task(traces, "abc"))
        again = learner.learn(learning_task([*traces, incomplete("c b a")], "abc"))
        fewer = learner.learn(learning_task(traces[:1], "abc"))
        other = learner.learn(learning_task(traces, "abc", options=Options(disjuncts=2)))
    assert isinstance(first, Learned)
    assert isinstance(again, Learned)
    assert isinstance(fewer, Learned)
    assert isinstance(other, Learned)
    assert first.calls == 1 + len(first.refuted)
    assert again.calls == 1
    assert again.refuted == first.refuted
    assert fewer.refuted == (), "a refutation does not hold for fewer traces"
    assert other.calls == 1 + len(other.refuted), "nor for other options"


def test_the_machine_depends_on_the_task_alone() -> None:
    truth = task("craftworld", "book")
    oracle = HierarchyOracle(truth, SINGLE)
    with Solvers(cores=1) as one, Solvers(cores=2) as two:
        fresh = ask_until_right(Learner(one), learning_task(oracle.goal_traces(), NAMES), oracle)
        cold = Learner(two).learn(fresh.task)
    assert isinstance(fresh.result, Learned)
    assert isinstance(cold, Learned)
    assert cold.machine == fresh.result.machine
    shuffled = replace(fresh.task, traces=tuple(reversed(fresh.task.traces)))
    assert learning_task(shuffled.traces, NAMES).traces == fresh.task.traces


def test_recorded_traces_answer_with_the_shortest_that_is_wrong() -> None:
    oracle = TraceOracle([goal("a b"), goal("c a b"), incomplete("b a"), incomplete("c")])
    found = induce(oracle, "abc")
    assert isinstance(found, Learned)
    assert oracle.counterexamples(found.hierarchy) == []
    wrong = hierarchy(machine("m", [("u0", "uA", "c")]), propositions="abc")
    assert oracle.counterexamples(wrong) == [incomplete("c")]
    assert shortest([goal("c a b"), goal("a b")], 1) == [goal("a b")]


def test_the_first_error_of_an_episode_is_found() -> None:
    tree = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "uR", "b & !a")]))
    assert first_error(tree, goal("c a")) is None
    assert first_error(tree, incomplete("c c")) is None
    assert first_error(tree, goal("c a b")) == incomplete("c a")
    assert first_error(tree, goal("b a")) == incomplete("b")
    assert first_error(tree, goal("c c")) == goal("c c")
    assert first_error(tree, dead_end("c a")) == dead_end("c a")


def test_an_oracle_that_repeats_itself_is_found_out() -> None:
    class Stubborn:
        def goal_traces(self) -> list[Trace]:
            return [goal("a")]

        def counterexamples(self, hierarchy: Hierarchy) -> list[Trace]:
            return [goal("a")]

    with pytest.raises(RewardMachineError, match="the oracle gave a trace that the machine explains"):
        induce(Stubborn())


def test_counterexamples_that_are_told_together_are_all_learned_from() -> None:
    class Generous:
        def __init__(self) -> None:
            self.asked = 0

        def goal_traces(self) -> list[Trace]:
            return [goal("a b"), goal("c a b")]

        def counterexamples(self, hierarchy: Hierarchy) -> list[Trace]:
            self.asked += 1
            known = [incomplete("a"), incomplete("b"), incomplete("b a")]
            return [trace for trace in known if verdict(hierarchy, trace.labels) is not trace.outcome.verdict]

    oracle = Generous()
    found = induce(oracle, "abc")
    assert isinstance(found, Learned)
    assert (found.states, oracle.asked) == (3, 2)


def test_an_oracle_may_bring_propositions_that_its_first_traces_do_not_have() -> None:
    truth = compile_task("a avoid b")
    result = induce(HierarchyOracle(truth))
    assert isinstance(result, Learned)
    assert equivalent(result.hierarchy, truth, events=True)


def test_propositions_that_are_given_bind_an_oracle() -> None:
    with pytest.raises(UnknownPropositionError, match="not among the given ones"):
        induce(HierarchyOracle(compile_task("a avoid b")), ["a"])


@pytest.mark.parametrize("traces", [[], [incomplete("a b")], [incomplete("a"), incomplete("b a")]])
def test_without_a_trace_that_ended_nothing_is_learned(traces: list[Trace]) -> None:
    with pytest.raises(RewardMachineError, match=r"goal|no traces"):
        induce(traces)
    assert isinstance(induce([*traces, dead_end("c")]), Learned)
