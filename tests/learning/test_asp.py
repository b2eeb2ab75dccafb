"""Roots found by clingo, with the core as judge; brute force where the space is small enough to be listed."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable

import pytest

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label, conjunction
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, RewardMachine, machine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import compile_task
from rewardmachines.learning.asp import SolverTimeout, solve
from rewardmachines.learning.task import LearningTask, Options, learning_task
from rewardmachines.library import domain
from rewardmachines.library import task as known
from rewardmachines.traces import Outcome, Trace

PROPOSITIONS = domain("craftworld").propositions
OUTCOMES = {outcome.verdict: outcome for outcome in Outcome}


def label(text: str) -> Label:
    return frozenset(text.split())


def trace(outcome: str, *labels: str) -> Trace:
    return Trace(tuple(map(label, labels)), Outcome(outcome))


IRON_TABLE = [
    trace("goal", "iron", "table"),
    trace("goal", "", "iron", "", "table"),
    trace("goal", "table", "iron", "table"),
    trace("incomplete", "iron", "", "iron"),
    trace("incomplete", "table"),
]


def walks(hierarchy: Hierarchy, propositions: Iterable[str], count: int, *, seed: int = 0) -> list[Trace]:
    """Random label events, each walk until the hierarchy says something or 40 labels are seen."""
    draw = random.Random(seed)
    events = [frozenset[str](), *(frozenset({p}) for p in propositions)]
    found = []
    for _ in range(count):
        word: list[Label] = []
        while len(word) < 40 and verdict(hierarchy, word) is Verdict.NEITHER:
            word.append(draw.choice([event for event in events if not word or event != word[-1]]))
        found.append(Trace(tuple(word), OUTCOMES[verdict(hierarchy, word)]))
    return found


def explained(task: LearningTask, root: RewardMachine | None) -> RewardMachine:
    """The root, which the core has found to be right."""
    assert root is not None
    hierarchy = task.hierarchy(root)
    assert task.unexplained(hierarchy) is None
    assert check_determinism(hierarchy) == []
    return root


def smallest(task: LearningTask) -> RewardMachine:
    for states in range(2, 8):
        root = solve(task, states, minimize=True)
        if root is not None:
            assert len(root.states) - len(root.rejecting) == states
            return explained(task, root)
    raise AssertionError("no root with up to 7 states")


def test_iron_then_table_is_found_with_three_states_and_no_fewer() -> None:
    found = smallest(learning_task(IRON_TABLE, name="iron-table"))
    assert found == machine("iron-table", [("u0", "u1", "iron"), ("u1", "uA", "table")])


def test_a_root_may_have_more_states_than_needed_but_all_of_them_are_used() -> None:
    task = learning_task(IRON_TABLE)
    found = explained(task, solve(task, 4))
    assert found.states == ("u0", "u1", "u2", "uA")
    assert all(found.outgoing(state) for state in ("u0", "u1", "u2"))
    assert {"u1", "u2"} <= {edge.target for edge in found.edges}


def test_book_is_found_with_paper_and_leather_to_call() -> None:
    book = known("craftworld", "book")
    callables = [known("craftworld", name) for name in ("paper", "leather")]
    traces = [t for t in walks(book, PROPOSITIONS, 60) if t.outcome is Outcome.GOAL][:10]
    assert len(traces) == 10
    learning = learning_task(traces, PROPOSITIONS, callables, name="book")
    assert solve(learning, 4) is None
    found = explained(learning, solve(learning, 5, minimize=True))
    assert found.callees == {"paper", "leather"}
    assert len(found.edges) == 5


def test_dead_ends_give_the_root_a_rejecting_state() -> None:
    task = learning_task([*IRON_TABLE, trace("dead_end", "lava"), trace("dead_end", "iron", "lava")])
    found = smallest(task)
    assert found.states == ("u0", "u1", "uA", "uR")
    assert found.rejecting == {"uR"}
    assert {(e.source, e.target) for e in found.edges} == {("u0", "u1"), ("u0", "uR"), ("u1", "uA"), ("u1", "uR")}


def test_without_dead_ends_a_callee_that_rejects_still_rejects() -> None:
    callee = machine("m1", [("u0", "u1", "a"), ("u1", "uA", "b"), ("u1", "uR", "c & !b")])
    fails = learning_task([trace("dead_end", "a", "c"), trace("goal", "a", "b")], callables=[callee])
    assert smallest(fails).callees == {"m1"}
    waits = learning_task([trace("incomplete", "a", "c"), trace("goal", "a", "b"), trace("goal", "a", "c", "b")])
    assert "m1" not in smallest(learning_task(waits.traces, callables=[callee])).callees


def test_a_cycle_is_found_where_cycles_are_allowed() -> None:
    source = machine("m", [("u0", "u1", "a"), ("u1", "u0", "b"), ("u1", "uA", "c & !b")])
    traces = [
        trace("goal", "a", "c"),
        trace("goal", "a", "b", "a", "c"),
        trace("goal", "a", "b", "a", "b", "a", "c"),
        trace("incomplete", "a", "b", "c"),
        trace("incomplete", "a", "b", "a", "b", "c"),
    ]
    cyclic = learning_task(traces, options=Options(acyclic=False), name="m")
    assert cyclic.unexplained(Hierarchy("m", (source,))) is None
    assert {(e.source, e.target) for e in smallest(cyclic).edges} >= {("u0", "u1"), ("u1", "u0")}
    assert solve(learning_task(traces, options=Options(acyclic=True)), 3) is None


def test_more_disjuncts_between_two_states_need_a_higher_bound() -> None:
    traces = [trace("goal", "a"), trace("goal", "b"), trace("incomplete", "c"), trace("incomplete", "")]
    assert solve(learning_task(traces), 2) is None
    two = learning_task(traces, options=Options(disjuncts=2))
    assert explained(two, solve(two, 2, minimize=True)).edges == machine("m", [("u0", "uA", "a | b")]).edges


def test_a_formula_without_positive_literals_must_be_allowed() -> None:
    traces = [trace("goal", ""), trace("incomplete", "a")]
    assert solve(learning_task(traces), 2) is None
    allowed = learning_task(traces, options=Options(negative_formulas=True))
    (edge,) = explained(allowed, solve(allowed, 2)).edges
    assert edge == Edge("u0", "uA", conjunction((), {"a"}))


def test_prefix_knowledge_excludes_roots_that_accept_too_early() -> None:
    traces = [trace("goal", "a", "b"), trace("incomplete", "b")]
    assert solve(learning_task(traces), 2) is None
    loose = learning_task(traces, options=Options(prefix_knowledge=False))
    assert explained(loose, solve(loose, 2)).edges


@pytest.mark.parametrize(("outcome", "states"), [("goal", 3), ("dead_end", 3)])
def test_an_empty_trace_cannot_have_ended(outcome: str, states: int) -> None:
    assert solve(learning_task([trace(outcome)], ["a"]), states) is None


def test_an_empty_trace_may_be_incomplete() -> None:
    task = learning_task([trace("incomplete"), trace("goal", "a")])
    explained(task, solve(task, 2))


def test_odd_names_come_back_as_they_were() -> None:
    callee = machine("Wood & glue", [("start", "uA", '"Iron ore" & !"not"')], initial="start")
    traces = [Trace((frozenset({"Iron ore", 'say "hi"\\\n'}), frozenset({"not"})), Outcome.GOAL)]
    learning = learning_task(traces, callables=[callee], name="My root")
    found = explained(learning, solve(learning, 3))
    assert found.name == "My root"
    assert found.propositions <= {"Iron ore", "not", 'say "hi"\\\n'}
    only = learning_task(
        [trace("goal", "a"), trace("incomplete", "b")], ["a", "b"], [machine("mtop", [("u0", "uA", "a")])]
    )
    explained(only, solve(only, 2))


def test_the_same_question_gets_the_same_answer() -> None:
    task = learning_task(IRON_TABLE)
    assert solve(task, 4) == solve(task, 4, seconds=60)


def test_edges_come_in_the_order_of_states_and_numbers() -> None:
    task = learning_task([*IRON_TABLE, trace("dead_end", "lava")], options=Options(disjuncts=2))
    found = explained(task, solve(task, 4))
    places = [(found.states.index(e.source), found.states.index(e.target)) for e in found.edges]
    assert places == sorted(places)


def test_running_out_of_time_is_an_error_and_not_an_answer() -> None:
    with pytest.raises(SolverTimeout, match="in time"):
        solve(hard_task(), 7, seconds=0.01)


def hard_task() -> LearningTask:
    """A flat Book, out of reach for this engine within seconds."""
    return learning_task(walks(known("craftworld", "book"), PROPOSITIONS, 20), PROPOSITIONS)


@pytest.mark.parametrize("states", [-1, 0, 1])
def test_a_machine_has_at_least_two_states(states: int) -> None:
    with pytest.raises(RewardMachineError, match="initial and an accepting state"):
        solve(learning_task(IRON_TABLE), states)


def test_without_clingo_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clingo", None)
    with pytest.raises(RewardMachineError, match="pip install clingo"):
        solve(learning_task(IRON_TABLE), 3)


def test_a_task_in_words_is_learned_back() -> None:
    source = compile_task("iron ; table")
    task = learning_task(walks(source, ["iron", "table", "wool"], 12), ["iron", "table", "wool"])
    assert [str(edge.formula) for edge in smallest(task).edges] == ["iron", "table"]
