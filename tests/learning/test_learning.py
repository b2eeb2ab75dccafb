"""Machines learned from traces, judged by the core."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rewardmachines as rm
from rewardmachines.core.equivalence import difference, equivalent
from rewardmachines.core.errors import NondeterminismError, RewardMachineError, UnknownPropositionError
from rewardmachines.core.flattening import flatten
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.minimization import minimize
from rewardmachines.core.reachability import check_determinism
from rewardmachines.core.traversal import verdict
from rewardmachines.files import parse_word
from rewardmachines.learning import (
    Budget,
    ContradictoryTracesError,
    HierarchyOracle,
    Learned,
    Learner,
    Options,
    Progress,
    Result,
    Solvers,
    TimedOut,
    TraceOracle,
    Unsatisfiable,
    ask_until_right,
    first_error,
    induce,
    learning_task,
    shortest,
)
from rewardmachines.learning.outcomes import call_outcome
from rewardmachines.learning.tree import TraceTree
from rewardmachines.library import domain, task
from rewardmachines.traces import Outcome, Trace
from strategies import ALL_LABELS, PROPOSITIONS, formulas, hierarchies, words


def goal(text: str) -> Trace:
    return Trace(parse_word(text), Outcome.GOAL)


def dead_end(text: str) -> Trace:
    return Trace(parse_word(text), Outcome.DEAD_END)


def incomplete(text: str) -> Trace:
    return Trace(parse_word(text))


def edges(result: Result) -> list[str]:
    assert isinstance(result, Learned)
    return [str(edge) for edge in result.machine.edges]


SINGLE = domain("craftworld").labels()
NAMES = domain("craftworld").propositions


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


# -- laws


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


# -- remembering and reproducing


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


# -- oracles


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


# -- budgets


def _hard() -> list[Trace]:
    truth = task("craftworld", "book-quill")
    with Solvers(cores=1) as solvers:
        oracle = HierarchyOracle(truth, SINGLE)
        found = ask_until_right(Learner(solvers), learning_task(oracle.goal_traces(), NAMES), oracle, Budget(seconds=3))
    return list(found.task.traces)


def _solvers_of(program: int) -> int:
    """How many solver processes a program has; they carry its number in their arguments."""
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(f"learning/worker.py {program} " in line for line in listing.splitlines())


def test_time_limits_hold_and_no_process_is_left() -> None:
    traces = _hard()
    started = time.monotonic()
    result = induce(traces, NAMES, timeout=1.0)
    assert isinstance(result, (TimedOut, Learned))
    assert time.monotonic() - started < 10
    assert result.refuted
    if isinstance(result, TimedOut):
        assert result.bound == max(result.refuted) + 1
        assert result.reason == "time"
    assert _solvers_of(os.getpid()) == 0


def test_a_solver_that_is_killed_is_noticed() -> None:
    from rewardmachines.learning.limits import BudgetExceeded, Limits
    from rewardmachines.learning.solvers import Question

    with Solvers(cores=1, memory=200_000_000) as solvers:
        pigeons = _pigeonholes(11)
        with pytest.raises(BudgetExceeded, match=r"time|memory"):
            solvers.decide(Question(pigeons), Limits(2))
    assert isinstance(solvers, Solvers)


def test_time_limits_hold_while_a_machine_is_made_smaller_and_the_best_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewardmachines.learning import solvers as module
    from rewardmachines.learning.limits import BudgetExceeded, Limits
    from rewardmachines.learning.solvers import Question

    monkeypatch.setattr(module, "EFFORT", 10**9)  # on a fast machine the usual effort is over before the time is
    hard = _pigeonholes(11)
    free = max(abs(literal) for clause in hard for literal in clause)
    relaxed = [[*clause, free + 1 + i] for i, clause in enumerate(hard)]
    started = time.monotonic()
    with Solvers(cores=1) as solvers, pytest.raises(BudgetExceeded) as exceeded:
        solvers.optimize(Question(relaxed, [], [range(free + 1, free + 1 + len(hard))]), Limits(2))
    assert time.monotonic() - started < 6
    assert exceeded.value.model is not None


def _pigeonholes(holes: int) -> list[list[int]]:
    """Too many pigeons: no solver finds this easy."""
    var = {(p, h): p * holes + h + 1 for p in range(holes + 1) for h in range(holes)}
    clauses = [[var[p, h] for h in range(holes)] for p in range(holes + 1)]
    for h in range(holes):
        clauses += [[-var[p, h], -var[q, h]] for p in range(holes + 1) for q in range(p)]
    return clauses


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_is_stopped_leaves_no_solver_behind(signal_number: signal.Signals) -> None:
    script = (
        "from rewardmachines.learning.limits import Limits; from rewardmachines.learning.solvers import *\n"
        f"clauses = {_pigeonholes(11)}\n"
        "print('started', flush=True)\n"
        "with Solvers(cores=1) as s: s.decide(Question(clauses), Limits(60))\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout is not None
        program.stdout.readline()
        _wait_until(lambda: _solvers_of(program.pid) > 0)
        program.send_signal(signal_number)
        assert program.wait(30) != 0
    _wait_until(lambda: _solvers_of(program.pid) == 0)


def _wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_progress_is_told() -> None:
    seen: list[Progress] = []
    induce([goal("a b")], watch=seen.append)
    assert seen[0].states == 2
    assert all(p.traces == 1 for p in seen)
