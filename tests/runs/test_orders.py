"""Arguments of runs: what is usual, what is refused before anything is written, and what a resumed run agrees with."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from envs import painted
from lhrm import yards
from lhrm.toy import SMALL, TREES
from lhrm.yards import Yard
from rewardmachines.agents.networks import Body, NetworkConfig
from rewardmachines.agents.presets import Preset, preset
from rewardmachines.agents.registry import CRM
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs import HierarchyWrapper
from rewardmachines.envs.registry import domain
from rewardmachines.envs.scenarios import HELD_OUT_SEED
from rewardmachines.language import compile_task
from rewardmachines.lhrm.presets import lhrm_preset, published_learning_episodes
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.orders import (
    LearnArguments,
    RunOrder,
    TrainArguments,
    order_of,
    orders_of_seeds,
)
from rewardmachines.runs.places import gym_tasks_of
from rewardmachines.runs.run import Run, open_run
from rewardmachines.runs.stopping import RunBudget
from rewardmachines.runs.verbs import learn, train
from runs.conftest import Wholes
from runs.kinds import GYM, KINDS, LEARN_DOMAIN, LHRM, TRAIN_GYM, Kind

NOWHERE = RunFolder(Path("nowhere-at-all"))


def asked_train(**arguments: Any) -> RunOrder:
    return order_of(TrainArguments(**arguments), NOWHERE, resume=False)


def asked_learn(**arguments: Any) -> RunOrder:
    return order_of(LearnArguments(**arguments), NOWHERE, resume=False)


# -- what is usual


@pytest.mark.parametrize("name", Preset)
def test_runs_in_domains_have_the_settings_of_their_presets_and_end_as_these_say(name: Preset) -> None:
    known, is_paper = domain("craftworld"), name is Preset.PAPER
    for agent in ("hrl", "flat-hrl", "crm"):
        order = asked_train(where="CraftWorld", task="MilkBucket", agent=agent, setting="OPL", preset=name.value)
        assert order.config.tasks == ("milk-bucket",)
        assert order.config.settings == preset(name, "craftworld", "opl", agent)
        assert order.config.stop_at == (0.0 if is_paper else 0.95)
        assert order.config.budget == (RunBudget(episodes=100_000) if is_paper else RunBudget(2_000_000))
        assert order.hierarchies["milk-bucket"] == known.hierarchy("milk-bucket", dead_ends=True)
    learned = asked_learn(where="craftworld", preset=name)
    assert set(learned.config.tasks) == set(known.tasks)
    assert learned.config.settings == lhrm_preset(name, "craftworld", "op")
    assert learned.config.stop_at == (0.0 if is_paper else known.solved_return)
    episodes = published_learning_episodes("op") if is_paper else None
    assert learned.config.budget == RunBudget(episodes=episodes)


def test_limits_that_are_given_replace_the_usual_ones() -> None:
    both = asked_learn(where="craftworld", preset="paper", seconds=7200.0, episodes=7, stop_at=0.5)
    assert (both.config.budget, both.config.stop_at) == (RunBudget(None, 7, 7200.0), 0.5)
    stepped = asked_train(where="craftworld", task="cake", preset="paper", steps=500)
    assert (stepped.config.budget, stepped.config.stop_at) == (RunBudget(500), 0.0)


def test_fresh_instances_are_as_many_as_the_domain_says() -> None:
    sizes = domain("craftworld").settings["op"].fresh
    for order in (
        asked_train(where="craftworld", task="cake", instances="fresh"),
        asked_learn(where="craftworld", instances="fresh"),
    ):
        place = order.config.domain
        assert place is not None
        assert (place.fresh, place.instances, place.instance_seed) == (sizes.drawn, sizes.held_out, HELD_OUT_SEED)
    assert order.config.stop_at == sizes.solved_return


def test_tasks_are_those_of_the_domain_lowest_level_first_and_each_is_there_once() -> None:
    assert asked_learn(where="two-rooms", tasks=["all", "press", "fetch"]).config.tasks == ("press", "fetch", "all")
    assert asked_learn(where="two-rooms", tasks="Fetch").config.tasks == ("fetch",)
    assert asked_learn(where="craftworld", tasks=["MilkBucket"]).config.tasks == ("milk-bucket",)
    for tasks, message in (
        ([], "no task to learn"),
        (["book", "Book"], "the task 'book' is there twice"),
        (["bukket"], "no task 'bukket'; did you mean 'bucket'"),
    ):
        with pytest.raises(RewardMachineError, match=message):
            asked_learn(where="craftworld", tasks=tasks)


def test_a_task_may_be_an_expression_over_propositions_and_tasks() -> None:
    for where, expression in (("two-rooms", "fetch ; (k | g)"), (yards.make_ab, "b ; (c | a)")):
        order = asked_train(where=where, task=expression)
        (tree,) = order.hierarchies.values()
        assert order.config.tasks == (expression,)
        assert asked_train(where=where, task=expression, name="it").config.tasks == ("it",)
        assert asked_train(where=where, task=tree).config.tasks == (tree.root,)
    assert "fetch" in {
        machine.name for machine in asked_train(where="two-rooms", task="fetch ; g").hierarchies["fetch ; g"]
    }
    lava = asked_train(where="craftworld", setting="opl", task="iron ; table").hierarchies["iron ; table"]
    assert "lava" in {
        proposition for machine in lava for edge in machine.edges for proposition in str(edge.formula).split()
    }
    long = " ; ".join(["k", "g"] * 100)
    assert asked_train(where="two-rooms", task=long).config.tasks == ("task",), "it would be too long for files"


def test_a_function_changes_the_settings_that_fit_the_observations() -> None:
    mlp = NetworkConfig(Body.MLP, hidden=(8,))
    for network, expected in ((None, Body.CNN), (mlp, Body.MLP)):
        learned = asked_learn(
            where={"walk": painted.make}, settings=lambda usual: replace(usual, goals=(25, 70)), network=network
        ).config.settings
        trained = asked_train(
            where=painted.make, task="left ; right", settings=lambda usual: replace(usual, batch=7), network=network
        ).config.settings
        assert (learned.goals, trained.batch) == ((25, 70), 7)
        for agent in (learned.agent, trained):
            assert (agent.network.body, agent.calls.network.body) == (expected, expected)


def test_settings_are_changed_by_their_names() -> None:
    named = {"batch": 7, "network.hidden": (9,)}
    trained = asked_train(where=painted.make, task="left ; right", settings=named).config.settings
    assert (trained.batch, trained.network.hidden, trained.network.body) == (7, (9,), Body.CNN)
    learned = asked_learn(where={"walk": painted.make}, settings={**named, "goals": [25, 70]}).config.settings
    assert (learned.goals, learned.agent.batch, learned.agent.network.hidden) == ((25, 70), 7, (9,))
    assert asked_train(where="two-rooms", task="k", settings={"batch": 7}).config.settings.batch == 7


# -- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "at least one step is needed, not 0"),
        ({"seconds": 0.0}, "more than 0 seconds are needed"),
        ({"stop_at": 1.5}, "between 0 and 1, not 1.5"),
        ({"instances": 0}, "at least one instance"),
        ({"max_steps": 0}, "one step"),
        ({"seed": -1}, "a seed lies between 0 and 4,294,967,295, not -1$"),
        ({"seed": 2**32}, "a seed lies between 0 and 4,294,967,295, not 4294967296$"),
        ({"seed": 10**400}, "a seed lies between 0 and 4,294,967,295, not a number with more digits$"),
        ({"settings": CRM.settings(SMALL.agent)}, "the settings of .* are a .*, not a CrmConfig"),
        ({"settings": lambda _: None}, "the settings of .* are a .*, not a NoneType"),
        ({"settings": {"batsch": 7}}, "settings.*batsch"),
        ({"settings": {"calls.batch": "many"}}, "settings.*batch"),
        ({"where": "craftwrld"}, "there is no domain 'craftwrld'.* did you mean 'craftworld'"),
        ({"where": 7}, "say where to act"),
        ({"own_instances": True}, "own_instances: several seeds have them"),
        ({"seeds": 0}, "at least one seed is needed, not 0|only runs in domains go side by side"),
        ({"seeds": 2, "seed": 2**32 - 1}, "a seed lies between|only runs in domains go side by side"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    kind: Kind, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RewardMachineError, match=message) as problem:
        kind.run(tmp_path / "run", **options)
    assert "\n" not in str(problem.value)
    assert not list(tmp_path.iterdir())
    assert Yard.open == 0


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("train-domain", {"setting": "opp"}, "no setting 'opp'"),
        ("train-domain", {"preset": "fsat"}, "there is no preset 'fsat'; there are"),
        ("train-domain", {"task": "fecth"}, "no task 'fecth'; did you mean 'fetch'"),
        ("train-domain", {"task": "k ; moon"}, "'moon'"),
        ("train-domain", {"task": None}, "say what is to be done"),
        ("train-domain", {"task": compile_task("k ; gold")}, "speaks of 'gold', which TwoRooms PLAIN does not have"),
        ("train-domain", {"agent": "ppo"}, "there is no agent 'ppo'; there are hrl, flat-hrl, crm"),
        ("train-domain", {"name": "x" * 300}, "too long for files"),
        ("train-domain", {"trains_bank": True}, "there is no bank of skills to be trained further"),
        ("train-domain", {"labels": [{"k"}]}, "labels: only Gymnasium environments have it, not domains"),
        ("train-domain", {"encode": yards.encode}, "encode: only Gymnasium environments have it"),
        ("train-domain", {"network": NetworkConfig()}, "network: only Gymnasium environments have it"),
        ("learn-domain", {"setting": "opp"}, "no setting 'opp'"),
        ("learn-domain", {"learner": "exakt"}, "no learner of machines 'exakt'; did you mean 'exact'"),
        ("learn-domain", {"stop_at": 0}, "it would never end"),
        ("train-gym", {"setting": "op"}, "setting: only domains have it"),
        ("train-gym", {"preset": "fast"}, "preset: only domains have it"),
        ("train-gym", {"instance_seed": 3}, "instance_seed: only domains have it"),
        ("train-gym", {"bank": "skills"}, "bank: only domains have it"),
        ("train-gym", {"trains_bank": True}, "trains_bank: only domains have it"),
        ("train-gym", {"instances": "fresh"}, "fresh instances: only domains have them"),
        ("train-gym", {"seeds": 2}, "only runs in domains go side by side"),
        ("train-gym", {"task": compile_task("a ; moon")}, "mentions 'moon', but the environment only knows"),
        ("train-gym", {"task": "a ; ("}, r"\("),
        ("train-gym", {"where": Yard}, "the environment cannot be made: TypeError"),
        ("train-gym", {"where": lambda: Yard("ab")}, "is not labelled"),
        ("train-gym", {"where": lambda: 3}, "task 'ab': 3 is no Gymnasium environment"),
        ("train-gym", {"where": "lhrm.yards:make_it"}, "cannot be found as lhrm.yards:make_it"),
        ("train-gym", {"where": "no_such_module:Yard-v0"}, "cannot be found as no_such_module:Yard-v0"),
        ("train-gym", {"where": "Yard-v0"}, "no environment of Gymnasium by that name"),
        ("train-gym", {"agent": "crm"}, "the settings of crm are a CrmConfig"),
        ("train-gym", {"labels": [{"a", "x"}]}, "'x'"),
        ("learn-gym", {"tasks": ["ab"]}, "tasks: only domains have it"),
        ("learn-gym", {"preset": "paper"}, "preset: only domains have it"),
        ("learn-gym", {"where": {}}, "there is no task to learn"),
        ("learn-gym", {"where": {"ab": (yards.make_ab, "2")}}, "an environment for each task is given as"),
        ("learn-gym", {"where": {"ab": (yards.make_ab, 1, 2)}}, "an environment for each task is given as"),
        ("learn-gym", {"where": {"ab": (yards.make_ab, 0)}}, "'ab': levels count from 1, not 0"),
        ("learn-gym", {"where": [yards.make_ab]}, "an environment for each task is given as"),
        ("learn-gym", {"where": [*yards.TASKS, yards.TASKS[0]]}, "two tasks are called 'ab'"),
        ("learn-gym", {"steps": None, "stop_at": 0}, "it would never end"),
    ],
)  # fmt: skip
def test_what_a_kind_of_runs_cannot_do_is_refused_before_anything_is_written(
    tmp_path: Path, kind: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RewardMachineError, match=message) as problem:
        KINDS[kind].run(tmp_path / "run", **options)
    assert "\n" not in str(problem.value)
    assert not list(tmp_path.iterdir())
    assert Yard.open == 0


def test_a_run_needs_a_place_and_one_that_is_resumed_a_folder() -> None:
    for verb, task in ((train, "cake"), (learn, None)):
        with pytest.raises(RewardMachineError, match="say where to act"):
            verb(None, task)
    for verb in (train, learn):
        with pytest.raises(RewardMachineError, match="say which folder holds the run to resume"):
            verb(resume=True)


# -- runs that are resumed


def test_a_run_is_resumed_with_all_that_it_was_begun_with(kind: Kind, whole: Run, copy: Path) -> None:
    """As a script does that is run again."""
    assert kind.resume(copy, **kind.arguments).rows == whole.rows
    if not kind.is_gym:
        usual = LHRM if kind.learns else SMALL.agent
        kind.resume(copy, settings=lambda begun: replace(begun) if begun == usual else None, setting="PLAIN")
        kind.resume(copy, where="Two-Rooms", seed=0)
    assert open_run(copy).config == whole.config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 5}, r"seed is \d, not 5"),
        ({"max_steps": 61}, r"max_steps is 60, not 61"),
        ({"instances": 7}, r"instances is (1|3|None), not 7"),
    ],
)
def test_a_run_is_not_resumed_with_anything_else(kind: Kind, copy: Path, options: dict[str, Any], message: str) -> None:
    check_refused(kind, copy, options, f"the run was begun with other settings: .*{message}$")


def check_refused(kind: Kind, copy: Path, options: dict[str, Any], message: str) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with pytest.raises(RewardMachineError, match=message) as problem:
        kind.resume(copy, **{"steps": 10**6, **options})
    assert "\n" not in str(problem.value)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert Yard.open == 0


_OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("train-domain", {"task": "fetch"}, "tasks is .'all'., not .'fetch'."),
    ("train-domain", {"task": compile_task("k ; g")}, "the run was begun with another hierarchy"),
    ("train-domain", {"task": "all ; k", "name": "all"}, "the run was begun with another hierarchy"),
    ("train-domain", {"name": "other"}, "tasks is .'all'., not .'other'."),
    ("train-domain", {"agent": "crm"}, "agent is hrl, not crm"),
    ("train-domain", {"where": "craftworld", "setting": "op"}, "domain.domain is two-rooms, not craftworld"),
    ("train-domain", {"where": yards.make_ab}, "the run was begun in TwoRooms PLAIN, not elsewhere"),
    ("train-domain", {"settings": lambda usual: replace(usual, batch=3)}, "settings.batch is 64, not 3"),
    ("train-domain", {"settings": replace(SMALL.agent, batch=3)}, "settings.batch is 64, not 3"),
    ("train-domain", {"preset": "fast"}, "settings.network.hidden is .64., not"),
    ("train-domain", {"instances": "fresh"}, r"domain.instances is 1, not|domain.fresh is 0, not"),
    ("train-domain", {"instance_seed": 3}, "domain.instance_seed is .*, not 3"),
    ("learn-domain", {"tasks": ["fetch"]}, "tasks is .*, not .'fetch'."),
    ("learn-domain", {"settings": replace(LHRM, goals=(9,))}, r"settings.goals is .8, 12., not .9."),
    ("learn-domain", {"where": {"a": yards.make_ab}}, "the run was begun in TwoRooms PLAIN, not elsewhere"),
    ("learn-domain", {"learner": yards}, "learner is exact, not module"),
    ("train-gym", {"where": yards.make_bc}, "env is lhrm.yards:make_ab, not lhrm.yards:make_bc"),
    ("train-gym", {"where": "two-rooms"}, "the run was begun in lhrm.yards:make_ab, not elsewhere"),
    ("train-gym", {"encode": yards.encode}, "observations were not encoded|dtype is int32, not"),
    ("train-gym", {"task": compile_task("b ; a")}, "the run was begun with another hierarchy"),
    ("train-gym", {"agent": "flat-hrl"}, "agent is hrl, not flat-hrl"),
    ("train-gym", {"labels": [set(), {"a"}]}, "labels is None, not"),
    ("train-gym", {"network": NetworkConfig(Body.MLP, hidden=(5,))}, "settings.network.hidden is .32., not .5."),
    ("learn-gym", {"where": yards.TASKS[:2]}, r"tasks is .*, not .'ab', 'bc'."),
    ("learn-gym", {"where": [replace(yards.TASKS[0], make_env=yards.make_moody), *yards.TASKS[1:]]},
     r"environments.0..env is lhrm.yards:make_ab, not lhrm.yards:make_moody"),
    ("learn-gym", {"where": "craftworld"}, "the run was begun in lhrm.yards:make_ab, .*, not elsewhere"),
    ("learn-gym", {"settings": lambda usual: replace(usual, goals=(99,))}, r"settings.goals is .5, 20., not .99."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "message"), _OTHERS)
def test_what_differs_from_what_a_run_was_begun_with_is_said(
    wholes: Wholes, tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    kind = KINDS[name]
    check_refused(kind, Path(shutil.copytree(wholes[kind].folder, tmp_path / "copy")), options, message)


def test_training_and_learning_are_told_apart(kind: Kind, copy: Path) -> None:
    other, said = (train, "by learn, not by train") if kind.learns else (learn, "by train, not by learn")
    with pytest.raises(RewardMachineError, match=said):
        other(folder=copy, resume=True)


# -- environments


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_an_environment_without_a_name_is_given_again_and_its_name_kept(kind: Kind, tmp_path: Path) -> None:
    named = {task.name: task.make_env for task in yards.TASKS}
    where: Any = {name: (lambda make=make: make(), 1) for name, make in named.items()}
    again: Any = {name: (make, 1) for name, make in named.items()}
    if not kind.learns:
        where, again = where["ab"][0], yards.make_ab
    begun = kind.run(tmp_path / "run", where=where, steps=4 * kind.chunk)
    assert begun.evaluate() is not None, "the object knows it"
    for use in (kind.resume, lambda folder: open_run(folder).evaluate()):
        with pytest.raises(
            RewardMachineError, match="the environment of 'ab' was given as an object that cannot be found"
        ):
            use(tmp_path / "run")
    assert open_run(tmp_path / "run", envs=named).evaluate() is not None
    resumed = kind.resume(tmp_path / "run", where=again, steps=6 * kind.chunk)
    assert resumed.rows[: len(begun.rows)] == begun.rows
    assert open_run(tmp_path / "run").config.gym.names["ab"] == "lhrm.yards:make_ab"  # type: ignore[union-attr]
    kind.resume(tmp_path / "run", where=where, steps=7 * kind.chunk)
    assert open_run(tmp_path / "run").config.gym.names["ab"] == "lhrm.yards:make_ab"  # type: ignore[union-attr]
    assert Yard.open == 0


def by_id() -> Any:
    """Takes no `render_mode`, which Gymnasium would hand on."""
    return yards.make_ab()


@pytest.fixture
def yard_id() -> Iterator[str]:
    """A yard as Gymnasium knows it, by an id that a module registers."""
    module = type(sys)("yard_ids")
    sys.modules["yard_ids"] = module
    gymnasium.register("Yard-v0", entry_point=by_id)  # type: ignore[arg-type]
    yield "yard_ids:Yard-v0"
    gymnasium.registry.pop("Yard-v0")
    sys.modules.pop("yard_ids")


@pytest.mark.parametrize("prefix", ["yard_ids:", ""])
def test_an_environment_is_named_by_its_id(tmp_path: Path, yard_id: str, prefix: str, wholes: Wholes) -> None:
    name = prefix + yard_id.partition(":")[2]
    run = TRAIN_GYM.run(tmp_path / "run", where=name, steps=2 * TRAIN_GYM.chunk)
    assert run.rows == wholes[TRAIN_GYM].rows[:2]
    assert TRAIN_GYM.resume(tmp_path / "run", steps=3 * TRAIN_GYM.chunk).rows == wholes[TRAIN_GYM].rows[:3]
    assert len(open_run(tmp_path / "run").evaluate()[0].returns) == 3
    assert open_run(tmp_path / "run").config.gym.names == {"ab": name}  # type: ignore[union-attr]
    assert Yard.open == 0


def test_an_environment_itself_is_copied_and_left_alone(wholes: Wholes) -> None:
    env = yards.make_ab()
    env.reset(seed=7)
    before = env.unwrapped.cell
    run = TRAIN_GYM.run(None, where=env, steps=2 * TRAIN_GYM.chunk)
    assert run.rows == wholes[TRAIN_GYM].rows[:2]
    assert env.unwrapped.cell == before
    assert run.environment().unwrapped is not env.unwrapped
    env.unwrapped.uncopyable = (cell for cell in (1, 2))
    with pytest.raises(RewardMachineError, match=r"the environment cannot be copied .*: pass a function"):
        TRAIN_GYM.run(None, where=env)
    Yard.open = 0


def test_environments_side_by_side_are_taken_apart(wholes: Wholes) -> None:
    envs = SyncVectorEnv([yards.make_ab] * 20, autoreset_mode=AutoresetMode.SAME_STEP)
    assert TRAIN_GYM.run(None, where=envs, steps=2 * TRAIN_GYM.chunk).rows == wholes[TRAIN_GYM].rows[:2]
    envs.close()
    assert Yard.open == 0


def test_an_environment_may_follow_the_hierarchy_already_but_no_other(wholes: Wholes) -> None:
    wrapped = partial(HierarchyWrapper, hierarchy=yards.TASK)
    run = TRAIN_GYM.run(None, where=lambda: wrapped(yards.make_ab()), steps=TRAIN_GYM.chunk)
    assert run.rows == wholes[TRAIN_GYM].rows[:1]
    with pytest.raises(RewardMachineError, match="the environment of 'ab' follows another hierarchy already"):
        TRAIN_GYM.run(None, task=compile_task("b ; a"), where=lambda: wrapped(yards.make_ab()))
    assert Yard.open == 0


@pytest.mark.parametrize("kind", GYM, ids=str)
def test_environments_that_have_changed_since_are_named(
    kind: Kind, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = Yard.__init__

    def wider(yard: Yard, *arguments: Any, **options: Any) -> None:
        create(yard, *arguments, **options)
        yard.observation_space = gymnasium.spaces.Discrete(10)

    monkeypatch.setattr(Yard, "__init__", wider)
    for use in (partial(kind.resume, steps=10**6), lambda folder: open_run(folder).evaluate()):
        with pytest.raises(
            RewardMachineError, match=r"begun in another environment: observations\.shape is .9., not .10."
        ):
            use(copy)
    assert Yard.open == 0


# -- several seeds


def test_seeds_differ_in_seeds_and_instances_alone() -> None:
    first = LEARN_DOMAIN.order(NOWHERE, seed=3)
    own = orders_of_seeds(first, 3, own_instances=True)
    seeds = [(order.config.seed, order.config.domain.instance_seed) for order in own]  # type: ignore[union-attr]
    assert seeds == [(3, 20091953), (4, 30422020), (5, 1000050000)]
    assert [order.folder.path.name for order in own] == [f"nowhere-at-all-{seed}" for seed in (3, 4, 5)]
    same = orders_of_seeds(first, 2)
    assert [replace(order.config, seed=3) for order in same] == [first.config] * 2
    with pytest.raises(RewardMachineError, match="at least one seed is needed"):
        orders_of_seeds(first, 0)
    with pytest.raises(RewardMachineError, match="no common seed of instances"):
        orders_of_seeds(LEARN_DOMAIN.order(NOWHERE, instance_seed=5), 2, own_instances=True)
    with pytest.raises(RewardMachineError, match="fresh instances are common to all seeds"):
        orders_of_seeds(asked_learn(where="craftworld", instances="fresh"), 2, own_instances=True)
    with pytest.raises(RewardMachineError, match="folders of several seeds need a name"):
        orders_of_seeds(replace(first, folder=RunFolder(Path("."))), 2)


def test_machines_are_trained_that_the_domain_gives() -> None:
    assert asked_train(where="two-rooms", task="all").hierarchies == {"all": TREES["all"]}


@pytest.mark.parametrize(
    ("where", "name"), [(yards.make_ab, "ab"), ("lhrm.yards:make_ab", "ab"), (lambda: None, "task")]
)
def test_a_single_task_is_given_by_what_makes_its_environment(where: Any, name: str) -> None:
    (task,) = gym_tasks_of(where, 2)
    assert (task.name, task.level, task.instances) == (name, 1, 2)
    assert callable(task.make_env)
