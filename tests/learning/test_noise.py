"""Machines from traces some of which are wrong: the right machine, and the wrong traces named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import combinations
from random import Random

import pytest

from learning.written_traces import goal, incomplete
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.language import compile_task
from rewardmachines.learning import ContradictoryTracesError, HierarchyOracle, Learned, TimedOut, first_error, induce
from rewardmachines.learning.limits import SearchLimits
from rewardmachines.learning.noise import Sheet, allowed_mistakes
from rewardmachines.learning.task import check_traces, fewest_wrong, trace_order
from rewardmachines.traces import Outcome, Trace, singletons

LABELS = singletons("abc")


def episode(truth: Hierarchy, length: int, chance: Random) -> Trace:
    word: list[Label] = []
    while len(word) < length and verdict(truth, word) is Verdict.NEITHER:
        word.append(chance.choice(LABELS))
    return Trace(tuple(word), Outcome.of(verdict(truth, word)))


@cache
def episodes(expression: str, count: int = 120) -> tuple[Hierarchy, tuple[Trace, ...]]:
    truth, chance = compile_task(expression, propositions="abc"), Random(7)
    return truth, tuple(episode(truth, 20, chance) for _ in range(count))


def with_wrong_outcomes(traces: tuple[Trace, ...], rate: float, chance: Random) -> tuple[list[Trace], Counter[Trace]]:
    """The traces, and those of them whose outcome was changed."""
    told: list[Trace] = []
    wrong: Counter[Trace] = Counter()
    for trace in traces:
        told.append(trace)
        if chance.random() < rate:
            others = [o for o in (Outcome.GOAL, Outcome.INCOMPLETE) if o is not trace.outcome]
            told[-1] = Trace(trace.labels, chance.choice(others))
            wrong[told[-1]] += 1
    return told, wrong


def with_wrong_labels(traces: tuple[Trace, ...], rate: float, chance: Random) -> list[Trace]:
    return [
        Trace(tuple(chance.choice(LABELS) if chance.random() < rate else label for label in t.labels), t.outcome)
        for t in traces
    ]


def assert_right(result: object, truth: Hierarchy) -> Learned:
    assert isinstance(result, Learned)
    assert difference(result.hierarchy, truth, labels=LABELS, events=True) is None
    return result


@pytest.mark.parametrize("expression", ["a ; b", "a ; b ; c", "(a & b) ; c", "a | b ; c", "(a ; b) avoid c"])
def test_wrong_outcomes_are_found_out(expression: str) -> None:
    truth, traces = episodes(expression)
    told, wrong = with_wrong_outcomes(traces, 0.1, Random(1))
    result = assert_right(induce(told, "abc", noise=0.1), truth)
    assert result.noise is not None
    assert result.noise.is_plausible
    assert {g.trace: g.weight for g in result.noise.given_up} == wrong
    assert result.noise.mistakes == wrong.total() > 0


@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_are_found_out(seed: int) -> None:
    truth, traces = episodes("a ; b ; c")
    told = with_wrong_labels(traces, 0.02, Random(seed))
    result = assert_right(induce(told, "abc", noise=0.2), truth)
    assert result.noise is not None
    assert {g.trace for g in result.noise.given_up} == {t for t in told if first_error(truth, t) is not None}
    assert {g.error for g in result.noise.given_up} >= {first_error(result.hierarchy, t) for t in told} - {None}


def test_a_machine_may_be_called_for_traces_with_noise() -> None:
    callee = compile_task("a ; b", name="ab", propositions="abc")
    truth, traces = episodes("a ; b ; c")
    told, _ = with_wrong_outcomes(traces, 0.1, Random(2))
    result = assert_right(induce(told, "abc", [callee], noise=0.1), truth)
    assert result.states == 3


@pytest.mark.parametrize("prefix_knowledge", [True, False])
def test_the_sheet_counts_the_mistakes_that_the_core_finds(prefix_knowledge: bool) -> None:
    truth, traces = episodes("a ; b")
    _, others = episodes("a | b ; c")
    sheet = Sheet(Counter((*traces, *others)), prefix_knowledge=prefix_knowledge)
    found = sheet.mistakes(truth, SearchLimits())
    if prefix_knowledge:
        wrong = {t: first_error(truth, t) for t in others if first_error(truth, t) is not None}
    else:
        wrong = {t: t for t in others if verdict(truth, t.labels) is not t.outcome.verdict}
    assert {g.trace: g.error for g in found} == wrong != {}
    assert sum(g.weight for g in found) == sum(t in wrong for t in others)


def test_traces_may_have_weights() -> None:
    traces = {goal("a b"): 20, incomplete("a b"): 1, incomplete("b a"): 5, incomplete("a"): 3}
    result = induce(traces, "ab", noise=0.1)
    assert isinstance(result, Learned)
    assert result.noise is not None
    assert (result.noise.traces, result.noise.mistakes) == (29, 1)
    assert [g.trace for g in result.noise.given_up] == [incomplete("a b")]


def test_too_many_mistakes_are_told() -> None:
    _, traces = episodes("a ; b")
    told, _ = with_wrong_outcomes(traces, 0.3, Random(3))
    result = induce(told, "abc", noise=0.01)
    assert isinstance(result, Learned)
    assert result.noise is not None
    assert result.noise.mistakes > result.noise.allowed
    assert not result.noise.is_plausible


def test_what_is_allowed_is_a_quantile() -> None:
    assert [allowed_mistakes(300, rate) for rate in (0.01, 0.05, 0.1)] == [8, 24, 43]
    assert allowed_mistakes(1, 0.001) == 0


@pytest.mark.parametrize("rate", [0, -0.1, 0.5, float("nan")])
def test_the_rate_is_a_share(rate: float) -> None:
    with pytest.raises(RewardMachineError, match="above 0 and below"):
        induce([goal("a")], noise=rate)


def test_noise_needs_traces_that_ended_and_no_oracle() -> None:
    with pytest.raises(RewardMachineError, match="nothing to learn from"):
        induce([incomplete("a")], noise=0.1)
    with pytest.raises(RewardMachineError, match="no traces"):
        induce([], noise=0.1)
    with pytest.raises(RewardMachineError, match="no oracle"):
        induce(HierarchyOracle(compile_task("a")), noise=0.1)
    with pytest.raises(RewardMachineError, match="at least 1"):
        induce({goal("a"): 0}, noise=0.1)


@pytest.mark.parametrize("prefix_knowledge", [True, False])
def test_contradictions_say_how_many_traces_would_have_to_be_wrong(prefix_knowledge: bool) -> None:
    traces = [goal("a"), incomplete("a"), incomplete("a b"), goal("b"), incomplete("b a"), incomplete("c")]
    with pytest.raises(ContradictoryTracesError, match="at least 2 different traces would have to be wrong") as caught:
        induce(traces, prefix_knowledge=prefix_knowledge)
    assert caught.value.wrong == 2
    with pytest.raises(ContradictoryTracesError, match="at least one trace would have to be wrong"):
        induce(traces[:3] + traces[5:], prefix_knowledge=prefix_knowledge)


@pytest.mark.parametrize("prefix_knowledge", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_fewer_traces_cannot_be_wrong(seed: int, prefix_knowledge: bool) -> None:
    """Every subset is tried, from the largest on."""
    chance = Random(seed)
    words = [tuple(chance.choice(LABELS[1:3]) for _ in range(chance.randint(0, 3))) for _ in range(8)]
    traces = sorted({Trace(word, chance.choice(list(Outcome))) for word in words}, key=trace_order)
    sizes = (n for n in range(len(traces), -1, -1) for some in combinations(traces, n) if agree(some, prefix_knowledge))
    assert fewest_wrong(traces, prefix_knowledge=prefix_knowledge) == len(traces) - next(sizes)


def agree(traces: Sequence[Trace], prefix_knowledge: bool) -> bool:
    try:
        check_traces(traces, prefix_knowledge=prefix_knowledge)
    except ContradictoryTracesError:
        return False
    return True


def test_a_budget_that_is_spent_at_once_gives_no_machine() -> None:
    _, traces = episodes("a ; b")
    result = induce(traces, "abc", noise=0.1, timeout=1e-4)
    assert isinstance(result, TimedOut)
    assert result.reason == "time"
