"""The fewest mistakes by MaxSAT, judged by plain enumeration, and the certificates that rest on them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain, combinations, product
from random import Random

import pytest

from learning.test_noise import episodes, with_wrong_labels, with_wrong_outcomes
from learning.written_traces import goal, incomplete
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Conjunction, Formula
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import ACCEPTING, LEAF, REJECTING, Edge, RewardMachine
from rewardmachines.core.reachability import check_determinism
from rewardmachines.language import compile_task
from rewardmachines.learning import Learned, Options, Solvers, induce, learning_task
from rewardmachines.learning.learner import Progress
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.maxsat import Tolerance
from rewardmachines.learning.noise import Sheet
from rewardmachines.learning.task import LearningTask, state_names
from rewardmachines.traces import Outcome, Trace, singletons

LABELS = (*singletons("ab"), frozenset("ab"))
FORMULAS = tuple(
    Formula(frozenset({Conjunction(frozenset(required), frozenset(forbidden))}))
    for required, forbidden in (("a", ""), ("b", ""), ("ab", ""), ("a", "b"), ("b", "a"))
)
CALLEE = compile_task("a ; b", name="ab", propositions="ab")


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    yield
    listing = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"worker.py {os.getpid()} " not in listing


@cache
def every_machine(states: int, callees: tuple[str, ...], *, rejecting: bool) -> tuple[RewardMachine, ...]:
    """All acyclic machines of the size with one disjunct between two states, over the propositions a and b."""
    names = state_names(states - 1, rejecting=rejecting)
    inner = names[: states - 1]
    pairs = [(u, v) for i, u in enumerate(inner) for v in names[i + 1 :]]
    labels: list[tuple[Formula, str] | None] = [None, *((f, LEAF) for f in FORMULAS)]
    labels += [(formula, callee) for callee in callees for formula in (Formula(frozenset({Conjunction()})), *FORMULAS)]
    found = []
    for chosen in product(labels, repeat=len(pairs)):
        edges = tuple(Edge(*pair, *label) for pair, label in zip(pairs, chosen, strict=True) if label is not None)
        left, entered = {e.source for e in edges}, {e.target for e in edges}
        if left >= set(inner) and entered >= set(inner[1:]):
            kept = tuple(n for n in names if n != REJECTING or n in entered)
            found.append(
                RewardMachine(
                    name="root",
                    states=kept,
                    edges=edges,
                    initial=names[0],
                    accepting=frozenset({ACCEPTING}),
                    rejecting=frozenset({REJECTING} & set(kept)),
                )
            )
    return tuple(found)


def fewest_plainly(task: LearningTask, traces: Counter[Trace], states: int) -> int:
    """The fewest mistakes of any machine of the size."""
    sheet = Sheet(traces, prefix_knowledge=task.options.prefix_knowledge)
    rejecting = any(trace.outcome is Outcome.DEAD_END for trace in traces)
    hierarchies = map(task.hierarchy, every_machine(states, tuple(task.callees), rejecting=rejecting))
    return min(
        sum(g.weight for g in sheet.mistakes(h, SearchLimits())) for h in hierarchies if not check_determinism(h)
    )


def tolerance(task: LearningTask, traces: Counter[Trace], solvers: Solvers) -> Tolerance:
    sheet = Sheet(traces, prefix_knowledge=task.options.prefix_knowledge)
    return Tolerance(task, traces, solvers, lambda h: sheet.mistakes(h, SearchLimits()), SearchLimits())


def random_task(
    seed: int, *, dead_ends: bool, callables: tuple[Hierarchy, ...] = (), prefixes: bool = True
) -> tuple[LearningTask, Counter[Trace]]:
    chance = Random(seed)
    outcomes = list(Outcome) if dead_ends else [Outcome.GOAL, Outcome.INCOMPLETE]
    traces: Counter[Trace] = Counter()
    for _ in range(chance.randint(3, 9)):
        word = tuple(chance.choice(LABELS) for _ in range(chance.randint(0, 5)))
        traces[Trace(word, chance.choice(outcomes))] += chance.randint(1, 3)
    plain = [Trace(trace.labels) for trace in traces]
    return learning_task(plain, "ab", callables, options=Options(prefix_knowledge=prefixes)), traces


@pytest.mark.parametrize("prefixes", [True, False])
@pytest.mark.parametrize(("dead_ends", "states"), [(False, 2), (False, 3), (True, 2), (True, 3)])
def test_no_machine_makes_fewer_mistakes_than_maxsat_finds(dead_ends: bool, states: int, prefixes: bool) -> None:
    with Solvers(cores=1) as solvers:
        for seed in range(3 if dead_ends and states == 3 else 12):
            task, traces = random_task(seed, dead_ends=dead_ends, prefixes=prefixes)
            fewest = fewest_plainly(task, traces, states)
            search = tolerance(task, traces, solvers)
            machine = search.search(states, fewest)
            assert machine is not None
            sheet = Sheet(traces, prefix_knowledge=prefixes)
            assert sum(g.weight for g in sheet.mistakes(task.hierarchy(machine), SearchLimits())) == fewest
            if fewest:
                assert search.search(states, fewest - 1) is None
                assert search.bound >= fewest


@pytest.mark.parametrize("prefixes", [True, False])
def test_calls_that_still_run_at_a_goal_make_only_that_trace_wrong(prefixes: bool) -> None:
    with Solvers(cores=1) as solvers:
        for seed, states in chain(((seed, 2) for seed in range(15)), ((seed, 3) for seed in range(5))):
            task, traces = random_task(seed, dead_ends=False, callables=(CALLEE,), prefixes=prefixes)
            fewest = fewest_plainly(task, traces, states)
            search = tolerance(task, traces, solvers)
            assert search.search(states, fewest) is not None
            if fewest:
                assert search.search(states, fewest - 1) is None


@pytest.mark.parametrize("expression", ["a ; b", "a ; b ; c", "(a & b) ; c", "(a ; b) avoid c"])
def test_the_truth_is_proved_to_be_the_smallest(expression: str) -> None:
    truth, traces = episodes(expression)
    told, wrong = with_wrong_outcomes(traces, 0.1, Random(1))
    result = induce(told, "abc", noise=0.1, certify=True)
    assert isinstance(result, Learned)
    assert result.noise is not None
    assert result.noise.is_certified
    assert result.noise.refuted == tuple(range(2, len(truth[truth.root].states) - len(truth[truth.root].rejecting)))
    assert all(bound.mistakes > wrong.total() for bound in result.noise.bounds)


def test_wrong_labels_leave_a_certificate_too() -> None:
    _, traces = episodes("a ; b ; c")
    result = induce(with_wrong_labels(traces, 0.02, Random(0)), "abc", noise=0.2, certify=True)
    assert isinstance(result, Learned)
    assert result.noise is not None
    assert (result.noise.is_certified, result.noise.refuted) == (True, (2, 3))


def test_a_smaller_machine_with_as_few_mistakes_takes_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a price for states, consensus learns errors by heart; these give the larger machine no advantage."""
    from rewardmachines.learning import noise

    traces = {goal("a b"): 20, goal("a a b"): 5, incomplete("b a"): 10, incomplete("a"): 3, incomplete("b"): 3}
    monkeypatch.setattr(noise.Consensus, "run", _larger_machine)
    result = induce(traces, "ab", noise=0.1, certify=True)
    assert isinstance(result, Learned)
    assert [str(edge) for edge in result.machine.edges] == ["u0 --[a]--> u1", "u1 --[b]--> uA"]
    assert result.noise is not None
    assert (result.noise.mistakes, result.noise.is_certified, result.noise.refuted) == (0, True, (2,))


def _larger_machine(consensus: object) -> Learned:
    """A machine of four states that explains what one of three explains."""
    from dataclasses import replace

    from rewardmachines.learning.noise import Candidate, Consensus

    assert isinstance(consensus, Consensus)
    small = consensus._candidate(frozenset({goal("a b"), incomplete("a"), incomplete("b")}))
    assert small is not None
    a, b = (Formula(frozenset({Conjunction(frozenset(p))})) for p in "ab")
    edges = (Edge("u0", "u1", a), Edge("u1", "u2", a), Edge("u1", ACCEPTING, b), Edge("u2", ACCEPTING, b))
    names = state_names(3, rejecting=False)
    machine = RewardMachine(
        name="root", states=names, edges=edges, initial="u0", accepting=frozenset({ACCEPTING}), rejecting=frozenset()
    )
    hierarchy = Hierarchy("root", (machine,), ("a", "b"))
    learned = replace(small.learned, machine=machine, hierarchy=hierarchy)
    consensus.best = Candidate(learned, small.sample, consensus.sheet.mistakes(hierarchy, SearchLimits()))
    assert consensus.best.mistakes == 0
    return consensus.learned(consensus.best)


def test_a_solver_that_is_killed_leaves_a_machine_without_a_certificate() -> None:
    _, traces = episodes("a ; b ; c")
    told, _ = with_wrong_outcomes(traces, 0.1, Random(1))
    killed: list[int] = []

    def kill(progress: Progress) -> None:
        if progress.activity.startswith("with "):
            killed.extend(_kill_solvers())

    result = induce(told, "abc", noise=0.1, certify=True, watch=kill, cores=1)
    assert isinstance(result, Learned)
    assert result.noise is not None
    assert killed
    assert not result.noise.is_certified
    assert result.noise.bounds[-1].reason == "killed"
    assert result.states == 4


def _kill_solvers() -> Iterator[int]:
    listing = subprocess.run(["ps", "-ww", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        if f"worker.py {os.getpid()} " in line:
            os.kill(int(line.split()[0]), signal.SIGKILL)
            yield int(line.split()[0])


def test_a_certificate_goes_with_noise() -> None:
    with pytest.raises(RewardMachineError, match="certify goes with noise"):
        induce([goal("a")], certify=True)


def test_the_answer_does_not_depend_on_what_was_told_first() -> None:
    task, traces = random_task(3, dead_ends=False)
    fewest = fewest_plainly(task, traces, 3)
    with Solvers(cores=1) as solvers:
        for count in range(3):
            for sample in combinations(traces, count):
                search = tolerance(task, traces, solvers)
                search.add(sample)
                assert search.search(3, fewest) is not None
                assert fewest == 0 or search.search(3, fewest - 1) is None
