"""The compiled agent does, step by step, what the plain reference does."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from agents import reference
from agents.compiled_agent import AGENT, OPTION_ROOM, ROOM, SETTINGS, Decoder, begun, moved, observed, one_of
from agents.runnable import runnable_hierarchies, seen_labels
from agents.walks import ENVIRONMENTS, STEPS, Moment, Walks, moments
from rewardmachines.agents.hierarchical_dqn.agent import AgentState
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.options.option_set import OptionSet, slots_for
from rewardmachines.agents.options.tables import tabulate
from rewardmachines.agents.protocol import Step
from rewardmachines.core.formula import Label
from rewardmachines.core.hierarchy import Hierarchy, hierarchy
from rewardmachines.core.machine import machine
from rewardmachines.lowered import initial_state as lowered_initial_state
from rewardmachines.lowered import lower
from strategies import ALL_LABELS, PROPOSITIONS, hierarchies, labels


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
            row = one_of(rows, number * SETTINGS.calls.replay_size + position)
            assert int(row.machine) == number
            found.append(decoder.experience(row))
    return found


def test_a_guided_environment_leaves_nothing_to_chance_and_teaches_its_machines_nothing() -> None:
    """Two ways out of u0, one into rejection, which the untrained network may well like better."""
    tree = hierarchy(machine("m", [("u0", "uA", "a"), ("u0", "uR", "b & !a")]), propositions=PROPOSITIONS)
    lowered = lower(tree, propositions=PROPOSITIONS, capacity=ROOM)
    option_set = OptionSet(tree, ALL_LABELS)
    task = OptionTask(jnp.int32(0), lowered.tables, tabulate(option_set, slots_for(option_set), lowered, OPTION_ROOM))
    agent = AGENT.create(task, jnp.int32(0), np.random.default_rng(0))
    now = jnp.zeros(16, jnp.int32)
    states = jax.vmap(partial(lowered_initial_state, task.tables))(jnp.full(16, lowered.root, jnp.int32))
    stacks = begun(task, states, now, jax.random.key(2))
    guided = jnp.arange(16) < 8
    act = jax.jit(partial(AGENT.act, explores=True))
    actions, after, plans = act(
        task, agent, stacks, states, now[:, None].astype(jnp.float32), now, key=jax.random.key(0), guided=guided
    )
    names = [Decoder(tree, lowered, option_set).stack(plans, i)[0].option.formula for i in range(16)]
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
    learned, _ = observed(task, after, plans, step, jax.random.key(1))
    achieved = sum(str(name) == "a" for name in names[8:])
    assert int(learned.call_replay.written.sum()) == achieved
    assert int(learned.calls.ended.sum()) == 8
    assert int(learned.replay.written.sum()) == 16
    for start, owed in ((achieved, 8), (achieved + 1, 0)):  # a machine that is not ready yet is owed nothing
        careful = replace(AGENT, config=replace(SETTINGS, calls=replace(SETTINGS.calls, replay_start=start)))
        counted, _ = jax.jit(careful.observe)(task, after, plans, step, jax.random.key(1))
        assert float(counted.calls.owed.sum()) == owed * SETTINGS.calls.updates
