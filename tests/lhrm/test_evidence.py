"""Machines from traces of which some are wrong: counterexamples refute a machine together, and not one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import rewardmachines as rm
from lhrm.test_machines import causes, machines, trace
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.files.records import from_plain, to_plain
from rewardmachines.learning.noise import allowed_mistakes
from rewardmachines.lhrm import evidence
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.evidence import KeptTrace, TraceEvidence
from rewardmachines.lhrm.induction import Machines, TaskProgress
from rewardmachines.traces import Outcome, Trace, singletons

NOISY = LhrmConfig(goals=(3,), examples=3, noise=0.05)
LABELS = singletons(("a", "b", "c"))
ORDER = rm.compile_task("a ; b", propositions=("a", "b", "c"))
GOALS = [trace("a b"), trace("c a b"), trace("a c b")]
TOO_SOON = [trace("c", Outcome.INCOMPLETE), trace("b", Outcome.INCOMPLETE), trace("a", Outcome.INCOMPLETE)]


def is_right(run: Machines, truth: Hierarchy = ORDER) -> bool:
    return difference(run.pool.hierarchy("low"), truth, labels=LABELS, events=True) is None


def begun(goals: Sequence[Trace] = GOALS, config: LhrmConfig = NOISY) -> Machines:
    run = machines(config, (("low", 1),))
    run.take({"low": goals})
    return run


def with_right_machine(config: LhrmConfig = NOISY) -> Machines:
    """A run whose machine is right, after episodes that it explains."""
    run = begun(config=config)
    run.take({"low": [*TOO_SOON, *TOO_SOON]})
    run.take({"low": [trace("b c b", Outcome.INCOMPLETE)] * 2})
    assert is_right(run)
    run.count([200])
    run.take({"low": [trace("a b"), trace("c a b"), trace("b a b"), trace("c b c", Outcome.INCOMPLETE)]})
    return run


def test_counterexamples_that_agree_lead_to_another_machine() -> None:
    run = with_right_machine()
    assert run.progress["low"].learned > 1
    assert run.progress["low"].evidence.counterexamples == 0
    assert run.progress["low"].failure is None


def test_wrong_traces_among_many_that_are_explained_change_nothing() -> None:
    run = with_right_machine()
    before = run.pool
    for wrong in (trace("a b", Outcome.INCOMPLETE), trace("b c"), trace("c b c b")):
        assert run.take({"low": [wrong]}) == []
    assert run.pool == before
    assert run.progress["low"].evidence.counterexamples == 3


def test_the_same_traces_end_the_task_without_noise() -> None:
    run = begun(config=LhrmConfig(goals=(3,), examples=3))
    run.take({"low": TOO_SOON})
    (event,) = run.take({"low": [trace("a b", Outcome.INCOMPLETE)]})
    assert causes([event]) == [("low", "problem")]


def test_one_counterexample_is_not_enough_and_more_than_the_rate_allows_make_a_machine_doubtful() -> None:
    run = with_right_machine(LhrmConfig(goals=(3,), examples=3, noise=0.05, confirm_episodes=100))
    assert run.is_confirmed("low")
    wrong = [trace("a c a b", Outcome.INCOMPLETE)]
    assert run.take({"low": wrong}) == []
    assert run.is_confirmed("low")
    progress = run.progress["low"]
    most = allowed_mistakes(progress.episodes_since, 0.05)
    several = TraceEvidence(counterexamples=most + 5)
    assert several.is_doubtful(progress.episodes_since, 0.05)
    run._change("low", evidence=several)
    assert not run.is_confirmed("low")


def test_a_wrong_example_is_left_out_when_the_mistakes_are_too_many() -> None:
    """Among the first goal traces is one of an episode that had only been cut off."""
    run = begun([trace("a b"), trace("c a b"), trace("c")])
    assert trace("c") in run.progress["low"].examples.traces
    for _ in range(6):
        run.take({"low": [trace("c", Outcome.INCOMPLETE), trace("c", Outcome.INCOMPLETE)]})
        run.take({"low": TOO_SOON[1:]})
        run.take({"low": [trace("c a b"), trace("a b"), trace("b a b")]})
    assert is_right(run)
    assert trace("c") not in run.progress["low"].examples.traces


def test_first_examples_that_contradict_each_other_are_no_end() -> None:
    run = begun([trace("a b"), trace("a b c"), trace("c a b")])
    assert run.progress["low"].failure is None
    assert run.progress["low"].examples.traces == (trace("a b"), trace("c a b"))


def test_searches_are_repeated_when_counterexamples_have_doubled_and_sooner_in_doubt() -> None:
    calm = [k for k in range(40) if TraceEvidence(counterexamples=k, searched=k // 2).is_due(is_doubtful=False)]
    assert calm == [*range(2, 40)]
    assert not TraceEvidence(counterexamples=7, searched=4).is_due(is_doubtful=False)
    assert TraceEvidence(counterexamples=7, searched=4).is_due(is_doubtful=True)
    assert not TraceEvidence(counterexamples=1).is_due(is_doubtful=True)


def test_kept_traces_have_multiplicities_and_the_last_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MOST_KEPT", 2)
    kept = TraceEvidence().with_traces([trace("a a b"), trace("c")]).with_traces([trace("a b")], 10)
    assert kept.kept == (KeptTrace(trace("c"), 1), KeptTrace(trace("a b"), 11))
    assert [one.trace for one in kept.with_counterexamples([trace("b")]).kept] == [trace("a b"), trace("b")]


def test_evidence_is_part_of_what_is_written() -> None:
    progress = with_right_machine().progress["low"]
    assert progress.evidence.kept
    assert from_plain(TaskProgress, to_plain(progress), "there") == progress


def test_a_share_of_wrong_traces_is_below_a_half() -> None:
    with pytest.raises(RewardMachineError, match=r"at least 0 and below 0\.5, not 0\.5"):
        LhrmConfig(noise=0.5)
