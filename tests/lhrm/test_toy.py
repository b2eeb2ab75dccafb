"""Everything together on a toy domain: exact machines, policies that solve their tasks, and what can go wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents.two_rooms import TwoRooms
from lhrm.toy import LABELS, SMALL, TOY, TREES, quickly
from rewardmachines.agents.options.stack import is_formula
from rewardmachines.agents.protocol import Losses
from rewardmachines.core import traversal
from rewardmachines.core.equivalence import difference
from rewardmachines.learning import Learner, LearningTask, Result, Solvers, TimedOut
from rewardmachines.lhrm import tables as lhrm_tables
from rewardmachines.lhrm.algorithm import ChunkFindings, Lhrm
from rewardmachines.lhrm.config import Callables, Exploration, LhrmConfig
from rewardmachines.lhrm.tables import interaction_of
from rewardmachines.lowered import initial_state
from rewardmachines.lowered.traversal import ACCEPT, NEITHER
from rewardmachines.rollout.interaction import clear_options
from rewardmachines.rollout.jax_driver import JaxDriver, JaxSuite
from rewardmachines.rollout.rows import MachineUpdate, Row, Trigger
from rewardmachines.rollout.tables import GOAL, NOTHING, Counts, Episodes, Percept, Search
from rewardmachines.runs.stopping import is_learned
from rewardmachines.traces import Outcome, Trace

ENOUGH = 0.95


def run_until(run: Lhrm, stop: Callable[[Lhrm], bool], most: int = 400) -> list[Row]:
    rows = []
    while not stop(run):
        rows.append(run.advance())
        assert run.counters.chunks < most, [run.curriculum.running, run.progress]
    return rows


def found(run: Lhrm, events: Sequence[MachineUpdate] = (), *, has_new_labels: bool = False) -> ChunkFindings:
    """What a chunk without waiting environments brought."""
    none, nothing = jnp.zeros(3, jnp.int32), jnp.float32(0)
    counts = Counts(none, none, jnp.int32(0), Losses(nothing, nothing), nothing)
    level, judged = run.curriculum.level, run.curriculum.is_active
    return ChunkFindings(counts, np.zeros(16, bool), tuple(events), judged, has_new_labels=has_new_labels, level=level)


def search(episodes: Episodes) -> Search:
    """What episodes have in addition while machines are learned."""
    assert episodes.search is not None
    return episodes.search


def waiting(episodes: Episodes, waits: Any) -> Episodes:
    """Episodes, of which some wait."""
    return episodes._replace(search=search(episodes)._replace(waiting=waits))


def exploration(run: Lhrm) -> Any:
    """What may be followed where no machine says what to do, as arrays."""
    assert run.tables.exploration is not None
    return run.tables.exploration


def toy_run(config: LhrmConfig = SMALL, tasks: tuple[str, ...] = ("fetch", "press", "all")) -> Lhrm:
    return Lhrm(JaxSuite(TOY, tasks, flat=config.callables is Callables.NONE), config, Solvers(cores=1))


def test_three_tasks_on_two_levels_are_learned_exactly_and_solved() -> None:
    run = toy_run()
    rows = run_until(run, lambda run: is_learned(run, ENOUGH))
    assert [spec.level for spec in run.suite.tasks] == [1, 1, 2]
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
    assert run.pool.learned["all"].callees & {"fetch", "press"}
    assert np.mean(run.recent, axis=(0, 2)).min() >= ENOUGH
    learned = [event.task for row in rows for event in row.learned]
    assert set(learned) == set(TREES)
    assert learned.index("all") > max(learned.index("fetch"), learned.index("press"))
    first = next(row for row in rows if ("all", Trigger.GOALS) in [(event.task, event.cause) for event in row.learned])
    assert run.first["all"] == first.episodes - run.activated[2]
    assert run.activated[2] > 0
    assert sum(sum(row.ended) for row in rows) == run.counters.episodes


def test_equal_seeds_give_equal_rows_and_others_do_not() -> None:
    one, two = toy_run(), toy_run()
    other = Lhrm(JaxSuite(TOY, ["fetch", "press", "all"]), SMALL, Solvers(cores=1), seed=1)
    rows, again, different = ([run.advance() for _ in range(12)] for run in (one, two, other))
    assert rows == again
    assert rows != different


def test_equal_suites_share_their_programs() -> None:
    """Although each has an environment of its own: runs of one config are compiled once."""
    suites = [JaxSuite(replace(TOY, environment=TwoRooms()), ["fetch"]) for _ in range(2)]
    one, other = (suite.driver(interaction_of(suite, SMALL, 2)) for suite in suites)
    assert one.rollout.environment is not other.rollout.environment
    assert one._programs is other._programs
    longer = JaxSuite(replace(TOY, max_steps=61), ["fetch"])
    assert longer.driver(interaction_of(longer, SMALL, 2))._programs is not one._programs


def test_with_primitive_actions_alone_no_option_is_followed() -> None:
    run = toy_run(quickly(explores_with=Exploration.ACTIONS))
    run_until(run, lambda run: run.curriculum.level == 2)
    run.advance()
    assert not np.asarray(exploration(run).is_available).any()
    assert not np.asarray(search(run.state.episodes).is_exploring).any()


def test_restricted_machines_call_what_the_true_ones_call_and_all_of_it_must_be_a_task() -> None:
    run = toy_run(quickly(callables=Callables.RESTRICTED))
    assert dict(run.suite.dependencies)["all"] == ("fetch", "press")
    with pytest.raises(Exception, match="'all' may call 'fetch', which is not among the tasks"):
        toy_run(quickly(callables=Callables.RESTRICTED), ("press", "all"))


def test_proposition_options_learn_to_reach_what_was_seen_before_there_is_any_machine() -> None:
    run = toy_run(quickly(explores_with=Exploration.PROPOSITIONS, goals=(10**6,)))
    for _ in range(12):
        run.advance()
    assert not run.pool.learned
    assert {str(formula) for formula in run.registry.slots} == {"k", "b", "g"}
    assert int(np.asarray(exploration(run).is_proposition).sum()) == 3
    assert np.asarray(search(run.state.episodes).is_proposition).any()
    formulas = run.state.agent.formulas
    learned = np.asarray(formulas.updates)[sorted(run.registry.slots.values())]
    assert (learned > 0).all()
    assert (np.asarray(formulas.steps)[sorted(run.registry.slots.values())] > 0).all()


def test_environments_that_wait_neither_explore_nor_learn() -> None:
    run = toy_run(quickly(explores_with=Exploration.PROPOSITIONS))
    run_until(run, lambda run: "fetch" in run.pool.learned)
    before = run.state
    waits = jnp.full(run.config.agent.environments, GOAL, jnp.int32)
    everybody = before._replace(episodes=waiting(before.episodes, waits))
    driver = run.driver
    assert isinstance(driver, JaxDriver)
    after, counts = jax.jit(driver.rollout.vector_step)(run.tables, driver.truth, everybody, True)
    for one, other in (
        (before.agent.calls, after.agent.calls),
        (before.agent.formulas, after.agent.formulas),
        (before.agent.call_replay.written, after.agent.call_replay.written),
        (before.agent.replay.written, after.agent.replay.written),
        (search(before.episodes).trace, search(after.episodes).trace),
        (before.unlearned, after.unlearned),
    ):
        assert all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), one, other)))
    assert int(counts.episodes.sum()) == int(counts.steps) == 0


def test_steps_and_updates_are_those_of_environments_that_do_not_wait() -> None:
    """Of 16 environments 12 wait: a step of each of the others is a quarter of what an update asks for."""
    run = toy_run(quickly(explores_with=Exploration.PROPOSITIONS, goals=(10**6,)))
    while not run.learns:
        run.advance()
    before = jax.tree.map(jnp.copy, run.state)
    waits = jnp.where(jnp.arange(16) < 12, GOAL, 0).astype(jnp.int32)
    some = run.state._replace(episodes=waiting(run.state.episodes, waits), unlearned=jnp.int32(0))
    after, counts = run.driver.chunk(run.tables, some, learns=True, most=10**6)
    stored = int(after.agent.replay.written[0] - before.agent.replay.written[0])
    assert int(counts.steps) == stored
    assert stored < 4 * 50 + 1
    updates = int(after.agent.formulas.rounds - before.agent.formulas.rounds)
    assert updates == stored // 16
    assert int(after.unlearned) == stored % 16


def test_every_counted_step_is_in_the_memory() -> None:
    """With goal traces that wait to be taken, up to the end of their chunk."""
    run = toy_run()
    while "fetch" not in run.pool.learned:
        assert run.learns == (run.counters.steps >= SMALL.agent.replay_start and bool(run.registry.slots))
        run.advance()
        assert run.counters.steps == int(run.state.agent.replay.written[0])
    assert run.counters.steps < run.counters.chunks * 50 * 16


def test_a_chunk_is_over_when_all_environments_wait_or_there_were_enough_episodes() -> None:
    run = toy_run(quickly(goals=(10**6,)))
    all_waiting = waiting(run.state.episodes, jnp.full(16, GOAL, jnp.int32))
    nothing = jax.tree.map(jnp.copy, run.state._replace(episodes=all_waiting))
    _, counts = run.driver.chunk(run.tables, nothing, learns=False, most=10**6)
    assert int(counts.steps) == int(counts.episodes.sum()) == 0
    state, episodes = run.state, 0
    for _ in range(4):
        state, counts = run.driver.chunk(run.tables, state, learns=False, most=7)
        episodes += int(counts.episodes.sum())
        assert int(counts.episodes.sum()) < 7 + 16
        assert int(counts.steps) == 50 * 16 or int(counts.episodes.sum()) >= 7
    assert episodes > 7


def test_evaluations_come_after_a_number_of_episodes_if_that_is_asked_for() -> None:
    """A chunk may have as many episodes as are left until the next one; nothing is compiled for it."""
    run = toy_run(quickly(agent=replace(SMALL.agent, evaluate_every="100 episodes")))
    seen = []
    for run.counters.episodes in (0, 40, 99, 100, 103):
        seen.append((run.most_episodes, run.is_due))
    assert seen == [(100, False), (60, False), (1, False), (100, True), (97, True)]
    run.counters.evaluated_at = 103
    assert (run.most_episodes, run.is_due) == (97, False)
    run.counters.episodes = 200
    assert run.is_due, "they come at multiples of a hundred, also after one that came late"


def test_a_run_goes_on_without_a_machine_that_cannot_be_relearned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch turns out to be another machine, and none is found in time for the task that calls it."""
    run = toy_run()
    run_until(run, lambda run: "all" in run.pool.learned and "fetch" in run.pool.learned["all"].callees)
    real = Learner.learn

    def learn(self: Learner, task: LearningTask, *arguments: Any) -> Result:
        return TimedOut(3, (), 0.0, 0) if task.name == "all" else real(self, task, *arguments)

    monkeypatch.setattr(Learner, "learn", learn)
    dead_end = Trace((frozenset(), frozenset("g"), frozenset("k")), Outcome.DEAD_END)
    events = run.machines.take({"fetch": [dead_end]})
    assert [(event.task, event.cause.value) for event in events] == [("fetch", "counterexample"), ("all", "problem")]
    run._return_to_new_machines(events)
    run._take_effect(found(run, events))
    assert "all" not in run.pool.learned
    assert run.curriculum.level == 1
    number = run.tasks.index("all")
    assert (run.curriculum.dropped, run.curriculum.revisited) == ((number,), (number,))
    risen = replace(run.curriculum, level=2).chances()
    assert risen[number].sum() == pytest.approx(0.05)
    assert risen.sum() == pytest.approx(1)
    for _ in range(3):
        run.advance()


def test_options_go_on_when_there_is_a_new_label_and_exploration_options_do_not() -> None:
    run = toy_run()
    run_until(run, lambda run: run.curriculum.level == 2)
    run.advance()
    before = run.state.episodes
    assert (np.asarray(before.plans.size) > np.asarray(before.plans.first)).any()
    is_exploring = np.asarray(search(before).is_exploring)
    run._take_effect(found(run, has_new_labels=True))
    after = run.state.episodes
    assert not np.asarray(search(after).is_exploring).any()
    for kept, old in zip(jax.tree.leaves(after.plans), jax.tree.leaves(before.plans), strict=True):
        assert np.array_equal(np.asarray(kept)[~is_exploring], np.asarray(old)[~is_exploring])
    assert np.array_equal(np.asarray(after.plans.size)[is_exploring], np.asarray(after.belief.depth)[is_exploring])


def test_with_a_level_new_episodes_begin_everywhere() -> None:
    """None of before is counted for tasks of the new level: as published, where a level begins between two episodes."""
    run = toy_run()
    before: list[int] = []
    while run.curriculum.level == 1:
        before.append(int(np.asarray(search(run.state.episodes).length).max()))
        run.advance()
    assert max(before) > 1
    assert np.asarray(search(run.state.episodes).length).tolist() == [1] * 16
    assert np.asarray(run.state.environments.steps).tolist() == [0] * 16


def test_exploration_options_start_behind_what_the_environment_shows_already() -> None:
    run = toy_run()
    run_until(run, lambda run: run.curriculum.level == 2)
    tables, driver = run.tables, run.driver
    assert isinstance(driver, JaxDriver)
    assert "all" not in run.pool.learned, "exploration options are needed where there is no machine"
    count, fetch, both = 200, *(tables.root[run.tasks.index(name)] for name in ("fetch", "all"))
    rows = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], (count, *x.shape[1:])), run.state.episodes)
    free = waiting(clear_options(rows, jnp.ones(count, bool)), jnp.full(count, NOTHING))._replace(
        belief=jax.vmap(lambda _: initial_state(tables.task.tables, both))(jnp.arange(count))
    )
    for shown in (frozenset[str](), frozenset({"k"})):
        here = free._replace(label=jnp.tile(jnp.asarray(run.bits.encode(shown), jnp.uint32), (count, 1)))
        after = search(driver.interaction._choose_options(tables, here, jax.random.key(1)))
        follows = np.asarray(after.is_exploring & (after.option.root == fetch))
        assert follows.any()
        tree, states = run.pool.hierarchy("fetch"), run.pool.learned["fetch"].states
        expected = traversal.step(tree, traversal.initial_state(tree), shown).state
        assert {states[number] for number in np.asarray(after.option.state)[follows]} == {expected}


def test_an_episode_that_is_over_with_its_first_label_is_an_example() -> None:
    run = toy_run()
    task = jnp.zeros(2, jnp.int32)
    memory = jax.tree.map(lambda x: x[:2], run.state.episodes.now)
    label = jnp.tile(jnp.asarray(run.bits.encode(frozenset({"k"})), jnp.uint32), (2, 1))
    seen = Percept(memory, label, jnp.asarray([ACCEPT, NEITHER]), jnp.zeros(2, bool))
    begun = run.driver.interaction.begin(run.tables, task, task, seen, jax.random.key(0))
    assert np.asarray(search(begun).waiting).tolist() == [GOAL, NOTHING]


# -- with other programs, which take the room of those above


def test_tables_that_are_too_small_grow_without_losing_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lhrm_tables, "OPTION_ROOM", replace(lhrm_tables.OPTION_ROOM, slots=2))
    run = toy_run()
    run_until(run, lambda run: is_learned(run, ENOUGH))
    assert run.registry.option_room.slots == 4
    assert len(run.registry.slots) == 3
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None


def test_detours_are_random_walks_or_exploration_options_where_a_machine_knows_what_to_do() -> None:
    run = toy_run(quickly(detour_rate=0.2))
    run_until(run, lambda run: run.curriculum.level == 2 and "all" in run.pool.learned)
    tables, interaction, count = run.tables, run.driver.interaction, 2000
    belief = initial_state(tables.task.tables, tables.root[0])
    rows = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], (count, *x.shape[1:])), run.state.episodes)
    waits = jnp.where(jnp.arange(count) < 1000, NOTHING, GOAL)
    free = waiting(clear_options(rows, jnp.ones(count, bool)), waits)._replace(
        belief=jax.tree.map(lambda x: jnp.broadcast_to(x, (count, *x.shape)), belief)
    )
    moved = jax.jit(interaction.explore)(tables, run.state.agent, free, jax.random.key(0))[2]
    after = search(moved)
    is_away, walks = np.asarray(after.is_exploring), np.asarray(after.option.machine == exploration(run).random_walk)
    assert is_away[:1000].mean() == pytest.approx(0.2, abs=0.05)
    assert not is_away[1000:].any()
    among = is_away[:1000]
    # Half are random walks, and of the others those whose draw of an action or an option was an action.
    options, actions = int(np.asarray(exploration(run).is_available).sum()), interaction.agent.actions
    assert options
    share = 0.5 + 0.5 * actions / (actions + options)
    assert walks[:1000][among].mean() == pytest.approx(share, abs=0.12)
    walking = walks[:1000] & among
    assert np.asarray(after.is_proposition)[:1000][walking].all()
    has_formula = jax.vmap(lambda plans: is_formula(tables.task.options, plans))(moved.plans)  # type: ignore[attr-defined]
    assert not np.asarray(has_formula)[:1000][walking].any()


def test_with_detours_everything_is_learned_all_the_same() -> None:
    run = toy_run(quickly(detour_rate=0.2))
    run_until(run, lambda run: is_learned(run, ENOUGH))
    for name, tree in TREES.items():
        assert difference(run.pool.hierarchy(name), tree, labels=LABELS, events=True) is None
