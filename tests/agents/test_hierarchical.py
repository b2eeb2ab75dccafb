"""The compiled agent does, step by step, what the plain reference does."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agents import reference
from agents.test_reference import runnable_hierarchies, seen_labels
from rewardmachines.agents.config import Config, Layout
from rewardmachines.agents.hierarchical import AgentState, HierarchicalAgent
from rewardmachines.agents.interface import Step, Task
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.option_tables import Menu, OptionCapacity, slots_for, tabulate
from rewardmachines.core.formula import Conjunction, Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.core.traversal import Call, initial_state
from rewardmachines.lowered import Capacity, LoweredHierarchy, lift, lower, moves
from rewardmachines.lowered import initial_state as lowered_initial_state
from strategies import ALL_LABELS, PROPOSITIONS, hierarchies, labels

ROOM = Capacity(machines=4, states=8, chains=64, depth=3, edges=8, disjuncts=16)
OPTION_ROOM = OptionCapacity(outputs=32, contexts=32, formulas=32, slots=32)
DEPTH = ROOM.depth + 1
TINY = NetworkConfig(Body.FLAT, hidden=(4,))
SETTINGS = Config(
    environments=2, layout=Layout.SEPARATE, network=TINY, call_network=TINY, batch=4, replay_size=64, replay_start=1,
    call_replay_size=64, call_annealing=10**9, annealing_steps=10**9,
)  # fmt: skip
AGENT = HierarchicalAgent(SETTINGS, (1,), 2, DEPTH, lambda _, memory: memory[None].astype(jnp.float32))


@jax.jit
def filled(task: Task, state: AgentState, stacks: Any, states: Any, now: Any, key: Any) -> Any:
    observations = now[:, None].astype(jnp.float32)
    return AGENT.fill(task, state.calls, stacks, states, observations, now, True, key)


@jax.jit
def observed(task: Task, state: AgentState, stacks: Any, step: Step, key: Any) -> Any:
    return AGENT.observe(task, state, stacks, step, key)


@jax.jit
def moved(task: Task, states: Any, label: Any) -> Any:
    return jax.vmap(partial(moves, task.tables))(states, label)


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
            for d in range(int(part.size))
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


@settings(deadline=None, max_examples=100)
@given(
    tree=runnable_hierarchies() | hierarchies(),
    seen=seen_labels,
    words=st.tuples(*[st.lists(st.tuples(labels, st.booleans()), min_size=6, max_size=6)] * 2),
    seed=st.integers(0, 2**16),
)
def test_the_compiled_agent_does_what_the_reference_does(
    tree: Hierarchy, seen: frozenset[Label], words: tuple[list[tuple[Label, bool]], ...], seed: int
) -> None:
    """Hierarchy states, option stacks, their beginnings and lengths, and what is stored for machines and formulas."""
    known = tuple(sorted(seen, key=sorted))
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    menu = Menu(tree, known)
    task = Task(jnp.int32(0), lowered.tables, tabulate(menu, slots_for(menu), lowered, OPTION_ROOM))
    decoder = Decoder(tree, lowered, menu)
    agent = AGENT.create(task, jnp.int32(0), np.random.default_rng(seed))
    now = jnp.zeros(2, jnp.int32)
    stacks = AGENT.empty_plans(now)
    states = jax.vmap(partial(lowered_initial_state, task.tables))(jnp.full(2, lowered.root, jnp.int32))
    plain_states = [initial_state(tree)] * 2
    plain_stacks: list[reference.OptionStack] = [(), ()]
    told: list[reference.Experience] = []
    for t in range(6):
        now = jnp.arange(2, dtype=jnp.int32) + 10 * t
        keys = jax.random.split(jax.random.key(seed + t), 2)
        acting = filled(task, agent, stacks, states, now, keys[0])
        events = np.array([words[i][t][1] for i in range(2)])
        bits = jnp.asarray(lowered.bits.encode_all([words[i][t][0] for i in range(2)]))
        called, after = moved(task, states, bits)
        called, after = (picked(events, part, states) for part in (called, after))
        over = jnp.zeros(2, bool).at[1].set(t == 3)
        step = Step(
            now, jnp.zeros(2, jnp.int32), now + 1, bits, jnp.asarray(events), states, called, after, over,
            jnp.zeros(2, bool), jnp.ones(2, bool),
        )  # fmt: skip
        agent, following = observed(task, agent, acting, step, keys[1])
        for i in range(2):
            compiled = decoder.stack(acting, i)
            label, is_event = words[i][t]
            expected = reference.agent_step(
                tree, known, plain_states[i], plain_stacks[i], label,
                choose=chosen_by(compiled, plain_stacks[i]), choose_disjunct=disjuncts_of(decoder.stack(following, i)),
                now=10 * t + i, event=is_event, ended=bool(over[i]),
            )  # fmt: skip
            assert expected.acting == compiled
            assert expected.stack == decoder.stack(following, i)
            assert lift(lowered, tree, one_of(after, i)) == expected.after
            told += expected.experiences
            event(f"options running: {len(compiled)}, aligned: {len(expected.stack)}, over: {len(expected.terminated)}")
            plain_states[i], plain_stacks[i] = expected.after, expected.stack
        fresh = jax.vmap(partial(lowered_initial_state, task.tables))(jnp.full(2, lowered.root, jnp.int32))
        states, stacks = picked(over, fresh, after), following
        plain_states = [initial_state(tree) if over[i] else plain_states[i] for i in range(2)]
    assert Counter(_stored(decoder, agent)) == Counter(told)
    assert int(agent.replay.written[0]) == 12
    assert np.asarray(agent.replay.rows.before)[:12].tolist() == [10 * t + i for t in range(6) for i in range(2)]


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
    task = Task(jnp.int32(0), lowered.tables, tabulate(menu, slots_for(menu), lowered, OPTION_ROOM))
    agent = AGENT.create(task, jnp.int32(0), np.random.default_rng(0))
    now = jnp.zeros(16, jnp.int32)
    stacks = AGENT.empty_plans(now)
    states = jax.vmap(partial(lowered_initial_state, task.tables))(jnp.full(16, lowered.root, jnp.int32))
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
    step = Step(now, actions, now, label, yes, states, called, moved_on, yes, no, yes, guided)
    learned, _ = AGENT.observe(task, after, plans, step, jax.random.key(1))
    achieved = sum(str(name) == "a" for name in names[8:])
    assert int(learned.call_replay.written.sum()) == achieved
    assert int(learned.calls.ended.sum()) == 8
    assert int(learned.replay.written.sum()) == 16
