"""What is kept of episodes, judged on those recorded from the authors' environments."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

from envs.test_parity import AUTHORS_NAMES
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Verdict, verdict
from rewardmachines.files import parse_word
from rewardmachines.learning.induction import first_error
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.lhrm.examples import Examples, first_counterexample
from rewardmachines.lhrm.machine_pool import Pool, without_machine_yet
from rewardmachines.library import task
from rewardmachines.lowered import VerdictCode
from rewardmachines.rollout.interaction import example_of
from rewardmachines.rollout.suite import TaskSpec
from rewardmachines.rollout.tables import NOTHING, outcome_of
from rewardmachines.traces import Outcome, Trace, compress

GOLDEN = Path(__file__).parent.parent / "golden"


def goal(word: str) -> Trace:
    return Trace(parse_word(word), Outcome.GOAL)


def mistake(said: Verdict, *, terminal: bool, goal: bool) -> Outcome | None:
    """A plain reference: the outcome of the trace so far, if the verdict on it is wrong.

    At the end the machine must have accepted a goal or rejected a dead end; before it, it must have done neither.
    """
    if not terminal:
        return None if said is Verdict.NEITHER else Outcome.INCOMPLETE
    outcome = Outcome.GOAL if goal else Outcome.DEAD_END
    return None if said is outcome.verdict else outcome


def example(said: Verdict, end: Verdict, *, is_learned: bool) -> Outcome | None:
    """What compiled code makes of a single trace."""
    verdicts, ends = (jnp.array([VerdictCode.of(one)], jnp.int32) for one in (said, end))
    code = int(example_of(jnp.array([is_learned]), verdicts, ends)[0])
    return None if code == NOTHING else outcome_of(code)


@pytest.mark.parametrize("said", Verdict)
@pytest.mark.parametrize("end", Verdict)
def test_a_machine_is_wrong_at_the_end_or_before_it_and_without_one_goals_are_kept(said: Verdict, end: Verdict) -> None:
    is_goal = end is Verdict.ACCEPT
    wrong = mistake(said, terminal=end is not Verdict.NEITHER, goal=is_goal)
    assert example(said, end, is_learned=True) is wrong
    assert example(said, end, is_learned=False) is (Outcome.GOAL if is_goal else None)


def test_goal_traces_are_collected_until_there_are_enough_and_the_shortest_are_kept() -> None:
    examples = Examples(wanted=3, first=2)
    for word in ("c a b", "c a b", "a b", "b"):
        assert not examples.is_ready
        examples = examples.collected(goal(word))
    assert examples.is_ready
    begun = examples.collected(goal("a")).begun()
    assert begun.traces == (goal("b"), goal("a b"))
    assert begun.goals == frozenset()
    assert begun.collected(goal("a")) == begun


def test_dead_ends_and_unfinished_episodes_are_not_kept_before_the_first_machine() -> None:
    examples = Examples(wanted=1, first=1)
    assert examples.collected(Trace(parse_word("a"), Outcome.DEAD_END)) == examples
    assert examples.collected(Trace(parse_word("a"))) == examples


def test_a_trace_that_is_known_cannot_be_a_counterexample() -> None:
    begun = Examples(wanted=1, first=1).collected(goal("a")).begun()
    assert begun.added(goal("b")).counted(Outcome.GOAL) == 2
    with pytest.raises(RewardMachineError, match="among the examples"):
        begun.added(goal("a"))


def test_level_one_wants_fewer_goals_than_the_others() -> None:
    assert tuple(map(LhrmConfig().goals_wanted, (1, 2, 4))) == (25, 150, 150)


def test_the_shortest_counterexample_of_a_chunk_comes_first() -> None:
    tree = hierarchy(machine("m", [("u0", "uA", "a")]), propositions="abc")
    assert first_counterexample(tree, [goal("b c"), goal("c"), goal("a")]) == goal("c")
    assert first_counterexample(tree, [goal("a")]) is None


def step_by_step(tree: Hierarchy, labels: list[frozenset[str]], *, terminal: bool, is_goal: bool) -> Trace | None:
    """A plain reference: the whole trace is run anew after every label."""
    for end in range(1, len(labels) + 1):
        trace = compress(labels[:end])
        is_last = end == len(labels)
        outcome = mistake(verdict(tree, trace), terminal=terminal and is_last, goal=is_goal and is_last)
        if outcome is not None:
            return Trace(trace, outcome)
    return None


def recorded() -> Iterator[tuple[Hierarchy, Hierarchy, list[frozenset[str]], Outcome]]:
    """The true hierarchy of each episode, that of another task, its labels and how it ended."""
    with gzip.open(GOLDEN / "episodes.json.gz", "rt") as file:
        entries: list[dict[str, Any]] = json.load(file)
    for entry in entries:
        name = AUTHORS_NAMES.get(entry["task"], entry["task"])
        other = {"craftworld": "bucket", "waterworld": "rg"}[entry["domain"]]
        dead_ends = entry["setting"].lower() in ("opl", "frl", "wd")
        truth, wrong = (task(entry["domain"], one, dead_ends=dead_ends) for one in (name, other))
        labels = [frozenset(label) for label in (entry["initial_label"], *entry["labels"])]
        ending = Outcome.GOAL if entry["goal"][-1] else Outcome.DEAD_END
        yield truth, wrong, labels, ending if entry["terminated"][-1] else Outcome.INCOMPLETE


def test_counterexamples_of_recorded_episodes_are_those_of_the_plain_reference() -> None:
    mistakes = 0
    for truth, wrong, labels, outcome in recorded():
        ended = {"terminal": outcome is not Outcome.INCOMPLETE, "is_goal": outcome is Outcome.GOAL}
        assert step_by_step(truth, labels, **ended) is None
        nothing = Hierarchy("none", (without_machine_yet("none"),), truth.propositions)
        episode = Trace(compress(labels), outcome)
        for tree in (nothing, wrong):
            found = first_error(tree, episode)
            assert found == step_by_step(tree, labels, **ended)
            mistakes += found is not None
    assert mistakes > 90


# -- the machines


SPECS = (TaskSpec("paper", 1), TaskSpec("leather", 1), TaskSpec("book", 2), TaskSpec("quill", 3))


def test_a_task_of_which_nothing_is_known_accepts_and_rejects_nothing() -> None:
    tree = Pool(SPECS, ("a",)).hierarchy("paper")
    assert verdict(tree, parse_word("a {} a")) is Verdict.NEITHER
    assert without_machine_yet("x").states == ("u0", "uA", "uR")


def test_machines_of_lower_levels_can_be_called_and_dependents_come_in_order() -> None:
    pool = Pool(SPECS, ("a", "b"))
    assert pool.callables("book") == ()
    pool = pool.with_machine(machine("paper", [("u0", "uA", "a")])).with_machine(
        machine("leather", [("u0", "uA", "b")])
    )
    assert [callee.root for callee in pool.callables("book")] == ["paper", "leather"]
    assert [callee.root for callee in pool.callables("book", {"book": ("paper",)})] == ["paper"]
    pool = pool.with_machine(machine("book", [("u0", "uA", "true", "paper")]))
    pool = pool.with_machine(machine("quill", [("u0", "uA", "true", "book")]))
    assert pool.dependents("paper") == ("book", "quill")
    assert pool.dependents("leather") == ()
    assert pool.dependents("quill") == ()


def test_two_tasks_of_one_name_and_machines_of_no_task_are_refused() -> None:
    with pytest.raises(RewardMachineError, match="same name"):
        Pool((TaskSpec("a", 1), TaskSpec("a", 2)), ())
    with pytest.raises(RewardMachineError, match="no task 'x'"):
        Pool(SPECS, ()).with_machine(machine("x", []))


def test_where_there_are_fewer_goal_traces_than_wanted_those_there_must_do() -> None:
    examples = Examples(wanted=3, first=2)
    for _ in range(3):
        assert not examples.is_ready
        examples = examples.collected(goal("a"))
    assert examples.repeats == 2
    examples = examples.collected(goal("b")).collected(goal("a")).collected(goal("a"))
    assert not examples.is_ready
    assert examples.collected(goal("b")).begun().traces == (goal("a"), goal("b"))
