"""Laws of option stacks, on random hierarchies and traces."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agents.book_options import options
from agents.reference import OptionStack, Step, achieved, agent_step, has_formula_option, is_call_of, position, returned
from agents.reference_options import TRUE, Candidate, conjoined
from agents.runnable import runnable_hierarchies, seen_labels
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Call, initial_state
from strategies import hierarchies, words


class Walk:
    """An agent that chooses at random in a random hierarchy, and the labels that it has seen."""

    def __init__(self, tree: Hierarchy, seen: frozenset[Label], seed: int) -> None:
        self.tree, self.seen = tree, set(seen)
        self.random = random.Random(seed)
        self.state = initial_state(tree)
        self.stack: OptionStack = ()
        self.last: Label | None = None
        self.stopped = False

    def choose(self, machine: str, state: str, context: Conjunction, candidates: list[Candidate]) -> int | None:
        self.stopped = not candidates
        return self.random.randrange(len(candidates)) if candidates else None

    def choose_disjunct(self, call: Call, disjuncts: list[Conjunction]) -> int:
        return self.random.randrange(len(disjuncts))

    def step(self, label: Label, now: int, ended: bool) -> Step:
        self.stopped = False
        return agent_step(
            self.tree,
            frozenset(self.seen),
            self.state,
            self.stack,
            label,
            choose=self.choose,
            choose_disjunct=self.choose_disjunct,
            now=now,
            event=label != self.last,
            ended=ended,
        )

    def follow(self, done: Step, label: Label) -> None:
        self.state, self.stack, self.last = done.after, done.stack, label
        self.seen.add(label)


@given(tree=runnable_hierarchies() | hierarchies(), trace=words, seen=seen_labels, seed=st.integers(0, 2**32))
def test_option_stacks_keep_their_laws(tree: Hierarchy, trace: list[Label], seen: frozenset[Label], seed: int) -> None:
    walk = Walk(tree, seen, seed)
    for now, observed in enumerate(trace):
        event, ended = observed != walk.last, now == len(trace) - 1
        done = walk.step(observed, now, ended)
        check_acting(walk, done)
        check_termination(walk, done, ended)
        check_achievement(walk, done, observed, event)
        check_stack(done, now, ended)
        walk.follow(done, observed)


def check_acting(walk: Walk, done: Step) -> None:
    """Options for the calls, in their order, then those chosen now, each in the initial state of the one before."""
    calls = len(walk.state.stack)
    assert has_formula_option(done.acting) != walk.stopped
    assert done.acting[: len(walk.stack)] == walk.stack
    assert all(running.option.is_call for running in done.acting[:-1])
    assert [position(o, walk.state.stack) for o in options(done.acting)[:calls]] == list(range(calls))
    chosen = options(done.acting)[calls:]
    if walk.stopped:
        assert chosen == []
        return
    assert (chosen[0].machine, chosen[0].state, chosen[0].context) == (walk.state.machine, walk.state.state, TRUE)
    for above, below in pairwise(chosen):
        assert (below.machine, below.state) == (above.callee, walk.tree[above.callee].initial)
        assert below.context == conjoined(above.context, above.formula)


def check_termination(walk: Walk, done: Step, ended: bool) -> None:
    kept = len(done.acting) - len(done.terminated)
    assert options(done.terminated)[::-1] == options(done.acting)[kept:]
    if ended:
        assert kept == 0
    elif done.after == walk.state:
        assert done.terminated == ()
    elif has_formula_option(done.acting):
        assert [position(o, done.after.stack) for o in options(done.acting)[:kept]] == list(range(kept))
        assert all(position(o, done.after.stack) is None for o in options(done.terminated) if o.is_call)


def check_achievement(walk: Walk, done: Step, observed: Label, event: bool) -> None:
    """An option is achieved if its edge was taken, calls to the leaf being edges too, and its machine then moved on."""
    back = list(returned(walk.tree, walk.state, observed)) if event else []
    for depth, running in enumerate(done.acting):
        was_achieved = achieved(walk.tree, running, walk.state, done.after, observed, event)
        assert was_achieved == any(is_call_of(running.option, call) for call in back)
        if depth < len(walk.state.stack):
            assert was_achieved == (len(done.after.stack) <= depth)
    for e in done.experiences:
        in_place = (done.after.machine, done.after.state) == (e.machine, e.next_state)
        on_the_stack = any((c.caller, c.source) == (e.machine, e.next_state) for c in done.after.stack)
        assert in_place or (e.is_accepting and not on_the_stack)
        assert e.next_context == (e.context if e.state == e.next_state else TRUE)


def check_stack(done: Step, now: int, ended: bool) -> None:
    """What goes on is either as it was, or one option for each call; each has run since it began."""
    assert all(running.start == now + 1 - running.steps for running in done.stack)
    if ended:
        assert done.stack == ()
    elif has_formula_option(done.stack):
        assert done.stack == tuple(replace(running, steps=running.steps + 1) for running in done.acting)
    else:
        places = [position(o, done.after.stack) for o in options(done.stack)]
        assert places == list(range(len(done.after.stack)))
