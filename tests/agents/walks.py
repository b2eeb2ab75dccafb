"""The compiled agent and the plain reference side by side, step by step, through the same labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from agents import reference
from agents.compiled_agent import (
    AGENT,
    OPTION_ROOM,
    ROOM,
    Decoder,
    begun,
    cleared,
    filled,
    initial_states,
    moved,
    observed,
    one_of,
    picked,
)
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.option_set import OptionSet, slots_for
from rewardmachines.agents.options.tables import tabulate
from rewardmachines.agents.protocol import Step
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.traversal import Call, HierarchyState, initial_state
from rewardmachines.core.traversal import step as plain_step
from rewardmachines.lowered import lift, lower
from strategies import ALL_LABELS, PROPOSITIONS, labels


def chosen_by(stack: reference.OptionStack, before: reference.OptionStack) -> Any:
    """Chooses as the compiled agent did, which must be among the candidates; stops only where there are none."""
    rest = iter(stack[len(before) :])

    def choose(machine: str, state: str, context: Conjunction, candidates: list[Any]) -> int | None:
        following = next(rest, None)
        if following is None:
            assert candidates == []
            return None
        option = following.option
        assert (option.machine, option.state, option.context) == (machine, state, context)
        return candidates.index((option.callee, option.formula))

    return choose


def disjuncts_of(stack: reference.OptionStack) -> Any:
    """The disjunct that the compiled agent drew for a call in hindsight."""

    def choose(call: Call, disjuncts: list[Conjunction]) -> int:
        (drawn,) = [
            r.option.formula for r in stack if (r.option.machine, r.option.callee) == (call.caller, call.callee)
        ]
        return disjuncts.index(drawn)

    return choose


@dataclass(frozen=True)
class Moment:
    """What happens to one environment in a step, and after it."""

    label: Label
    steers: int
    """Unless it is 0, another label is seen if it makes the hierarchy move: the so-manieth that does."""
    is_event: bool
    is_over: bool
    """The episode ends with this step, and another begins."""
    first: Label
    """The label that it begins with, which may start calls."""
    is_cleared: bool
    """Nobody knows any longer which options were running; the hierarchy is where it was."""


rarely = st.sampled_from([False, False, False, True])
mostly = st.sampled_from([True, True, True, False])
moments = st.builds(Moment, labels, st.integers(0, 6), mostly, rarely, labels, rarely)
ENVIRONMENTS, STEPS = 4, 6


class Walks:
    """The compiled agent and the reference side by side, from the same beginnings, through the same labels."""

    def __init__(self, tree: Hierarchy, seen: frozenset[Label], seed: int) -> None:
        self.tree, self.seed = tree, seed
        self.known = tuple(sorted(seen, key=sorted))
        self.lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
        self.option_set = OptionSet(tree, self.known)
        table = tabulate(self.option_set, slots_for(self.option_set), self.lowered, OPTION_ROOM)
        self.task = OptionTask(jnp.int32(0), self.lowered.tables, table)
        self.decoder = Decoder(tree, self.lowered, self.option_set)
        self.agent = AGENT.create(self.task, jnp.int32(0), np.random.default_rng(seed))
        self.told: list[reference.Experience] = []
        self.kinds: set[str] = set()
        """What was met on the way, for statistics."""
        self.states: Any = None
        self.stacks: Any = None
        self.plain_states: list[HierarchyState] = [initial_state(tree)] * ENVIRONMENTS
        self.plain_stacks: list[reference.OptionStack] = [()] * ENVIRONMENTS

    def bits(self, some: Sequence[Label]) -> Any:
        return jnp.asarray(self.lowered.bits.encode_all(some))

    def begin(self, first: Sequence[Label], which: Any, now: Any) -> None:
        """Episodes whose first labels are fed, where the mask says so."""
        roots = np.full(ENVIRONMENTS, self.lowered.root, np.int32)
        fresh = moved(self.task, initial_states(self.task, roots), self.bits(first))[1]
        stacks = begun(self.task, fresh, now, jax.random.key(self.seed))
        everybody = bool(np.all(which))
        self.states = fresh if everybody else picked(which, fresh, self.states)
        self.stacks = stacks if everybody else picked(which, stacks, self.stacks)
        for i in map(int, np.flatnonzero(which)):
            drawn = disjuncts_of(self.decoder.stack(self.stacks, i))
            state, stack = reference.begin(self.tree, first[i], drawn, int(now[i]))
            self.plain_states[i], self.plain_stacks[i] = state, stack
            assert self.decoder.stack(self.stacks, i) == stack

    def _steered(self, i: int, moment: Moment) -> Moment:
        """Labels that are drawn blindly seldom lead anywhere."""
        here = self.plain_states[i]
        moving = [label for label in ALL_LABELS if plain_step(self.tree, here, label) != here]
        if not moment.steers or not moving:
            return moment
        return replace(moment, label=moving[moment.steers % len(moving)], is_event=True)

    def step(self, t: int, row: Sequence[Moment]) -> None:
        row = [self._steered(i, moment) for i, moment in enumerate(row)]
        now = jnp.arange(ENVIRONMENTS, dtype=jnp.int32) + 10 * t
        fill_key, observe_key = jax.random.split(jax.random.key(self.seed + t))
        acting = filled(self.task, self.agent, self.stacks, self.states, now, fill_key)
        events = np.array([moment.is_event for moment in row])
        over = np.array([moment.is_over for moment in row])
        bits = self.bits([moment.label for moment in row])
        called, after = (
            picked(events, part, self.states) for part in moved(self.task, self.states, bits)
        )  # fmt: skip
        nobody, everybody = jnp.zeros(ENVIRONMENTS, bool), jnp.ones(ENVIRONMENTS, bool)
        step = Step(
            before=now,
            action=jnp.zeros(ENVIRONMENTS, jnp.int32),
            after=now + 1,
            label=bits,
            is_event=jnp.asarray(events),
            from_state=self.states,
            called=called,
            to_state=after,
            is_over=jnp.asarray(over),
            is_dead_end=nobody,
            is_valid=everybody,
        )
        self.agent, self.stacks = observed(self.task, self.agent, acting, step, observe_key)
        self.states = after
        for i, moment in enumerate(row):
            self._compare(i, moment, acting, 10 * t + i)
        self._interrupt(row, over, now)

    def _compare(self, i: int, moment: Moment, acting: Any, now: int) -> None:
        compiled, following = self.decoder.stack(acting, i), self.decoder.stack(self.stacks, i)
        expected = reference.agent_step(
            self.tree, self.known, self.plain_states[i], self.plain_stacks[i], moment.label,
            choose=chosen_by(compiled, self.plain_stacks[i]), choose_disjunct=disjuncts_of(following), now=now,
            event=moment.is_event, ended=moment.is_over,
        )  # fmt: skip
        assert expected.acting == compiled
        assert expected.stack == following
        assert lift(self.lowered, self.tree, one_of(self.states, i)) == expected.after
        self.told += expected.experiences
        without = int(one_of(acting, i).first)
        self.kinds.add(f"calls without options: {without}, running: {len(compiled)}, aligned: {len(following)}")
        self.plain_states[i], self.plain_stacks[i] = expected.after, expected.stack

    def _interrupt(self, row: Sequence[Moment], over: Any, now: Any) -> None:
        """Episodes begin anew, options are forgotten."""
        self.begin([moment.first for moment in row], over, now + 1)
        forgotten = np.array([moment.is_cleared for moment in row])
        self.stacks = cleared(self.stacks, self.states, forgotten)
        self.plain_stacks = [() if gone else s for gone, s in zip(forgotten, self.plain_stacks, strict=True)]
