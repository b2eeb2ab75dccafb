"""The fast engine against the paper's rules run by clingo: the same sizes, equally few edges and literals."""

from __future__ import annotations

from collections.abc import Iterable

import clingo
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from learning.plain_calls import call_outcome
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import RewardMachine
from rewardmachines.core.traversal import verdict
from rewardmachines.exchange import to_asp
from rewardmachines.learning import LearningTask, Options, induce, learning_task
from rewardmachines.learning.asp import solve
from rewardmachines.learning.sat import SatEncoding
from rewardmachines.learning.solvers import Question, quick
from rewardmachines.learning.tree import TraceTree, starting_labels
from rewardmachines.traces import Outcome, Trace
from strategies import PROPOSITIONS, hierarchies, words

options = st.builds(
    Options,
    disjuncts=st.sampled_from([1, 1, 2]),
    acyclic=st.booleans(),
    negative_formulas=st.booleans(),
    prefix_knowledge=st.booleans(),
)


def fast(task: LearningTask, states: int) -> RewardMachine | None:
    encoding = SatEncoding(task, TraceTree(task), states - 1)
    literals = [v for row in (*encoding.positive, *encoding.negative) for v in row]
    answer = quick(Question(encoding.clauses, [], [encoding.used, literals]))
    assert answer is not None, "small tasks are quick"
    return None if answer.model is None else encoding.machine(answer.model)


def cost(machine: RewardMachine) -> tuple[int, int]:
    disjuncts = [d for edge in machine.edges for d in edge.formula.disjuncts]
    return len(disjuncts), sum(len(d.propositions) for d in disjuncts)


def _cut(tree: Hierarchy, word: list[Label], *, whole: bool) -> Trace:
    """As an episode would leave it, or (whole) going on after its end."""
    for end in range(len(word) + 1):
        said = verdict(tree, word[:end])
        if end == len(word) or (said.value != "neither" and not whole):
            return Trace(tuple(word[:end]), next(o for o in Outcome if o.verdict is said))
    raise AssertionError


@st.composite
def tasks(draw: st.DrawFn) -> LearningTask:
    truth = draw(hierarchies(max_height=2))
    chosen = draw(options)
    some = draw(st.lists(words, min_size=1, max_size=5))
    traces = {_cut(truth, word, whole=not chosen.prefix_knowledge) for word in some} - {Trace(())}
    callees: Iterable[Hierarchy] = draw(st.lists(hierarchies(max_height=2), max_size=1))
    called = [
        Hierarchy(c.root, c.reachable(), PROPOSITIONS) for c in callees if not c[c.root].is_terminal(c[c.root].initial)
    ]
    assume(traces and not any(not t.labels and t.outcome is not Outcome.INCOMPLETE for t in traces))
    return learning_task(traces, PROPOSITIONS, called, options=chosen, name="learned")


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(tasks())
def test_both_engines_agree_at_every_size_and_on_the_fewest_edges_and_literals(task: LearningTask) -> None:
    for states in (2, 3):
        ours, theirs = fast(task, states), solve(task, states, minimize=True)
        assert (ours is None) == (theirs is None)
        if ours is not None and theirs is not None:
            assert task.unexplained(task.hierarchy(ours)) is None
            assert cost(ours) == cost(theirs)


@pytest.mark.parametrize("engine", ["sat", "clingo"])
def test_either_engine_can_be_asked_for(engine: str) -> None:
    traces = [
        Trace((frozenset({"a"}), frozenset({"b"})), Outcome.GOAL),
        Trace((frozenset({"b"}), frozenset({"a"}))),
    ]
    result = induce(traces, engine=engine)  # type: ignore[arg-type]
    assert [str(e) for e in result.machine.edges] == ["u0 --[a]--> u1", "u1 --[b]--> uA"]  # type: ignore[union-attr]
    assert result.refuted == (2,)


@settings(max_examples=60)
@given(
    hierarchies(max_height=3),
    st.lists(st.sampled_from([frozenset(x) for x in ("", "a", "b", "c", "ab")]), min_size=1, max_size=8),
)
def test_the_rules_of_the_paper_give_the_outcomes_of_calls(callee: Hierarchy, word: list[Label]) -> None:
    """R0–R5, run by clingo on a root that calls the machine, agree with what is worked out before the search."""
    assume(not callee[callee.root].is_terminal(callee[callee.root].initial))
    starts = starting_labels(callee, word)
    for start in range(len(word)):
        if word[start] not in starts:
            continue
        accepted, rejected = _ask(to_asp(callee, word[start:]))
        outcome = call_outcome(callee, word, start)
        assert accepted == (outcome.end is not None and outcome.returns)
        assert rejected == (outcome.end is not None and not outcome.returns)


def _ask(program: str) -> tuple[bool, bool]:
    control = clingo.Control(["--warn=none"])
    control.add("base", [], program)
    control.ground([("base", [])])
    shown: set[str] = set()
    control.solve(on_model=lambda model: shown.update(str(s) for s in model.symbols(shown=True)))
    return "accept" in shown, "reject" in shown
