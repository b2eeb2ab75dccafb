"""Machines and policies of Gymnasium environments: learned from labels and ends alone, and what can go wrong."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium import spaces

from rewardmachines.agents.gymnasium.diagnosis import NotLearnedWarning
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.core.equivalence import difference
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.core.machine import Edge, machine
from rewardmachines.core.text import parse_formula
from rewardmachines.core.traversal import traverse, verdict
from rewardmachines.envs import LabelingWrapper
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import Exploration
from rewardmachines.lhrm.learn_gymnasium import LHRM_GYMNASIUM, LearnedTasks, learn_gymnasium
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEnds, DeadEndWarning, NotShared, NotShown, Sight, sight
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.lowered import lift
from rewardmachines.lowered.traversal import ACCEPT, NEITHER, REJECT
from rewardmachines.traces import singletons

PLACES = {0: "a", 2: "b", 6: "c", 8: "pit"}
PROPOSITIONS = tuple(PLACES.values())
STARTS = (1, 3, 4, 5, 7)
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
ROUTES = {"ab": "ab", "bc": "bc", "all": "abbc"}
"""What is to be visited, in this order; a place that is there twice must be left and entered again."""


def _edges(first: str, second: str) -> list[Edge]:
    here, there = f"{first} & !pit", f"{second} & !pit"
    moves = (("u0", "u1", here), ("u0", "uR", "pit"), ("u1", "uA", there), ("u1", "uR", "pit"))
    return [Edge(source, target, parse_formula(formula)) for source, target, formula in moves]


AB = machine("ab", _edges("a", "b"), rejecting=("uR",))
BC = machine("bc", _edges("b", "c"), rejecting=("uR",))
ALL = machine("all", [Edge("u0", "u1", parse_formula("true"), "ab"), Edge("u1", "uA", parse_formula("true"), "bc")])
TRUTH = {
    "ab": Hierarchy("ab", (AB,), PROPOSITIONS),
    "bc": Hierarchy("bc", (BC,), PROPOSITIONS),
    "all": Hierarchy("all", (ALL, AB, BC), PROPOSITIONS),
}


class Yard(gymnasium.Env[Any, Any]):
    """Nine cells, with three places and a pit in the corners. Actions are counted from 1."""

    open = 0

    def __init__(self, route: str, *, deadly: bool = True) -> None:
        self.observation_space, self.action_space = spaces.Discrete(9), spaces.Discrete(4, start=1)
        self.route, self.deadly = route, deadly
        Yard.open += 1

    def close(self) -> None:
        Yard.open -= 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.left = int(self.np_random.choice(STARTS)), list(self.route)
        return self.cell, {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        down, right = MOVES[action - 1]
        before, row, column = self.cell, self.cell // 3 + down, self.cell % 3 + right
        if 0 <= row < 3 and 0 <= column < 3:
            self.cell = 3 * row + column
        if self.cell != before and PLACES.get(self.cell) == self.left[0]:
            self.left.pop(0)
        is_dead = self.deadly and PLACES.get(self.cell) == "pit"
        return self.cell, float(not self.left), is_dead or not self.left, False, {}


def labels(cell: int) -> set[str]:
    return {PLACES[cell]} if cell in PLACES else set()


def maker(route: str, *, labels: Callable[[int], set[str]] = labels, deadly: bool = True) -> Callable[[], Any]:
    return lambda: LabelingWrapper(
        gymnasium.wrappers.TimeLimit(Yard(route, deadly=deadly), 60), labels=labels, propositions=PROPOSITIONS
    )


CONFIG = replace(
    LHRM_GYMNASIUM,
    agent=replace(
        LHRM_GYMNASIUM.agent,
        environments=30,
        batch=64,
        chunk=50,
        evaluate_every=2,
        network=NetworkConfig(Body.MLP, hidden=(32,)),
        call_network=NetworkConfig(Body.MLP, hidden=(16,)),
        learning_rate=3e-3,
        replay_size=10_000,
        replay_start=500,
        annealing_steps=1_000,
        call_annealing=30,
    ),
    first_goals=10,
    goals=20,
    examples=5,
    learner_seconds=5.0,
)


def learn(tasks: list[GymTask], **options: Any) -> LearnedTasks:
    with Solvers(cores=1) as solvers:
        return learn_gymnasium(tasks, config=CONFIG, max_steps=60, solvers=solvers, **options)


def is_exact(learned: LearnedTasks, name: str) -> bool:
    found = difference(learned.hierarchy(name), TRUTH[name], labels=singletons(PROPOSITIONS), events=True)
    return found is None


@pytest.fixture(scope="module")
def learned() -> LearnedTasks:
    tasks = [GymTask(name, 2 if name == "all" else 1, maker(route)) for name, route in ROUTES.items()]
    return learn(tasks, steps=150_000)


def test_three_tasks_on_two_levels_are_learned_exactly_and_solved(learned: LearnedTasks) -> None:
    assert Yard.open == 0
    assert learned.problems == {}
    assert set(learned.hierarchies) == set(TRUTH)
    for name in TRUTH:
        assert is_exact(learned, name)
        assert learned.evaluate(name, 10) == 1
        assert all(verdict(learned.hierarchy(name), t.labels) is t.outcome.verdict for t in learned.examples(name))
    assert learned.hierarchy("all")["all"].callees
    assert Yard.open == 0
    assert sum(sum(row.ended) for row in learned.rows) == learned.rows[-1].episodes


def test_what_is_remembered_are_steps_that_can_be_taken(learned: LearnedTasks) -> None:
    replay = learned.run.state.agent.replay
    rows = jax.tree.map(np.asarray, replay.rows)
    assert int(replay.written[0]) > CONFIG.agent.replay_size == len(rows.before)
    assert rows.reward is None
    for before, action, after, label, is_event, is_dead_end in zip(*rows[:-1], strict=True):
        yard = Yard("x")
        yard.reset()
        yard.cell = int(before)
        assert yard.step(int(action) + 1)[0] == after
        assert learned.run.bits.decode(label) == labels(int(after))
        assert is_event == (labels(int(before)) != labels(int(after)))
        assert is_dead_end == (after == 8)
        yard.close()


def test_the_belief_is_where_the_labels_of_the_episode_lead(learned: LearnedTasks) -> None:
    run = learned.run
    crew = jax.tree.map(np.asarray, run.state.crew)
    lowered = run.registry.write(run.pool, (), Exploration.ACTIONS).lowered
    for i, task in enumerate(crew.task):
        trace = [run.bits.decode(bits) for bits in crew.trace[i, : crew.length[i]]]
        hierarchy = run.pool.hierarchy(run.tasks[task])
        state = jax.tree.map(lambda x, i=i: x[i], crew.belief)
        *_, last = traverse(hierarchy, trace)
        assert lift(lowered, hierarchy, state) == last


def test_policies_act_by_observations_and_labels(learned: LearnedTasks) -> None:
    policy = learned.policy("ab")
    policy.reset(set())
    assert policy.act(3, set()) == 1
    assert policy.act(0, {"a"}) == 4
    with pytest.raises(RewardMachineError, match="no task 'abc'; there are ab, bc, all"):
        learned.policy("abc")


def test_the_same_seed_gives_the_same_run() -> None:
    tasks = [GymTask(name, 1, maker(route)) for name, route in ROUTES.items()]
    one, again, other = (learn(tasks, steps=2_400, seed=seed).rows for seed in (1, 1, 2))
    assert one == again != other


# -- what can go wrong


@pytest.fixture(scope="module")
def troubled() -> LearnedTasks:
    """One task is fine; the labels of another mean nothing, and the goal of the third cannot be reached."""
    chance = random.Random(0)

    def noise(cell: int) -> set[str]:
        return {chance.choice("abc")}

    tasks = [GymTask("ab", 1, maker("ab")), GymTask("noise", 1, maker("a", labels=noise)), GymTask("no", 1, maker("x"))]
    with pytest.warns(NotLearnedWarning, match="noise: given up"):
        return learn(tasks, steps=60_000)


def test_a_task_whose_labels_mean_nothing_is_given_up_and_others_are_learned(troubled: LearnedTasks) -> None:
    assert "given up: its labels do not tell its ends apart" in troubled.problems["noise"]
    assert "ab" not in troubled.problems
    assert is_exact(troubled, "ab")
    assert troubled.evaluate("ab") == 1
    assert Yard.open == 0


def test_a_task_whose_goal_is_never_seen_costs_the_budget_and_is_named(troubled: LearnedTasks) -> None:
    assert 60_000 <= troubled.run.tally.steps < 62_000
    assert "no goal trace of no was seen in " in troubled.problems["no"]
    assert troubled.examples("no") == ()
    with pytest.raises(RewardMachineError, match="there is no machine of 'no' yet: no goal trace of no was seen in"):
        troubled.policy("no")


def test_levels_that_were_not_reached_are_named() -> None:
    tasks = [GymTask("ab", 1, maker("ab")), GymTask("no", 1, maker("x")), GymTask("high", 2, maker("a"))]
    assert "level 2 has to wait" in learn(tasks, steps=800).problems["high"]


def test_few_traces_must_do_if_there_are_no_others() -> None:
    """Where only the goal is labelled, all goal traces are the same."""

    def goal_alone(cell: int) -> set[str]:
        return {"a"} if cell == 0 else set()

    tasks = [GymTask(name, 1, maker("a", labels=goal_alone, deadly=False)) for name in ROUTES]
    learned = learn(tasks, steps=5_000)
    assert set(learned.hierarchies) == set(ROUTES)
    assert [len(learned.examples(name)) for name in ROUTES] == [1, 1, 1]


def test_dead_ends_that_are_not_shared_or_not_shown_are_reported() -> None:
    def hidden(cell: int) -> set[str]:
        return labels(cell) - {"pit"}

    tasks = [
        GymTask("ab", 1, maker("ab")),
        GymTask("bc", 1, maker("bc", deadly=False)),
        GymTask("all", 1, maker("abbc", labels=hidden)),
    ]
    with pytest.warns(DeadEndWarning) as told:
        learn(tasks, steps=4_000)
    messages = sorted(str(one.message) for one in told)
    assert len(messages) == 2
    assert messages[0].startswith("'all' ended in a dead end ")
    assert "A dead end that no label shows cannot be learned as one" in messages[0]
    assert messages[1].startswith("at the label {pit}, 'ab' ended in a dead end ")
    assert "while 'bc' went on " in messages[1]
    assert "must be one in all" in messages[1]


def test_dead_ends_are_judged_by_enough_sights_and_said_once() -> None:
    seen, pit = DeadEnds(least=3), frozenset({"pit"})
    seen.see("one", pit, Sight.DEAD_END, 3)
    seen.see("two", pit, Sight.PASSED, 2)
    assert seen.news() == []
    seen.see("two", pit, Sight.GOAL)
    seen.see("three", pit, Sight.PASSED, 9)
    seen.see("three", pit, Sight.DEAD_END)
    found = seen.news()
    assert found == [NotShared(pit, "one", "two", 3, 2, 1)]
    assert "'two' went on 2 times and reached the goal once" in str(found[0])
    assert seen.news() == []
    seen.see("one", pit, Sight.PASSED, 4)
    seen.see("four", pit, Sight.PASSED, 9)
    assert seen.news() == []
    seen.see("four", frozenset(), Sight.HIDDEN, 3)
    assert seen.news() == [NotShown("four", 3)]


def test_a_dead_end_without_a_label_of_its_own_is_hidden() -> None:
    pit, nothing = frozenset({"pit"}), frozenset[str]()

    def seen(label: frozenset[str], end: str = "", *, is_event: bool = True) -> Sight | None:
        return sight(label, is_event=is_event, is_goal=end == "goal", is_dead_end=end == "dead")

    assert seen(pit, "dead") is Sight.DEAD_END
    assert seen(nothing, "dead") is seen(pit, "dead", is_event=False) is Sight.HIDDEN
    assert seen(pit) is Sight.PASSED
    assert seen(pit, "goal") is Sight.GOAL
    assert seen(nothing) is seen(pit, is_event=False) is None


# -- what is asked of tasks and environments


def test_an_instance_is_a_seed_and_without_instances_every_beginning_is_another() -> None:
    tasks = [GymTask("fixed", 1, maker("ab"), instances=7), GymTask("free", 1, maker("ab"))]
    worlds = GymnasiumWorlds(tasks, max_steps=60)
    assert worlds.instances == 7
    environments = worlds.make_environments(3, seed=0)
    indices, task = range(3), np.array([0, 0, 1])
    begun = []
    for _ in range(20):
        environments.begin(indices, task, np.array([2, 9, 5]))
        begun.append(environments.memory.tolist())
    yard = Yard("ab")
    cell, _ = yard.reset(seed=2)
    assert {tuple(cells[:2]) for cells in begun} == {(cell, cell)}
    assert {cells[2] for cells in begun} == set(STARTS)
    yard.close()
    environments.close()
    assert Yard.open == 0


def test_only_who_acts_moves_and_ends_are_told() -> None:
    environments = GymnasiumWorlds(
        [GymTask("a", 1, maker("a")), GymTask("b", 1, maker("b"))], max_steps=2
    ).make_environments(4, seed=0)
    environments.begin(range(4), np.array([0, 0, 1, 0]), np.zeros(4))
    for i, cell in enumerate((3, 5, 4, 3)):
        environments._envs[i, int(environments.task[i])].env.unwrapped.cell = cell  # type: ignore[attr-defined]
    before = environments.memory
    ends = environments.step([0, 1, 2], np.array([0, 1, 2, 0]))
    assert environments.memory.tolist() == [0, 8, 3, before[3]]
    assert ends.end.tolist() == [ACCEPT, REJECT, NEITHER, NEITHER]
    assert environments.labels[:3] == [{"a"}, {"pit"}, set()]
    assert ends.is_cut.tolist() == [False] * 4
    assert environments.step([2], np.zeros(4)).is_cut.tolist() == [False, False, True, False]
    environments.close()


class Wide(Yard):
    def __init__(self) -> None:
        super().__init__("a")
        self.observation_space = spaces.Discrete(10)


class Steered(Yard):
    def __init__(self) -> None:
        super().__init__("a")
        self.action_space = spaces.Box(-1, 1)


def labelled(env: gymnasium.Env[Any, Any], propositions: tuple[str, ...] = PROPOSITIONS) -> Any:
    return LabelingWrapper(env, labels=labels, propositions=propositions)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: labelled(Wide()), "the same observations: those of 'ab' are Discrete(9), those of 'other'"),
        (lambda: labelled(Steered()), "the same actions: those of 'ab' are Discrete(4, start=1), those of 'other' Box"),
        (lambda: labelled(Yard("a"), ("a", "b")), "the same propositions: those of 'ab' are ('a', 'b', 'c', 'pit')"),
        (lambda: Yard("a"), "the environment of 'other' is not labelled: wrap it: LabelingWrapper(env, labels="),
    ],
)  # fmt: skip
def test_tasks_must_have_the_same_senses(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(RewardMachineError, match=re.escape(message)):
        learn([GymTask("ab", 1, maker("ab")), GymTask("other", 1, make)], steps=1)
    assert Yard.open == 0


def test_tasks_are_checked() -> None:
    with pytest.raises(RewardMachineError, match="there is no task to learn"):
        learn([], steps=1)
    with pytest.raises(RewardMachineError, match="two tasks are called 'ab'"):
        learn([GymTask("ab", 1, maker("ab")), GymTask("ab", 2, maker("ab"))], steps=1)
    with pytest.raises(RewardMachineError, match="'ab': levels count from 1, not 0"):
        GymTask("ab", 0, maker("ab"))
    with pytest.raises(RewardMachineError, match="'ab': at least one instance, not 0"):
        GymTask("ab", 1, maker("ab"), instances=0)
    with pytest.raises(RewardMachineError, match="actions must be discrete"):
        learn([GymTask("ab", 1, lambda: labelled(Steered()))], steps=1)


def test_an_end_without_outcome_and_a_moment_without_label_are_errors() -> None:
    class Silent(Yard):
        propositions = PROPOSITIONS
        label: tuple[str, ...] = ()

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            cell, _ = super().reset(**options)
            return cell, dict.fromkeys(self.label, frozenset[str]())

        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            return 0, 0.0, True, False, {"label": frozenset[str]()}

    class Talking(Silent):
        label = ("label",)

    zero = np.zeros(1, np.int32)
    silent = GymnasiumWorlds([GymTask("ab", 1, lambda: Silent("ab"))]).make_environments(1, seed=0)
    said = "task 'ab': Silent, reset of episode 1: there is no label in info: wrap the environment in LabelingWrapper"
    with pytest.raises(RewardMachineError, match=said), closing(silent):
        silent.begin([0], zero, zero)
    with closing(
        GymnasiumWorlds([GymTask("ab", 1, lambda: Talking("ab"))]).make_environments(1, seed=0)
    ) as environments:
        environments.begin([0], zero, zero)
        with pytest.raises(RewardMachineError, match="'ab' ended, but does not say whether at its goal"):
            environments.step([0], zero)
    assert Yard.open == 0
