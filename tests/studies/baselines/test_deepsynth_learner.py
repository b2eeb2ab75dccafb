"""When DeepSynth learns, from which traces, and what comes of it where the answer is known."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pytest

from rewardmachines.core.formula import Label
from rewardmachines.core.sizes import Size
from rewardmachines.studies.baselines.deepsynth.automaton import START
from rewardmachines.studies.baselines.deepsynth.learner import Automata, DeepSynth, DeepSynthConfig
from rewardmachines.studies.baselines.protocol import Attempt, FlatEpisode
from rewardmachines.traces import Outcome

TASK: Any = None
"""DeepSynth looks at no task."""
CONFIG = DeepSynthConfig(first_call=20)


class Recorder:
    """Searches at once, and keeps what it was asked."""

    def __init__(self) -> None:
        self.problems: list[Any] = []

    def __call__(self, search: Callable[[Any], Any], problem: Any) -> Any:
        self.problems.append(json.loads(json.dumps(problem)))
        return json.loads(json.dumps(search(json.loads(json.dumps(problem)))))

    def traces(self, call: int) -> list[str]:
        """The traces of a call, without their first symbol."""
        return [trace[1:] for trace in self.problems[call]["traces"]]


def label(letter: str) -> Label:
    return frozenset() if letter == "-" else frozenset(letter)


def episode(number: int, letters: str, outcome: Outcome = Outcome.GOAL, pace: int = 1) -> FlatEpisode:
    """An episode with one label for each letter, of which a new one is seen every `pace` steps.

    The first label is there in the first two moments, so that no label is lost.
    """
    return FlatEpisode(
        number=number,
        labels=tuple(map(label, letters)),
        times=tuple(pace * n + 1 if n else 0 for n in range(len(letters))),
        outcome=outcome,
        steps=pace * (len(letters) - 1) + 1,
    )


def taken(learner: DeepSynth, all_letters: Iterable[str]) -> list[Attempt | None]:
    return [learner.take(episode(n, letters)) for n, letters in enumerate(all_letters, 1)]


def walk(seed: int, length: int, allowed: str = "abcde") -> str:
    """A random walk in which not every letter may follow every other one."""
    numbers = random.Random(seed)
    letters = ["a"]
    while len(letters) < length:
        step = numbers.choice([1, 2, -1])
        letters.append(allowed[(allowed.index(letters[-1]) + step) % len(allowed)])
    return "".join(letters)


def test_a_symbol_is_a_whole_label() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, DeepSynthConfig(first_call=5), 0, recorder)
    labels = [
        frozenset(),
        frozenset({"r"}),
        frozenset({"r", "b"}),
        frozenset({"b"}),
        frozenset(),
        frozenset({"b", "r"}),
    ]
    learner.take(FlatEpisode(1, tuple(labels), (0, 2, 3, 4, 5, 6), Outcome.GOAL, 6))
    (trace,) = recorder.problems[-1]["traces"][-1:]
    assert len(set(trace)) == 5  # four labels and the start
    assert trace[0] == START
    assert trace[1] == trace[5]


def test_traces_begin_with_the_label_after_the_first_step() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, DeepSynthConfig(first_call=3), 0, recorder)
    learner.take(FlatEpisode(1, tuple(map(label, "-abab")), (0, 1, 2, 3, 4), Outcome.GOAL, 4))
    learner.take(FlatEpisode(2, tuple(map(label, "-aba")), (0, 2, 3, 4), Outcome.GOAL, 4))
    a, b, empty = (learner._symbols[label(letter)] for letter in "ab-")
    assert recorder.problems[0]["traces"] == [START + a + b + a]
    assert recorder.problems[1]["traces"][-1] == START + empty


@pytest.mark.parametrize("pattern", ["ab", "abc", "a-b", "abcdefg"])
def test_a_pattern_without_repetitions_gives_a_state_for_each_of_its_labels(pattern: str) -> None:
    learner = DeepSynth(TASK, CONFIG, 0, Recorder())
    taken(learner, [pattern * 20])
    states = len(pattern) + 1  # and the initial one, which only the start leaves
    assert learner.size == Size(states=states, edges=states)


def test_of_the_past_the_last_label_alone_counts() -> None:
    learner = DeepSynth(TASK, CONFIG, 0, Recorder())
    taken(learner, ["abac" * 10])
    # After a there is one state, which b and c leave; start, b and c lead to one that a leaves.
    assert learner.size == Size(states=3, edges=4)


def test_a_state_goes_into_another_one_only_if_what_enters_it_enters_that_too() -> None:
    learner = DeepSynth(TASK, CONFIG, 0, Recorder())
    taken(learner, ["abacbac" * 10])
    # The start and b are followed by a, a by b or c, c by a or b. What follows b is among what follows c, but b enters
    # no state that c enters: both have a state, and the start goes into that of b, which the same symbol leaves.
    assert learner.size == Size(states=4, edges=6)


def test_the_first_call_comes_after_so_many_steps_in_the_middle_of_an_episode() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, 0, recorder)
    assert learner.take(episode(1, "abababab", pace=2)) is None
    assert learner.size is None
    assert learner.take(episode(2, "abababa", pace=2)) == Attempt.FOUND  # 15 steps before, 5 in this one
    assert recorder.traces(0) == ["abababab", "aba"]
    assert learner.size is not None


def test_it_learns_again_when_the_automaton_has_no_successor_and_only_then() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, 0, recorder)
    attempts = taken(learner, ["abc" * 7, "abcab", "ab", "abcacab", "abcacab", "abd"])
    assert [attempt is not None for attempt in attempts] == [True, False, False, True, False, True]
    assert [recorder.traces(call)[-1] for call in (1, 2)] == ["abcac", "abd"]  # up to what was not expected
    assert len({problem["seed"] for problem in recorder.problems}) == 3


def test_traces_of_a_call_are_the_episodes_that_ended_since_the_last_one_and_the_present_one() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, 0, recorder)
    learner.take(episode(1, "ab" * 11))
    learner.take(episode(2, "aba"))
    learner.take(episode(3, "ababa", Outcome.INCOMPLETE))
    learner.take(episode(4, "abab", Outcome.DEAD_END))
    learner.take(episode(5, "abc"))
    assert recorder.traces(-1) == ["ab" * 11, "aba", "abab", "abc"]
    learner.take(episode(6, "abd"))
    assert recorder.traces(-1) == ["abc", "abd"]


def test_a_trace_that_was_learned_from_waits_to_its_end_even_if_the_episode_is_cut_off() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, 0, recorder)
    learner.take(episode(1, "ab" * 11))
    learner.take(episode(2, "abcab", Outcome.INCOMPLETE))
    assert [recorder.traces(call) for call in (1, 2)] == [["ab" * 11, "abc"], ["abca"]]
    learner.take(episode(3, "abd"))
    assert recorder.traces(-1) == ["abcab", "abd"]


def test_the_traces_of_earlier_calls_are_given_again_to_be_read() -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, 0, recorder)
    taken(learner, ["ab" * 11, "aba", "abc", "ababa", "abd"])
    assert len(recorder.problems) == 3
    for before, after in pairwise(recorder.problems):
        assert set(after["earlier"]) == {*before["earlier"], *before["traces"]}
    assert recorder.problems[0]["earlier"] == []


@pytest.mark.parametrize("seed", range(3))
def test_all_traces_of_a_call_run_and_no_unobserved_pair_is_possible(seed: int) -> None:
    recorder = Recorder()
    learner = DeepSynth(TASK, CONFIG, seed, recorder)
    seen = set()
    for number in range(1, 30):
        letters = walk(100 * seed + number, 3 + number)
        calls = len(recorder.problems)
        learner.take(episode(number, letters))
        symbols = [learner._symbols[label(letter)] for letter in letters]
        seen |= set(pairwise([START, *symbols]))
        if len(recorder.problems) > calls:
            learned = Automata.of(learner.snapshot()["learned"])
            assert learned.deterministic is not None
            for trace in recorder.problems[-1]["traces"]:
                assert learned.deterministic.run(trace) is not None
            transitions = learned.automaton.transitions
            assert {(a.symbol, b.symbol) for a in transitions for b in transitions if a.target == b.source} <= seen
    assert len(recorder.problems) > 1


def test_equal_seeds_give_equal_automata() -> None:
    walks = [walk(n, 40) for n in range(1, 12)]
    learners = [DeepSynth(TASK, CONFIG, 7, Recorder()) for _ in range(2)]
    for learner in learners:
        taken(learner, walks)
    assert learners[0].snapshot() == learners[1].snapshot()


@pytest.mark.parametrize("stop", [1, 4, 9])
def test_it_goes_on_from_a_snapshot_as_if_nothing_had_happened(stop: int) -> None:
    walks = [walk(n, 5 + n) for n in range(1, 16)]
    whole, first, second = (DeepSynth(TASK, CONFIG, 3, Recorder()) for _ in range(3))
    expected = taken(whole, walks)
    taken(first, walks[:stop])
    kept = json.dumps(first.snapshot())
    first.take(episode(stop + 1, "edcba"))  # must not change the snapshot
    second.restore(json.loads(kept))
    rest = [second.take(episode(n, letters)) for n, letters in enumerate(walks[stop:], stop + 1)]
    assert rest == expected[stop:]
    assert second.snapshot() == whole.snapshot()
    assert second.size == whole.size
    assert second.machine is None
