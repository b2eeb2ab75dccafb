"""Laws of machines that are learned from random traces, with the core as the judge."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from learning.plain_calls import call_outcome
from rewardmachines.core.equivalence import equivalent
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import verdict
from rewardmachines.learning import (
    Budget,
    HierarchyOracle,
    Learned,
    Learner,
    Options,
    Solvers,
    ask_until_right,
    learning_task,
)
from rewardmachines.learning.tree import TraceTree
from rewardmachines.traces import Outcome, Trace
from strategies import ALL_LABELS, PROPOSITIONS, formulas, hierarchies, words


def _labelled(tree: Hierarchy, some: list[list[Label]]) -> list[Trace]:
    """Traces as an episode would leave them: cut where the hierarchy decides."""
    traces = []
    for word in some:
        for end in range(len(word) + 1):
            said = verdict(tree, word[:end])
            if said.value != "neither" or end == len(word):
                traces.append(Trace(tuple(word[:end]), next(o for o in Outcome if o.verdict is said)))
                break
    return traces


def _in_space(tree: Hierarchy) -> Options | None:
    """The options under which the root's minimal flat machine can be expressed, if any."""
    (root,) = tree.machines
    inner = [s for s in root.states if not root.is_terminal(s)]
    if any(d.propositions == frozenset() for e in root.edges for d in e.formula.disjuncts):
        return None
    entered = {e.target for e in root.edges if e.source != e.target}
    if not all(root.outgoing(s) for s in inner) or not all(s in entered for s in inner if s != root.initial):
        return None
    most = max((len(e.formula.disjuncts) for e in root.edges), default=1)
    return Options(disjuncts=most, acyclic=False, negative_formulas=True)


@st.composite
def flat_machines(draw: st.DrawFn) -> Hierarchy:
    """Every state has a way out, every edge a literal; cycles and several disjuncts occur."""
    inner = [f"u{i}" for i in range(draw(st.integers(1, 3)))]
    formula = formulas(max_size=2).filter(lambda f: not f.is_true)
    built: list[Edge] = []
    for source in inner:
        targets = [t for t in (*inner, "uA", "uR") if t != source]
        for target in draw(st.lists(st.sampled_from(targets), min_size=1, max_size=3, unique=True)):
            edge = Edge(source, target, draw(formula))
            others = [e.formula for e in built if e.source == source]
            if not any(f.holds(x) and edge.formula.holds(x) for f in others for x in ALL_LABELS):
                built.append(edge)
    return Hierarchy("m", (machine("m", built, states=inner),), PROPOSITIONS)


@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(flat_machines(), st.lists(words, min_size=1, max_size=12))
def test_what_is_learned_explains_all_traces_and_is_never_larger_than_the_truth(
    tree: Hierarchy, some: list[list[Label]]
) -> None:
    smallest = minimize(flatten(tree))
    options = _in_space(smallest)
    traces = _labelled(smallest, some)
    assume(options is not None and Trace(()) not in traces)
    with Solvers(cores=1) as solvers:
        task = learning_task(traces, PROPOSITIONS, options=options)
        result = Learner(solvers).learn(task, Budget(max_states=6))
    assert isinstance(result, Learned)
    assert task.unexplained(result.hierarchy) is None
    assert check_determinism(result.hierarchy) == []
    (root,) = smallest.machines
    assert result.states <= len(root.states) - len(root.rejecting)


@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(flat_machines())
def test_with_the_truth_as_oracle_no_difference_is_left_and_the_machine_is_minimal(tree: Hierarchy) -> None:
    smallest = minimize(flatten(tree))
    options = _in_space(smallest)
    (root,) = smallest.machines
    assume(options is not None and root.initial == "u0" and len(root.states) <= 5)
    oracle = HierarchyOracle(smallest, ALL_LABELS, events=False)
    first = list(oracle.goal_traces())
    assume(first)
    with Solvers(cores=1) as solvers:
        found = ask_until_right(
            Learner(solvers), learning_task(first, PROPOSITIONS, options=options), oracle, Budget(max_states=6)
        )
    assert isinstance(found.result, Learned)
    assert equivalent(found.result.hierarchy, smallest)
    assert found.result.states == len(root.states) - len(root.rejecting)


@settings(max_examples=40)
@given(hierarchies(max_height=3), hierarchies(max_height=2), st.lists(words, min_size=1, max_size=6))
def test_machines_that_call_are_judged_by_the_core(callee: Hierarchy, tree: Hierarchy, some: list[list[Label]]) -> None:
    """Whatever is called: the learner asserts that the core agrees with every machine it returns."""
    assume(not callee[callee.root].is_terminal(callee[callee.root].initial))
    traces = _labelled(tree, some)
    assume(Trace(()) not in traces)
    called = Hierarchy(callee.root, callee.reachable(), PROPOSITIONS)
    with Solvers(cores=1) as solvers:
        task = learning_task(traces, PROPOSITIONS, [called], options=Options(negative_formulas=True), name="learned")
        result = Learner(solvers).learn(task, Budget(max_states=4))
    if isinstance(result, Learned):
        assert task.unexplained(result.hierarchy) is None


@settings(max_examples=60)
@given(hierarchies(max_height=3), st.lists(words, min_size=1, max_size=5))
def test_runs_of_calls_in_the_tree_are_those_along_each_trace(callee: Hierarchy, some: list[list[Label]]) -> None:
    traces = [Trace(tuple(word)) for word in some]
    tree = TraceTree(learning_task(traces, PROPOSITIONS, [Hierarchy(callee.root, callee.reachable(), PROPOSITIONS)]))
    for trace in traces:
        path = [0]
        for label in trace.labels:
            path.append(tree.nodes[path[-1]].children[label])
        for start, label in enumerate(trace.labels):
            run = tree.runs[callee.root].get(path[start + 1])
            assert (run is not None) == (label in tree.starting[callee.root])
            if run is None:
                continue
            outcome = call_outcome(callee, trace.labels, start)
            ends = set(path[start + 1 :])
            assert {n for n in run.returns if n in ends} == (
                {path[outcome.end + 1]} if outcome.end is not None and outcome.returns else set()
            )
            assert {n for n in run.rejects if n in ends} == (
                {path[outcome.end + 1]} if outcome.end is not None and not outcome.returns else set()
            )
