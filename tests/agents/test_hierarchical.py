"""The compiled agent does, step by step, what the plain reference does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agents import reference
from agents.runnable import runnable_hierarchies, seen_labels
from rewardmachines.agents.config import Layout
from rewardmachines.agents.hierarchical_dqn import selection
from rewardmachines.agents.hierarchical_dqn.agent import AgentState, HierarchicalAgent
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.menu import Menu
from rewardmachines.agents.options.tables import OptionCapacity, slots_for, tabulate
from rewardmachines.agents.protocol import Step
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Call, HierarchyState, initial_state
from rewardmachines.core.traversal import step as plain_step
from rewardmachines.lowered import Capacity, LoweredHierarchy, lift, lower, moves
from rewardmachines.lowered import initial_state as lowered_initial_state
from strategies import ALL_LABELS, PROPOSITIONS, hierarchies, labels

ROOM = Capacity(machines=4, states=8, chains=64, depth=3, edges=8, disjuncts=16)
OPTION_ROOM = OptionCapacity(outputs=32, contexts=32, formulas=32, slots=32)
DEPTH = ROOM.depth + 1
TINY = NetworkConfig(Body.FLAT, hidden=(4,))
SETTINGS = HierarchicalDqnConfig(
    environments=4, layout=Layout.SEPARATE, network=TINY, call_network=TINY, batch=4, replay_size=64, replay_start=1,
    call_replay_size=64, call_annealing=10**9, annealing_steps=10**9,
)  # fmt: skip
AGENT = HierarchicalAgent(SETTINGS, (1,), 2, DEPTH, lambda _, memory: memory[None].astype(jnp.float32))


@jax.jit
def filled(task: OptionTask, state: AgentState, stacks: Any, states: Any, now: Any, key: Any) -> Any:
    observations = now[:, None].astype(jnp.float32)
    return selection.fill(SETTINGS, task, state.calls, stacks, states, observations, now, True, key)


@jax.jit
def observed(task: OptionTask, state: AgentState, stacks: Any, step: Step, key: Any) -> Any:
    return AGENT.observe(task, state, stacks, step, key)


@jax.jit
def begun(task: OptionTask, states: Any, now: Any, key: Any) -> Any:
    return AGENT.begin_plans(task, states, now, key)


@jax.jit
def moved(task: OptionTask, states: Any, label: Any) -> Any:
    return jax.vmap(partial(moves, task.tables))(states, label)


@jax.jit
def initial_states(task: OptionTask, roots: Any) -> Any:
    return jax.vmap(partial(lowered_initial_state, task.tables))(roots)


@jax.jit
def picked(mask: Any, one: Any, other: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(mask.reshape(-1, *[1] * (a.ndim - 1)), a, b), one, other)


def one_of(batch: Any, i: int) -> Any:
    return jax.tree.map(lambda x: np.asarray(x)[i], batch)


class Decoder:
    """Numbers back into names."""

    def __init__(self, tree: Hierarchy, lowered: LoweredHierarchy, menu: Menu) -> None:
        self.tree, self.lowered, self.menu = tree, lowered, menu

    def option(self, machine: int, state: int, context: int, output: int) -> reference.Option:
        name = self.lowered.machines[machine]
        callee, disjunct = self.menu.outputs[name][output]
        return reference.Option(callee, disjunct, name, self.tree[name].states[state], self.menu.contexts[context])

    def stack(self, stacks: Any, i: int) -> reference.OptionStack:
        part = one_of(stacks, i)
        return tuple(
            reference.Running(
                self.option(int(part.machine[d]), int(part.state[d]), int(part.context[d]), int(part.output[d])),
                int(part.start[d]),
                int(part.steps[d]),
            )
            for d in range(int(part.first), int(part.size))
        )

    def experience(self, row: Any) -> reference.Experience:
        option = self.option(int(row.machine), int(row.state), int(row.context), int(row.output))
        return reference.Experience(
            option.machine, option.state, option.context, (option.callee, option.formula), int(row.start),
            int(row.steps), self.tree[option.machine].states[int(row.next_state)],
            self.menu.contexts[int(row.next_context)], bool(row.is_accepted), bool(row.is_terminal),
        )  # fmt: skip


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


def cleared(stacks: Any, states: Any, which: Any) -> Any:
    """As after an exploratory guide: whatever the hierarchies have called, nobody has chosen it."""
    return jax.vmap(options.cleared)(stacks, states.depth, jnp.asarray(which))


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
        self.menu = Menu(tree, self.known)
        table = tabulate(self.menu, slots_for(self.menu), self.lowered, OPTION_ROOM)
        self.task = OptionTask(jnp.int32(0), self.lowered.tables, table)
        self.decoder = Decoder(tree, self.lowered, self.menu)
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


@settings(deadline=None, max_examples=100)
@given(
    tree=runnable_hierarchies(deep=True) | runnable_hierarchies() | hierarchies(),
    seen=st.just(frozenset(ALL_LABELS)) | seen_labels,
    first=st.lists(labels, min_size=ENVIRONMENTS, max_size=ENVIRONMENTS),
    rows=st.lists(
        st.lists(moments, min_size=ENVIRONMENTS, max_size=ENVIRONMENTS), min_size=STEPS, max_size=STEPS
    ),
    seed=st.integers(0, 2**16),
)  # fmt: skip
def test_the_compiled_agent_does_what_the_reference_does(
    tree: Hierarchy, seen: frozenset[Label], first: list[Label], rows: list[list[Moment]], seed: int
) -> None:
    """Hierarchy states, option stacks, their beginnings and lengths, and what is stored for machines and formulas.

    From arbitrary depths: first labels start calls, and stacks are forgotten in the middle of calls.
    """
    walks = Walks(tree, seen, seed)
    walks.begin(first, np.ones(ENVIRONMENTS, bool), jnp.arange(ENVIRONMENTS, dtype=jnp.int32))
    for t, row in enumerate(rows):
        walks.step(t, row)
    for kind in sorted(walks.kinds):
        event(kind)
    assert Counter(_stored(walks.decoder, walks.agent)) == Counter(walks.told)
    count = ENVIRONMENTS * STEPS
    assert int(walks.agent.replay.written[0]) == count
    begun_at = [10 * t + i for t in range(STEPS) for i in range(ENVIRONMENTS)]
    assert np.asarray(walks.agent.replay.rows.before)[:count].tolist() == begun_at


def test_options_are_chosen_again_when_calls_that_nobody_chose_have_returned() -> None:
    """Forgotten in the middle of a call, the stack begins above it; when it returns, it begins at the bottom again."""
    tree = hierarchy(
        machine("top", [("u0", "u1", "true", "low"), ("u1", "uA", "true", "low")]),
        machine("low", [("u0", "u1", "a"), ("u1", "uA", "b")]),
        propositions=PROPOSITIONS,
    )
    a, b = frozenset("a"), frozenset("b")
    walks = Walks(tree, frozenset(ALL_LABELS), 0)
    walks.begin([frozenset()] * ENVIRONMENTS, np.ones(ENVIRONMENTS, bool), jnp.zeros(ENVIRONMENTS, jnp.int32))
    for t, (label, is_cleared) in enumerate([(a, True), (b, False), (a, False), (b, False)]):
        walks.step(t, [Moment(label, 0, True, False, frozenset(), is_cleared)] * ENVIRONMENTS)
    told = [(experience.machine, experience.state) for experience in walks.told]
    assert told.count(("top", "u0")) == 0
    assert told.count(("top", "u1")) == ENVIRONMENTS
    assert told.count(("low", "u1")) == 2 * ENVIRONMENTS
    assert Counter(_stored(walks.decoder, walks.agent)) == Counter(walks.told)


def _stored(decoder: Decoder, agent: AgentState) -> list[reference.Experience]:
    """Everything in the rings of the machines."""
    rows = jax.tree.map(np.asarray, agent.call_replay.rows)
    found = []
    for number, written in enumerate(np.asarray(agent.call_replay.written)):
        for position in range(int(written)):
            row = one_of(rows, number * SETTINGS.call_replay_size + position)
            assert int(row.machine) == number
            found.append(decoder.experience(row))
    return found


def test_a_guided_environment_leaves_nothing_to_chance_and_teaches_its_machines_nothing() -> None:
    """Two ways out of u0, one into rejection, which the untrained network may well like better."""
    tree = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "uR", "b & !a")]), propositions=PROPOSITIONS)
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    menu = Menu(tree, ALL_LABELS)
    task = OptionTask(jnp.int32(0), lowered.tables, tabulate(menu, slots_for(menu), lowered, OPTION_ROOM))
    agent = AGENT.create(task, jnp.int32(0), np.random.default_rng(0))
    now = jnp.zeros(16, jnp.int32)
    states = jax.vmap(partial(lowered_initial_state, task.tables))(jnp.full(16, lowered.root, jnp.int32))
    stacks = begun(task, states, now, jax.random.key(2))
    guided = jnp.arange(16) < 8
    actions, after, plans = AGENT.act(
        task, agent, stacks, states, now[:, None].astype(jnp.float32), now, True, jax.random.key(0), guided
    )
    names = [Decoder(tree, lowered, menu).stack(plans, i)[0].option.formula for i in range(16)]
    assert {str(name) for name in names[:8]} == {"a"}
    assert {str(name) for name in names[8:]} == {"a", "b & !a"}
    assert len(set(np.asarray(actions)[:8].tolist())) == 1
    assert len(set(np.asarray(actions)[8:].tolist())) == 2
    assert int(after.formulas.steps.sum()) == 8
    label = jnp.broadcast_to(jnp.asarray(lowered.bits.encode({"a"})), (16, 1))
    called, moved_on = moved(task, states, label)
    yes, no = jnp.ones(16, bool), jnp.zeros(16, bool)
    step = Step(
        before=now,
        action=actions,
        after=now,
        label=label,
        is_event=yes,
        from_state=states,
        called=called,
        to_state=moved_on,
        is_over=yes,
        is_dead_end=no,
        is_valid=yes,
        is_guided=guided,
    )
    learned, _ = AGENT.observe(task, after, plans, step, jax.random.key(1))
    achieved = sum(str(name) == "a" for name in names[8:])
    assert int(learned.call_replay.written.sum()) == achieved
    assert int(learned.calls.ended.sum()) == 8
    assert int(learned.replay.written.sum()) == 16
