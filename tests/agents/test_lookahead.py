"""Options that look ahead reach their formulas where the task can go on, not where that is nearest."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rewardmachines as rm
from agents.one_way import LABELS, PIT, TASK, make
from rewardmachines.agents.config import AgentConfig, EpsilonSchedule, Layout
from rewardmachines.agents.crm.config import CrmConfig
from rewardmachines.agents.hierarchical_dqn import formula_q
from rewardmachines.agents.hierarchical_dqn.task import OptionTask
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.options import stack as options
from rewardmachines.agents.options.option_set import (
    AheadSlots,
    Following,
    OptionSet,
    ahead_slots_for,
    power_set,
    tree_for,
)
from rewardmachines.agents.options.stack import ChoicePoint, empty_stack
from rewardmachines.agents.registry import HRL
from rewardmachines.agents.setup import OptionPlan, build_task, prepare
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.lhrm.config import LhrmConfig
from rewardmachines.rollout.algorithm import UNLIMITED
from rewardmachines.rollout.gym_settings import GYMNASIUM
from rollout.rooms import gym_training

TINY = replace(
    GYMNASIUM,
    network=NetworkConfig(Body.MLP, hidden=(32,)),
    learning_rate=3e-3,
    replay_size=8_000,
    replay_start=200,
    target=50,
    exploration=replace(GYMNASIUM.exploration, steps=1_500),
    evaluate_every=10**6,
    calls=replace(
        GYMNASIUM.calls,
        network=NetworkConfig(Body.MLP, hidden=(16,)),
        learning_rate=3e-3,
        replay_start=32,
        updates=1.0,
        exploration=replace(GYMNASIUM.calls.exploration, steps=50),
    ),
)


CRM = CrmConfig(
    network=TINY.network,
    learning_rate=TINY.learning_rate,
    updates=4,
    replay_size=TINY.replay_size,
    replay_start=TINY.replay_start,
    target=TINY.target,
    evaluate_every=TINY.evaluate_every,
    exploration=EpsilonSchedule(steps=8_000),  # one Q-function learns the whole task, so it explores for longer
)
NESTED = rm.compile_task("tour ; home", tasks={"tour": "hut ; buoy"})
PLACES = ("hut", "buoy", "home")


def greedy_return(config: AgentConfig) -> float:
    run = gym_training(make, TASK, config, labels=LABELS)
    while run.counters.steps < 10_000:
        run.advance()
    evaluated = run.driver.evaluate(run.tables, run.state.agent, np.ones(1, bool), 0)
    assert evaluated is not None
    return float(evaluated[0].mean())


def test_greedy_options_fall_into_the_pit() -> None:
    assert greedy_return(TINY) == 0


@pytest.mark.parametrize("layout", list(Layout))
def test_options_that_look_ahead_take_the_key_from_which_the_door_can_be_reached(layout: Layout) -> None:
    assert greedy_return(replace(TINY, lookahead=1.0, layout=layout)) == 1


def test_crm_does_so_too() -> None:
    assert greedy_return(CRM) == 1


def places_of(hierarchy: rm.Hierarchy) -> set[tuple[str, Following | None]]:
    option_set = OptionSet(hierarchy, power_set(PLACES))
    return {(str(formula), place) for formula, place in ahead_slots_for(option_set, tree_for(option_set)).numbers}


def test_a_q_function_belongs_to_a_formula_and_to_where_the_task_goes_on() -> None:
    machine, tour = NESTED[NESTED.root], NESTED["tour"]
    (called,), (first,) = machine.outgoing(machine.initial), tour.outgoing(tour.initial)
    assert places_of(NESTED) == {
        ("hut", Following("tour", first.target)),
        ("buoy", Following(machine.name, called.target)),  # the tour is over then, and its caller goes on
        ("buoy", None),  # if the tour is all there is to do
        ("home", None),
    }


def test_an_option_acts_by_where_the_task_goes_on_after_its_callers() -> None:
    plan = prepare(NESTED, HRL, PLACES, looks_ahead=True)
    assert isinstance(plan, OptionPlan)
    assert isinstance(plan.slots, AheadSlots)
    task = build_task(plan, None)
    assert isinstance(task, OptionTask)
    numbers = {name: number for number, name in enumerate(plan.lowered.machines)}
    root, tour = NESTED[NESTED.root], NESTED["tour"]
    second = tour.outgoing(tour.initial)[0].target
    stack = empty_stack(3, jnp.int32(0))
    yes = jnp.bool_(True)
    output = {name: list(plan.option_set.outputs[name]) for name in (root.name, "tour")}
    call = next(n for n, (callee, _) in enumerate(output[root.name]) if callee == "tour")
    buoy = next(n for n, (_, disjunct) in enumerate(output["tour"]) if str(disjunct) == "buoy")
    for name, state, chosen in ((root.name, root.initial, call), ("tour", second, buoy)):
        at = ChoicePoint(jnp.int32(numbers[name]), jnp.int32(NESTED[name].states.index(state)), jnp.int32(0), yes)
        stack = options.push(stack, at, jnp.int32(chosen), jnp.int32(0), yes)
    slot = int(options.slot(task.tables, task.options, stack))
    (after,) = [place for (formula, place), n in plan.slots.numbers.items() if n == slot and str(formula) == "buoy"]
    assert after == Following(root.name, root.outgoing(root.initial)[0].target)


def test_what_follows_is_worth_what_the_machine_expects_and_its_share_is_a_setting() -> None:
    run = gym_training(make, TASK, replace(TINY, lookahead=1.0), labels=LABELS)
    task, state = run.tables.task, run.state.agent
    assert isinstance(task, OptionTask)
    seen = jnp.eye(9)
    slots = jnp.arange(2)
    best = formula_q.values(Layout.SHARED, 2, state.formulas.online, seen).max(axis=-1)
    expected = formula_q.Ahead(best, state.calls.online)
    whole = formula_q.worth(1.0, task.options, expected, seen, slots)
    half = formula_q.worth(0.5, task.options, expected, seen, slots)
    assert task.options.ahead is not None
    ends = np.asarray(task.options.ahead.is_end)
    assert sorted(ends.tolist()) == [False, True]
    assert np.all(whole[int(np.argmax(ends))] == 1)
    (key,) = np.flatnonzero(~ends)
    (door,) = np.flatnonzero(ends)
    assert np.allclose(whole[key], np.clip(best[door], 0, 1))
    assert len(set(np.asarray(whole[key]).tolist())) > 1
    assert np.allclose(half[key], 0.5 + 0.5 * whole[key])
    paid = formula_q.worth(1.0, task.options, expected._replace(formulas=best - 3), seen, slots, is_bounded=False)
    assert np.allclose(paid[key], best[door] - 3)  # where the environment pays, too, values have no bounds


@pytest.mark.parametrize("lookahead", [0.0, 1.0])
def test_machines_learn_from_options_that_failed_only_if_options_look_ahead(lookahead: float) -> None:
    run = gym_training(make, TASK, replace(TINY, lookahead=lookahead), labels=LABELS)
    run.state, _ = run.driver.chunk(run.tables, run.state, learns=False, most=UNLIMITED)
    state = run.state.agent
    written = int(state.call_replay.written[0])
    rows = jax.tree.map(lambda x: np.asarray(x)[:written], state.call_replay.rows)
    failed = (rows.next_state == rows.state) & ~rows.is_accepted
    assert bool(failed.any()) == bool(lookahead)
    if lookahead:
        assert not rows.is_terminal[failed].any()  # they ran out of steps, and were not at an end
        assert PIT in rows.end[failed]


def test_while_machines_are_learned_nobody_looks_ahead() -> None:
    with pytest.raises(RewardMachineError, match="hierarchy that is given"):
        LhrmConfig(agent=replace(TINY, lookahead=1.0))
    with pytest.raises(RewardMachineError, match="between 0 and 1"):
        replace(TINY, lookahead=1.5)
