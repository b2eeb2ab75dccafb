"""Machines learned from traces, judged by the core."""

from __future__ import annotations

import pytest

import rewardmachines as rm
from learning.written_traces import NAMES, SINGLE, dead_end, edges, goal, incomplete
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import NondeterminismError, RewardMachineError, UnknownPropositionError
from rewardmachines.core.hierarchy import hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.learning import (
    ContradictoryTracesError,
    HierarchyOracle,
    Learned,
    Unsatisfiable,
    induce,
)
from rewardmachines.library import domain, task
from rewardmachines.traces import Trace


def test_a_sequence_is_learned_from_a_few_traces() -> None:
    result = induce([goal("iron {} table"), goal("cow iron table"), incomplete("table iron")])
    assert edges(result) == ["u0 --[iron]--> u1", "u1 --[table]--> uA"]
    assert isinstance(result, Learned)
    assert (result.states, result.refuted) == (3, (2,))
    assert result.certificate.edges_minimal
    assert result.certificate.literals_minimal
    assert result.seconds > 0


@pytest.mark.parametrize("name", ["book", "map", "milk-bucket", "book-quill", "milk-bucket-sugar", "cake"])
def test_tasks_of_the_paper_are_learned_exactly_with_lower_ones_callable(name: str) -> None:
    truth = task("craftworld", name)
    lower = [task("craftworld", n) for n in domain("craftworld").tasks if task("craftworld", n).height < truth.height]
    result = induce(HierarchyOracle(truth, SINGLE), NAMES, lower)
    assert isinstance(result, Learned)
    assert difference(result.hierarchy, truth, labels=SINGLE, events=True) is None
    assert result.states == len(truth[truth.root].states)
    assert result.hierarchy.height == truth.height


@pytest.mark.parametrize("name", ["bucket", "book", "milk-bucket"])
def test_dead_ends_bring_a_rejecting_state(name: str) -> None:
    truth = task("craftworld", name, dead_ends=True)
    labels = domain("craftworld").labels(dead_ends=True)
    lower = [task("craftworld", n, dead_ends=True) for n in ("paper", "leather", "bucket") if n != name]
    lower = [callee for callee in lower if callee.height < truth.height]
    result = induce(HierarchyOracle(truth, labels), (*NAMES, "lava"), lower)
    assert isinstance(result, Learned)
    assert difference(result.hierarchy, truth, labels=labels, events=True) is None


def test_a_rejecting_state_enters_only_with_a_dead_end() -> None:
    without = induce([goal("a b"), incomplete("c b")])
    assert isinstance(without, Learned)
    assert not without.machine.rejecting
    with_one = induce([goal("a b"), incomplete("c b"), dead_end("c a")])
    assert isinstance(with_one, Learned)
    assert with_one.machine.rejecting == {"uR"}


def test_a_callees_rejection_rejects_the_trace_though_the_root_has_no_rejecting_state() -> None:
    careful = rm.compile_task("a ; b avoid lava", name="careful")
    traces = [goal("a b c"), goal("{} a b c"), dead_end("a lava"), dead_end("lava"), incomplete("a b")]
    result = induce([*traces, incomplete("c"), incomplete("a c")], callables=[careful])
    assert isinstance(result, Learned)
    assert result.states == 3
    assert "careful" in result.machine.callees


def test_a_flat_machine_that_the_paper_could_not_learn_is_learned() -> None:
    truth = task("craftworld", "book")
    result = induce(HierarchyOracle(truth, SINGLE), NAMES)
    assert isinstance(result, Learned)
    assert (result.states, len(result.machine.edges)) == (8, 8)
    assert result.refuted == (2, 3, 4, 5, 6, 7)
    assert difference(result.hierarchy, truth, labels=SINGLE, events=True) is None


def test_several_disjuncts_are_learned_if_they_are_allowed() -> None:
    traces = [goal("a"), goal("b"), incomplete("c"), incomplete("{}")]
    assert isinstance(induce(traces, max_states=2), Unsatisfiable)
    result = induce(traces, max_states=2, disjuncts=2)
    assert edges(result) == ["u0 --[a | b]--> uA"]


def test_cycles_are_learned_if_they_are_allowed() -> None:
    toggle = hierarchy(machine("m", [("u0", "u1", "a"), ("u1", "u0", "b"), ("u1", "uA", "c & !b")]))
    labels = [[], ["a"], ["b"], ["c"]]
    result = induce(HierarchyOracle(toggle, labels), "abc", acyclic=False)
    assert isinstance(result, Learned)
    assert result.states == 3
    assert difference(result.hierarchy, toggle, labels=labels, events=True) is None


def test_formulas_without_positive_literals_are_learned_if_they_are_allowed() -> None:
    traces = [goal("a b"), goal("a {}"), incomplete("a"), incomplete("b {}"), incomplete("{} b")]
    assert isinstance(induce(traces, "ab", max_states=5), Unsatisfiable)
    result = induce(traces, "ab", negative_formulas=True)
    assert edges(result) == ["u0 --[a]--> u1", "u1 --[!a]--> uA"]


def test_without_knowledge_of_prefixes_longer_traces_may_be_accepted_too() -> None:
    traces = [goal("a b"), goal("a b c"), incomplete("b a")]
    with pytest.raises(ContradictoryTracesError, match=r"is a prefix of the goal trace .* --no-prefix allows it"):
        induce(traces)
    assert edges(induce(traces, prefix_knowledge=False)) == ["u0 --[a]--> u1", "u1 --[b]--> uA"]


@pytest.mark.parametrize(
    ("traces", "error", "message"),
    [
        ([], RewardMachineError, "there are no traces"),
        ([goal("a"), incomplete("a")], ContradictoryTracesError, r"the trace <\{a\}> is there both as \w+ and as \w+"),
        (
            [goal("a"), incomplete("a b")],
            ContradictoryTracesError,
            r"the goal trace <\{a\}> is a prefix of the incomplete",
        ),
        ([dead_end("a"), goal("a b")], ContradictoryTracesError, r"the dead_end trace <\{a\}> is a prefix of the goal"),
    ],
)
def test_contradictory_traces_are_named(traces: list[Trace], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        induce(traces)


def test_wrong_input_is_refused() -> None:
    traces = [goal("a b")]
    with pytest.raises(UnknownPropositionError, match="holds the proposition 'b'"):
        induce(traces, ["a"])
    with pytest.raises(UnknownPropositionError, match="callable machine 'n' mentions 'z'"):
        induce(traces, ["a", "b"], [machine("n", [("u0", "uA", "z")])])
    with pytest.raises(NondeterminismError, match="'n' cannot be called, it is not deterministic"):
        induce(traces, callables=[machine("n", [("u0", "uA", "a"), ("u0", "u1", "b")])])
    with pytest.raises(RewardMachineError, match="initial state is terminal"):
        induce(traces, callables=[machine("n", [], initial="uA")])
    with pytest.raises(RewardMachineError, match="a callable has that name"):
        induce(traces, callables=[machine("root", [("u0", "uA", "a")])])
    with pytest.raises(RewardMachineError, match="the engine is one of sat, clingo"):
        induce(traces, engine="ilasp")  # type: ignore[arg-type]
    with pytest.raises(RewardMachineError, match="at least one disjunct"):
        induce(traces, disjuncts=0)
    with pytest.raises(RewardMachineError, match="at least 2 states"):
        induce(traces, max_states=1)
