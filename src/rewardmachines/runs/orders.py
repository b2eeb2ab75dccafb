"""Orders to train or to learn: arguments of people become the config of a run, which is then carried out.

An argument that is not given has its default or, in a resumed run, the value with which the run was begun. What is
given to a run that goes on is read as for a new one, and must come to the same config, limits apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import any_bank
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.presets import Preset, preset, published_episodes, solved_return
from rewardmachines.agents.registry import agent_kind
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.domain import BASE_SEED
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.scenarios import Scenario, instance_seed_of
from rewardmachines.files.overrides import with_named
from rewardmachines.files.writing import file_name
from rewardmachines.language import compile_task
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.learners import EXACT, MachineLearner, check_learner, learner_names, make_learner
from rewardmachines.lhrm.presets import lhrm_gymnasium, lhrm_preset, published_learning_episodes
from rewardmachines.rollout.gym_driver import GymTask
from rewardmachines.rollout.gym_settings import settled, usual_settings
from rewardmachines.rollout.suite import ranked
from rewardmachines.rollout.vector_environments import vector_of
from rewardmachines.runs.config import HIERARCHICAL, LONGEST_NAME, DomainPlace, GymPlace, RunConfig
from rewardmachines.runs.config_file import check_same
from rewardmachines.runs.diagnosis import RunWatch, diagnosis_of_run
from rewardmachines.runs.folder import RunFolder, folder_of_seed
from rewardmachines.runs.gym_makers import environment_of
from rewardmachines.runs.journal import Chunk, RunInFolder, chunks_in_folders
from rewardmachines.runs.places import (
    PlaceArguments,
    domain_place,
    gym_place,
    gym_place_again,
    gym_tasks_of,
    is_in_domain,
)
from rewardmachines.runs.session import Given, Session
from rewardmachines.runs.stopping import RunBudget

STEPS: Final = 2_000_000
"""The steps that training may take, if no limit is given."""


@dataclass(frozen=True)
class RunOrder:
    """A run to be carried out in a folder."""

    folder: RunFolder
    config: RunConfig
    hierarchies: Mapping[str, Hierarchy]
    """The hierarchies of tasks, where they are given."""
    given: Given
    """Objects that the config only names."""
    resume: bool = False
    """Whether the run in the folder goes on."""
    keeps: bool = True
    """Whether there are checkpoints, so that the run could be resumed."""


@dataclass(frozen=True)
class RunArguments(PlaceArguments):
    """The arguments of both verbs. None stands for the default, or for the value with which a resumed run was begun."""

    _: KW_ONLY
    preset: Preset | str | None = None
    settings: Any = None
    """All settings; values by the names of those that change; a function that changes the usual ones; or None."""
    network: NetworkConfig | None = None
    seed: int | None = None
    steps: int | None = None
    episodes: int | None = None
    seconds: float | None = None
    stop_at: float | None = None

    @property
    def budget(self) -> RunBudget:
        """The limits of what the run may take, as far as they are given."""
        return RunBudget(self.steps, self.episodes, self.seconds)


@dataclass(frozen=True)
class TrainArguments(RunArguments):
    """The arguments of training."""

    task: str | Hierarchy | None = None
    _: KW_ONLY
    agent: str | None = None
    name: str | None = None
    """The name of the task; the expression or the hierarchy's root, if not given."""
    trains_bank: bool | None = None


@dataclass(frozen=True)
class LearnArguments(RunArguments):
    """The arguments of learning."""

    tasks: Sequence[str] | str | None = None
    """The tasks of the domain; all, if not given."""
    _: KW_ONLY
    noise: float | None = None
    learner: MachineLearner | str | None = None


Arguments: TypeAlias = TrainArguments | LearnArguments


@dataclass(frozen=True)
class Begun:
    """The folder of a run, with the config, hierarchies and bank with which it was begun if it goes on."""

    folder: RunFolder
    config: RunConfig | None = None
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    bank: Bank | None = None


def order_of(asked: Arguments, folder: RunFolder, *, resume: bool, keeps: bool = True) -> RunOrder:
    """The order to train or to learn, in a new folder or in one that holds a run.

    Raises:
        RewardMachineError: Something is missing or does not fit, there is a run already, or none to resume, or it was
            begun with something else.
    """
    learns, named = isinstance(asked, LearnArguments), asked.settings
    if isinstance(named, Mapping):
        asked = replace(asked, settings=lambda usual: with_named(usual, named, "agent" if learns else None))
    begun = _begun(folder, learns=learns) if resume else Begun(folder)
    if not resume:
        folder.check_free()
        if isinstance(asked, TrainArguments) and asked.task is None:
            raise RewardMachineError("say what is to be done: a task of the domain, an expression, or a hierarchy")
    order = (_in_domain if is_in_domain(asked, begun.config, str(folder.path)) else _in_gym)(asked, begun)
    if begun.config is not None:
        check_same(order.config, begun.config, str(folder.path))
        if order.hierarchies != begun.hierarchies:
            raise RewardMachineError(f"{folder.path}: the run was begun with another hierarchy")
    return replace(order, resume=resume, keeps=keeps)


def _begun(folder: RunFolder, *, learns: bool) -> Begun:
    config, hierarchies = folder.read_config()
    if not config.trains_policies:
        raise RewardMachineError(f"{folder.path}: this is a run of {config.learner}: go on with it by a study")
    if config.learns_machines and not learns:
        raise RewardMachineError(f"{folder.path}: this run learns machines: go on with it by learn, not by train")
    if learns and not config.learns_machines:
        raise RewardMachineError(f"{folder.path}: this is a run of training: go on with it by train, not by learn")
    return Begun(folder, config, hierarchies, folder.read_bank(config))


# -- in a domain


def _in_domain(asked: Arguments, begun: Begun) -> RunOrder:
    before, bank = begun.config, _bank(asked, begun)
    place = domain_place(asked, bank, None if before is None else before.domain)
    agent, name = _agent(asked, begun), _preset(asked.preset)
    cell = (name, place.domain, place.setting)
    if before is not None and asked.preset is None:
        usual = before.settings
    elif isinstance(asked, LearnArguments):
        usual = lhrm_preset(*cell, fresh=place.fresh > 0)
        usual = usual if bank is None else replace(usual, agent=bank.fitted(usual.agent))
    else:
        usual = preset(*cell, agent, fresh=place.fresh > 0)
        if bank is not None:  # greedy episodes of a new task may be longer than those that the preset knows
            usual = replace(bank.fitted(usual), evaluate_steps=None)
    settings = _changed(asked, usual, agent)
    tasks: tuple[str, ...]
    if isinstance(asked, LearnArguments):
        tasks, trees = _domain_tasks(asked, place, bank, before, settings), dict[str, Hierarchy]()
        known, limit = find_domain(place.domain), RunBudget()
        stop_at = known.settings[place.setting].fresh.solved_return if place.fresh else known.solved_return
        if name is Preset.PAPER:
            limit, stop_at = RunBudget(episodes=published_learning_episodes(place.setting, place.domain)), 0.0
    else:
        scenario = place.with_instances().scenario(settings.observation)
        task, tree = _task(asked, begun, lambda text: _domain_task(scenario, bank, text))
        tasks, trees = (task,), {task: tree}
        limit, stop_at = RunBudget(STEPS), solved_return(name)
        if name is Preset.PAPER:
            limit = RunBudget(episodes=published_episodes(place.setting, place.domain))
    fields = {"tasks": tasks, "domain": place, "gym": None, "agent": agent, "settings": settings}
    return _order(asked, begun, Given(bank=bank), trees, fields, limit, stop_at)


def _domain_task(scenario: Scenario, bank: Bank | None, text: str) -> tuple[str, Hierarchy]:
    """The name and the hierarchy of a task of a domain, or of an expression over its propositions and tasks."""
    if bank is not None:
        return _short(text), task_with_bank(bank, scenario, text)
    domain, is_name = scenario.domain, re.search(r"[^\w -]", text) is None
    try:
        name = domain.task_name(text)
        return name, scenario.task(name)
    except RewardMachineError:
        if is_name and text not in scenario.environment.propositions:
            raise
    dead_end = domain.task_set.dead_end
    avoid = (dead_end,) if scenario.dead_ends and dead_end is not None else ()
    tree = compile_task(text, domain.tasks, avoid=avoid, propositions=scenario.environment.propositions)
    return _short(text), tree


def _domain_tasks(
    asked: LearnArguments, place: DomainPlace, bank: Bank | None, begun: RunConfig | None, settings: LhrmConfig
) -> tuple[str, ...]:  # fmt: skip
    """The names of the tasks to be learned, lowest level first."""
    domain = find_domain(place.domain)
    if asked.tasks is not None:
        names = [domain.task_name(task) for task in ([asked.tasks] if isinstance(asked.tasks, str) else asked.tasks)]
    elif begun is not None:
        names = [*begun.tasks]
    else:
        names = [task for task in domain.tasks if bank is None or task not in bank.names]
    if len(set(names)) < len(names) or not names or settings.callables is Callables.NONE:
        return tuple(names)  # on one level; or `RunConfig` says what is wrong
    return tuple(task.name for task in ranked(place.levels(names)))


def _bank(asked: Arguments, begun: Begun) -> Bank | None:
    """The bank of skills: the given bank, or that of the resumed run."""
    bank = any_bank(asked.bank)
    if begun.config is None:
        if bank is not None and bank.path is None:
            raise RewardMachineError("a run needs a bank that is in a folder: save it first")
        return bank
    if bank is not None and bank.digest != begun.config.bank:
        what = "another bank of skills" if begun.bank is not None else "no bank of skills"
        raise RewardMachineError(f"{begun.folder.path}: the run was begun with {what}")
    return begun.bank


def _preset(asked: Preset | str | None) -> Preset:
    try:
        return Preset.FAST if asked is None else Preset(asked)
    except ValueError:
        known = ", ".join(one.value for one in Preset)
        raise RewardMachineError(f"there is no preset '{asked}'; there are {known}") from None


# -- in Gymnasium environments


def _in_gym(asked: Arguments, begun: Begun) -> RunOrder:
    known = None if begun.config is None else begun.config.gym
    trees, limit, side_by_side = dict[str, Hierarchy](), RunBudget(), None
    given = Given(encode=asked.encode)
    if isinstance(asked, TrainArguments):
        name, tree = _task(asked, begun, lambda text: (_short(text), compile_task(text)))
        trees, limit = {name: tree}, RunBudget(STEPS)
    if known is not None and asked.where is None:
        place = gym_place_again(asked, known, *trees)
    else:
        if isinstance(asked, LearnArguments):
            tasks, vector = gym_tasks_of(asked.where, asked.beginnings), None
        else:
            make_env, side_by_side = environment_of(asked.where)
            one_by_one = asked.instances is not None or asked.max_steps is not None
            vector = vector_of(asked.where, one_by_one=one_by_one if known is None else not known.is_vector)
            tasks = [GymTask(name, 1, make_env, asked.beginnings, tree)]
        given = replace(given, envs={task.name: task.make_env for task in tasks}, vector=vector)
        place = gym_place(tasks, asked, vector, known, str(begun.folder.path))
    agent, names = _agent(asked, begun), tuple(record.task for record in place.environments)
    settings = _gym_settings(asked, place, begun.config, agent)
    if side_by_side is not None:
        settings = replace(settings, environments=side_by_side)
    fields = {"tasks": names, "domain": None, "gym": place, "agent": agent, "settings": settings}
    return _order(asked, begun, given, trees, fields, limit, solved_return(Preset.FAST))


def _gym_settings(asked: Arguments, place: GymPlace, begun: RunConfig | None, agent: str) -> Any:
    """The settings that are asked for, or those that fit observations and lengths of episodes."""
    if begun is not None and asked.settings is None and asked.network is None:
        return begun.settings
    codec, learns = place.interface.observations, isinstance(asked, LearnArguments)
    longest = min((limit for limit in (asked.max_steps, place.interface.limit) if limit is not None), default=None)
    whole: Any = (
        begun.settings if begun is not None
        else lhrm_gymnasium(codec, longest) if learns
        else usual_settings(agent_kind(agent), codec, longest)
    )  # fmt: skip
    usual, own = whole, whole.agent if learns else whole  # what observations decide is the agent's, a part of LHRM's

    def changed(own: Any) -> Any:
        nonlocal whole
        whole = _changed(asked, replace(usual, agent=own) if learns else own, agent)
        return whole.agent if learns else whole

    change = changed if callable(asked.settings) else None if asked.settings is None else changed(own)
    own = settled(change, own, asked.network, codec.shape)
    return replace(whole, agent=own) if learns else own


# -- anywhere


def _order(
    asked: Arguments,
    begun: Begun,
    given: Given,
    hierarchies: Mapping[str, Hierarchy],
    fields: dict[str, Any],
    limit: RunBudget,
    stop_at: float,
) -> RunOrder:
    """The order of a run, of which the place, the tasks, the settings and the usual limits are known."""
    seed, trains_bank, learner = 0, False, None
    if (before := begun.config) is not None:
        limit, stop_at, seed, trains_bank = before.budget, before.stop_at, before.seed, before.trains_bank
    if isinstance(asked, LearnArguments):
        learner = _learner_name(asked.learner, before)
        given = given if isinstance(asked.learner, str) else replace(given, learner=asked.learner)
        if asked.noise is not None:
            fields["settings"] = replace(fields["settings"], noise=asked.noise)
    elif asked.trains_bank is not None:
        trains_bank = asked.trains_bank
    config = RunConfig(
        **fields,
        learner=learner,
        seed=seed if asked.seed is None else asked.seed,
        bank=None if given.bank is None else given.bank.digest,
        trains_bank=trains_bank,
        budget=asked.budget if asked.budget.is_limited else limit,
        stop_at=stop_at if asked.stop_at is None else asked.stop_at,
    )
    return RunOrder(begun.folder, config, hierarchies, given)


def _task(asked: TrainArguments, begun: Begun, read: Callable[[str], tuple[str, Hierarchy]]) -> tuple[str, Hierarchy]:
    """The name and the hierarchy of the task that is trained; `read` reads those of a name, or of an expression."""
    if isinstance(asked.task, str):
        name, tree = read(asked.task)
    elif begun.config is None:
        assert asked.task is not None, "a new run has a task"
        name, tree = asked.task.root, asked.task
    else:
        name = begun.config.task
        tree = begun.hierarchies[name] if asked.task is None else asked.task
    return asked.name or name, tree


def _short(text: str) -> str:
    """An expression as the name of its task, unless it is too long to be part of the names of files."""
    return text if len(file_name(text)) <= LONGEST_NAME else "task"


def _agent(asked: Arguments, begun: Begun) -> str:
    if isinstance(asked, LearnArguments):
        return HIERARCHICAL
    if begun.config is None:
        return asked.agent or HIERARCHICAL
    if asked.agent not in (None, begun.config.agent):  # the settings of another agent are none of this run
        message = f"agent is {begun.config.agent}, not {asked.agent}"
        raise RewardMachineError(f"{begun.folder.path}: the run was begun with other settings: {message}")
    return begun.config.agent


def _changed(asked: Arguments, usual: Any, agent: str) -> Any:
    """The settings that are asked for: the usual ones, what a function makes of them, or others.

    Raises:
        RewardMachineError: These are settings of something else.
    """
    learns, given = isinstance(asked, LearnArguments), asked.settings
    settings = usual if given is None else given(usual) if callable(given) else given
    wanted = RunConfig.settings_type(agent, EXACT if learns else None)
    if not isinstance(settings, wanted):
        whose, kind = "LHRM" if learns else agent, type(settings).__name__
        raise RewardMachineError(f"the settings of {whose} are a {wanted.__name__}, not a {kind}")
    return settings


def _learner_name(learner: MachineLearner | str | None, begun: RunConfig | None) -> str:
    """The name of a learner: as it is registered, or that of its class."""
    if learner is None:
        return EXACT if begun is None or begun.learner is None else begun.learner
    if isinstance(learner, str):
        check_learner(learner)
        return learner
    return type(learner).__name__


# -- several seeds


def orders_of_seeds(order: RunOrder, seeds: int, *, own_instances: bool = False) -> list[RunOrder]:
    """The orders of runs that differ in nothing but their seeds, and their instances if these are their own.

    Args:
        order: The order of the first of them, whose folder is the common beginning of the names of their folders.
        seeds: The number of runs, with consecutive seeds.
        own_instances: Whether each run has instances of its own: seed r those of run number r (`instance_seed_of`), as
            in the paper. Otherwise all have the same instances.

    Raises:
        RewardMachineError: There are no runs, or no such instances, or the order asks for others.
    """
    if seeds < 1:
        raise RewardMachineError(f"at least one seed is needed, not {seeds}")
    place = order.config.domain
    if place is None:
        raise RewardMachineError("several seeds: only runs in domains go side by side; run them one after the other")
    if own_instances and place.fresh:
        raise RewardMachineError("fresh instances are common to all seeds: leave out instances of their own")
    if own_instances and place.instance_seed != BASE_SEED:
        raise RewardMachineError("seeds with instances of their own have no common seed of instances: leave it out")
    found = []
    for seed in range(order.config.seed, order.config.seed + seeds):
        own = replace(place, instance_seed=instance_seed_of(seed)) if own_instances else place
        config = replace(order.config, seed=seed, domain=own)
        found.append(replace(order, folder=folder_of_seed(order.folder, seed), config=config))
    return found


# -- carrying out


def carry_out(orders: Sequence[RunOrder], *, is_watched: bool = True) -> Generator[tuple[int, Chunk]]:
    """Carries out one order, or several side by side, and yields every chunk.

    If the generator is closed before the end, checkpoints are written.

    Args:
        orders: The orders, whose configs differ in seeds and instances only.
        is_watched: Whether a run that gets nowhere is diagnosed, in a warning and in its folder.

    Yields:
        The number of a run, and a chunk of it.

    Raises:
        RewardMachineError: A run cannot begin or go on, or the runs have different tasks or settings.
    """
    for order in orders:
        if order.resume:
            diagnosis_of_run(order.folder.diagnosis)  # what is damaged is said now, not when the run has ended
        else:
            order.folder.check_free()
    with ExitStack() as stack:
        runs = []
        for order in orders:
            session = _session(order, stack.enter_context(Solvers()))
            stack.enter_context(closing(session))
            write = partial(order.folder.write_config, order.config, order.hierarchies, order.given.bank)
            runs.append(RunInFolder(order.folder, session, write))
        # Tasks of a domain are known to be learnable; for other environments, this is the first question.
        watches = [RunWatch(run) for run in runs if is_watched and run.session.config.gym is not None]
        with closing(chunks_in_folders(runs, resume=orders[0].resume, keeps=orders[0].keeps)) as chunks:
            for number, chunk in chunks:
                if watches:
                    watches[number].note(chunk)
                yield number, chunk
        for watch in watches:
            watch.conclude()


def _session(order: RunOrder, solvers: Solvers) -> Session:
    """The run in memory, with the learner and the functions that its config names."""
    given, config, where = order.given, order.config, str(order.folder.path)
    if config.learner is not None and config.trains_policies:
        given = replace(given, learner=_learner(config.learner, given.learner, order, solvers))
    if config.gym is not None and given.encode is None:
        given = replace(given, encode=config.gym.interface.encode(where))
    session = Session(config, order.hierarchies, given, solvers, where=where)
    if order.resume:
        session.suite.check(given.encode, where)
    return session


def _learner(name: str, given: MachineLearner | None, order: RunOrder, solvers: Solvers) -> MachineLearner:
    """The learner of machines: the given object, or the learner of a name.

    Raises:
        RewardMachineError: It is another learner, or none of that name is known.
    """
    where = str(order.folder.path)
    if given is not None:
        if type(given).__name__ != name:
            message = f"the run was begun with the learner '{name}', not '{type(given).__name__}'"
            raise RewardMachineError(f"{where}: {message}")
        return given
    if order.resume and name not in learner_names():
        message = f"{where}: the run was begun with the learner '{name}', which is not known here"
        raise RewardMachineError(f"{message}: register it, or give it again with learner=")
    return make_learner(name, solvers)
