"""Orders to train or to learn: arguments of people become the config of a run, which is then carried out.

An argument that is not given has its default or, in a resumed run, the value with which the run was begun. What is
given to a run that goes on is read as for a new one, and must come to the same config, limits apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.agents.bank.files import any_bank
from rewardmachines.agents.bank.task import task_with_bank
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.agents.presets import Preset, preset, published_episodes, solved_return
from rewardmachines.agents.registry import agent_kind
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.envs.domain import BASE_SEED, Domain
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.gymnasium.checked_envs import AnyVectorEnv
from rewardmachines.envs.gymnasium.checks import read_labels
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.scenarios import Scenario, fresh_fields, instance_seed_of
from rewardmachines.files.overrides import with_named
from rewardmachines.files.writing import file_name
from rewardmachines.language import compile_task
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.config import Callables, LhrmConfig
from rewardmachines.lhrm.learners import EXACT, MachineLearner, check_learner, learner_names, make_learner
from rewardmachines.lhrm.presets import lhrm_gymnasium, lhrm_preset, published_learning_episodes
from rewardmachines.library import domain_names
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.rollout.gym_settings import settled, usual_settings
from rewardmachines.rollout.interface import Encode
from rewardmachines.rollout.suite import ranked
from rewardmachines.rollout.vector_environments import VectorSuite, vector_of
from rewardmachines.runs.config import HIERARCHICAL, LONGEST_NAME, DomainPlace, GymEnvRecord, GymPlace, RunConfig
from rewardmachines.runs.config_file import check_same
from rewardmachines.runs.diagnosis import RunWatch, diagnosis_of_run
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.gym_makers import environment_of, name_of_maker
from rewardmachines.runs.journal import Chunk, RunInFolder, chunks_in_folders
from rewardmachines.runs.session import Given, Session
from rewardmachines.runs.stopping import RunBudget

STEPS: Final = 2_000_000
"""The steps that training may take, if no limit is given."""
Fresh = Literal["fresh"]
AskedSettings = Any
"""Settings that are asked for: all of them; values by the names of those that change; a function that changes the usual
ones; or None for the usual ones."""


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
class RunLimits:
    """The limits of a run. None stands for the default, or for the limit with which a resumed run was begun."""

    steps: int | None = None
    episodes: int | None = None
    seconds: float | None = None
    stop_at: float | None = None

    @property
    def budget(self) -> RunBudget:
        """The limits of what the run may take."""
        return RunBudget(self.steps, self.episodes, self.seconds)

    def fields(self, begun: RunConfig | None, usual: RunBudget, stop_at: float) -> dict[str, Any]:
        """The fields of a config that say when a run ends: what is asked for, what was, or what is usual."""
        if begun is not None:
            usual, stop_at = begun.budget, begun.stop_at
        return {
            "budget": self.budget if self.budget.is_limited else usual,
            "stop_at": stop_at if self.stop_at is None else self.stop_at,
        }


@dataclass(frozen=True)
class TrainArguments:
    """The arguments of training. None stands for the default, or for the value with which a resumed run was begun."""

    where: Any = None
    task: str | Hierarchy | None = None
    agent: str | None = None
    setting: str | None = None
    preset: Preset | str | None = None
    settings: AskedSettings = None
    network: NetworkConfig | None = None
    seed: int | None = None
    instances: int | Fresh | None = None
    instance_seed: int | None = None
    max_steps: int | None = None
    name: str | None = None
    """The name of the task; the expression or the hierarchy's root, if not given."""
    labels: Iterable[Iterable[str]] | None = None
    encode: Encode | None = None
    bank: Bank | str | Path | None = None
    trains_bank: bool | None = None
    limits: RunLimits = RunLimits()


@dataclass(frozen=True)
class LearnArguments:
    """The arguments of learning. None stands for the default, or for the value with which a resumed run was begun."""

    where: Any = None
    tasks: Sequence[str] | str | None = None
    """The tasks of the domain; all, if not given."""
    setting: str | None = None
    preset: Preset | str | None = None
    settings: AskedSettings = None
    network: NetworkConfig | None = None
    seed: int | None = None
    instances: int | Fresh | None = None
    instance_seed: int | None = None
    max_steps: int | None = None
    noise: float | None = None
    label_noise: float | None = None
    outcome_noise: float | None = None
    encode: Encode | None = None
    learner: MachineLearner | str | None = None
    bank: Bank | str | Path | None = None
    limits: RunLimits = RunLimits()


@dataclass(frozen=True)
class Begun:
    """The config, hierarchies and bank with which the run in a folder was begun."""

    config: RunConfig
    hierarchies: Mapping[str, Hierarchy]
    bank: Bank | None


def train_order(asked: TrainArguments, folder: RunFolder, *, resume: bool, keeps: bool = True) -> RunOrder:
    """The order to train, in a new folder or in one that holds a run.

    Raises:
        RewardMachineError: Something is missing or does not fit, there is a run already, or none to resume, or it was
            begun with something else.
    """
    asked = replace(asked, settings=_by_name(asked.settings, within=None))
    begun = _begun(folder, learns=False) if resume else None
    if begun is None:
        folder.check_free()
        if asked.task is None:
            raise RewardMachineError("say what is to be done: a task of the domain, an expression, or a hierarchy")
    if _is_in_domain(asked, folder, begun):
        order = _train_in_domain(asked, folder, begun)
    else:
        order = _train_in_gym(asked, folder, begun)
    return _checked(replace(order, keeps=keeps), begun)


def learn_order(asked: LearnArguments, folder: RunFolder, *, resume: bool, keeps: bool = True) -> RunOrder:
    """The order to learn, in a new folder or in one that holds a run.

    Raises:
        RewardMachineError: Something is missing or does not fit, there is a run already, or none to resume, or it was
            begun with something else.
    """
    asked = replace(asked, settings=_by_name(asked.settings, within="agent"))
    begun = _begun(folder, learns=True) if resume else None
    if begun is None:
        folder.check_free()
    if _is_in_domain(asked, folder, begun):
        order = _learn_in_domain(asked, folder, begun)
    else:
        order = _learn_in_gym(asked, folder, begun)
    return _checked(replace(order, keeps=keeps), begun)


def _begun(folder: RunFolder, *, learns: bool) -> Begun:
    config, hierarchies = folder.read_config()
    if not config.trains_policies:
        raise RewardMachineError(f"{folder.path}: this is a run of {config.learner}: go on with it by a study")
    if config.learns_machines and not learns:
        raise RewardMachineError(f"{folder.path}: this run learns machines: go on with it by learn, not by train")
    if learns and not config.learns_machines:
        raise RewardMachineError(f"{folder.path}: this is a run of training: go on with it by train, not by learn")
    return Begun(config, hierarchies, folder.read_bank(config))


def _checked(order: RunOrder, begun: Begun | None) -> RunOrder:
    """The order, if it does not contradict what the run was begun with."""
    if begun is None:
        return order
    where = str(order.folder.path)
    check_same(order.config, begun.config, where)
    if order.hierarchies != begun.hierarchies:
        raise RewardMachineError(f"{where}: the run was begun with another hierarchy")
    return replace(order, resume=True)


# -- where


def is_domain(where: Any) -> bool:
    """Whether a place is a domain, by its name or as a value."""
    return isinstance(where, Domain) or (
        isinstance(where, str) and where.casefold() in map(str.casefold, domain_names())
    )


def _is_in_domain(asked: TrainArguments | LearnArguments, folder: RunFolder, begun: Begun | None) -> bool:
    """Whether a run takes place in a domain, and not in Gymnasium environments.

    Raises:
        RewardMachineError: The run that is resumed was begun in the other of the two, or nothing says where to act; or
            an argument is given that only the other has.
    """
    if begun is None and asked.where is None and asked.bank is None:
        raise RewardMachineError("say where to act: a domain such as craftworld, or an environment")
    is_inside = asked.where is None or is_domain(asked.where)
    if begun is not None:
        was_inside = begun.config.domain is not None
        if asked.where is not None and is_inside != was_inside:
            raise RewardMachineError(f"{folder.path}: the run was begun in {begun.config.place.title}, not elsewhere")
        is_inside = was_inside
    others: tuple[str, ...] = ("labels", "encode", "network")
    if not is_inside:
        others = ("setting", "preset", "tasks", "instance_seed", "label_noise", "outcome_noise", "bank", "trains_bank")
        if asked.instances == "fresh":
            raise RewardMachineError("fresh instances: only domains have them; leave out instances for any beginning")
    if given := [name for name in others if getattr(asked, name, None) is not None]:
        have = "only Gymnasium environments have it, not domains" if is_inside else "only domains have it"
        raise RewardMachineError(f"{given[0]}: {have}")
    return is_inside


def domain_place(
    asked: TrainArguments | LearnArguments, bank: Bank | None = None, begun: DomainPlace | None = None
) -> DomainPlace:
    """The place of a run in a domain.

    Args:
        asked: Domain, setting, instances and the length of episodes, as far as they are given.
        bank: The bank of skills, whose domain and setting are taken where none is given.
        begun: The place of a run that is resumed.

    Raises:
        RewardMachineError: The domain or the setting does not exist.
    """
    where, setting = asked.where, asked.setting
    if begun is not None:
        where, setting = where or begun.domain, setting or begun.setting
    elif where is None and bank is not None:
        where, setting = bank.domain, setting or bank.setting
    known = where if isinstance(where, Domain) else find_domain(where)
    chosen = known.default_setting if setting is None else known.setting_name(setting)
    place = replace(begun or DomainPlace(known.name, chosen), domain=known.name, setting=chosen)
    if asked.instances == "fresh":
        fields: dict[str, Any] = fresh_fields(known, chosen)
        place = replace(place, **fields)
    elif asked.instances is not None:
        place = replace(place, instances=asked.instances, fresh=0)
    if asked.instance_seed is not None:
        place = replace(place, instance_seed=asked.instance_seed)
    if isinstance(asked, LearnArguments):
        given = {"labels": asked.label_noise, "outcomes": asked.outcome_noise}
        rates = {what: rate for what, rate in given.items() if rate is not None}
        place = replace(place, noise=replace(place.noise, **rates))
    return place if asked.max_steps is None else replace(place, max_steps=asked.max_steps)


def gym_tasks_of(where: Any, instances: int | None) -> list[GymTask]:
    """The tasks to be learned in Gymnasium environments.

    Args:
        where: The environment of each task by its name, with its level if that is not 1; or a list of `GymTask`; or the
            function that makes the environment of the only task, or its name.
        instances: The number of fixed beginnings of tasks that do not say it themselves; any beginnings, if not given.

    Raises:
        RewardMachineError: These are no tasks.
    """
    tasks = None
    if callable(where) or (isinstance(where, str) and ":" in where):
        where = {_name_of_task(where): where}
    if isinstance(where, Mapping):
        pairs = [(name, one if isinstance(one, tuple) else (one, 1)) for name, one in where.items()]
        if all(isinstance(name, str) and len(one) == 2 and type(one[1]) is int for name, one in pairs):
            tasks = [GymTask(name, level, environment_of(env)[0]) for name, (env, level) in pairs]
    elif isinstance(where, Iterable) and not isinstance(where, str):
        given = list(where)
        if all(isinstance(task, GymTask) for task in given):
            tasks = [replace(task, make_env=environment_of(task.make_env)[0]) for task in given]
    if tasks is None:
        form = "an environment for each task is given as {'hut': make_hut, 'round': (make_round, 2)}"
        if isinstance(where, str):
            known = domain_names()
            hint = suggestion(where, known) or f"; there are {', '.join(known)}"
            raise RewardMachineError(f"there is no domain '{where}'{hint}; {form}")
        raise RewardMachineError(f"say where to act: a domain, or {form}")
    return [replace(task, instances=task.instances or instances) for task in tasks]


def _name_of_task(where: Any) -> str:
    """The name of the only task: that of the function that makes its environment, without `make_`."""
    name = getattr(where, "__name__", where if isinstance(where, str) else "").rpartition(":")[2].rpartition(".")[2]
    return name.removeprefix("make_") if name.isidentifier() else "task"


def gym_place(
    tasks: Sequence[GymTask],
    encode: Encode | None = None,
    max_steps: int | None = None,
    labels: Any = None,
    vector: AnyVectorEnv | None = None,
) -> GymPlace:
    """The place of a run in Gymnasium environments, of which one each is made and closed; or in a vector environment.

    Args:
        tasks: The tasks.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
        max_steps: Steps after which an episode is truncated (default 1000).
        labels: The labels that can be seen; any, if not given.
        vector: The vector environment that is stepped as it is, if one is.

    Raises:
        RewardMachineError: There is no task, or the environments do not fit together.
    """
    longest = MAX_STEPS if max_steps is None else max_steps
    if vector is None:
        suite = GymSuite(tasks, encode=encode, max_steps=longest)
    else:
        suite = VectorSuite(vector, tasks[0], encode=encode)
    records = (GymEnvRecord(one.name, one.level, one.instances, name_of_maker(one.make_env)) for one in suite.gym_tasks)
    shown = _label_records(labels, suite.propositions)
    return GymPlace(tuple(records), suite.interface, shown, longest, is_vector=vector is not None)


def _label_records(labels: Any, propositions: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    seen = None if labels is None else read_labels(labels, propositions)
    return None if seen is None else tuple(tuple(sorted(label)) for label in seen)


def _begun_place(asked: TrainArguments | LearnArguments, begun: GymPlace) -> GymPlace:
    """The place of a run that goes on where its config says, with what is asked for beside it."""
    labels = getattr(asked, "labels", None)
    shown = begun.labels if labels is None else _label_records(labels, begun.interface.propositions)
    place = replace(begun, labels=shown, max_steps=begun.max_steps if asked.max_steps is None else asked.max_steps)
    if asked.instances is None:
        return place
    records = tuple(replace(record, instances=_beginnings(asked)) for record in place.environments)
    return replace(place, environments=records)


def _beginnings(asked: TrainArguments | LearnArguments) -> int | None:
    return None if asked.instances == "fresh" else asked.instances


# -- training


def _train_in_domain(asked: TrainArguments, folder: RunFolder, begun: Begun | None) -> RunOrder:
    before = None if begun is None else begun.config
    bank = _bank(asked.bank, begun, folder)
    place = domain_place(asked, bank, None if before is None else before.domain)
    agent, name = _agent(asked, before, folder), _preset(asked.preset)
    if before is not None and asked.preset is None:
        usual = before.settings
    else:
        usual = preset(name, place.domain, place.setting, agent, fresh=place.fresh > 0)
        if bank is not None:  # greedy episodes of a new task may be longer than those that the preset knows
            usual = replace(bank.fitted(usual), evaluate_steps=None)
    settings = _changed(asked.settings, usual, agent)
    scenario = place.with_instances().scenario(settings.observation)
    task, tree = _task(asked, begun, lambda text: _domain_task(scenario, bank, text))
    limit = RunBudget(STEPS)
    if name is Preset.PAPER:
        limit = RunBudget(episodes=published_episodes(place.setting, place.domain))
    config = RunConfig(
        tasks=(task,),
        domain=place,
        gym=None,
        learner=None,
        agent=agent,
        settings=settings,
        seed=_seed(asked.seed, before),
        bank=None if bank is None else bank.digest,
        trains_bank=_trains_bank(asked, before),
        **asked.limits.fields(before, limit, solved_return(name)),
    )
    return RunOrder(folder, config, {task: tree}, Given(bank=bank))


def _trains_bank(asked: TrainArguments, begun: RunConfig | None) -> bool:
    if asked.trains_bank is None:
        return begun is not None and begun.trains_bank
    return asked.trains_bank


def _task(
    asked: TrainArguments, begun: Begun | None, read: Callable[[str], tuple[str, Hierarchy]]
) -> tuple[str, Hierarchy]:  # fmt: skip
    """The name and the hierarchy of the task that is trained.

    Args:
        asked: The arguments.
        begun: The config, hierarchies and bank with which a resumed run was begun.
        read: Reads a task by its name, or an expression: its name, and its hierarchy.
    """
    if isinstance(asked.task, str):
        name, tree = read(asked.task)
        return asked.name or name, tree
    if asked.task is not None:
        known = asked.task.root if begun is None else begun.config.task
        return asked.name or known, asked.task
    assert begun is not None, "a new run has a task"
    return asked.name or begun.config.task, begun.hierarchies[begun.config.task]


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


def _short(text: str) -> str:
    """An expression as the name of its task, unless it is too long to be part of the names of files."""
    return text if len(file_name(text)) <= LONGEST_NAME else "task"


def _train_in_gym(asked: TrainArguments, folder: RunFolder, begun: Begun | None) -> RunOrder:
    before, side_by_side, given = None if begun is None else begun.config, None, Given(encode=asked.encode)
    name, tree = _task(asked, begun, lambda text: (_short(text), compile_task(text)))
    if before is not None and before.gym is not None and asked.where is None:
        place = _begun_place(asked, before.gym)
    else:
        make_env, side_by_side = environment_of(asked.where)
        one_by_one = asked.instances is not None or asked.max_steps is not None
        if before is not None and before.gym is not None:
            one_by_one = not before.gym.is_vector
        given = replace(given, envs={name: make_env}, vector=vector_of(asked.where, one_by_one=one_by_one))
        task = GymTask(name, 1, make_env, _beginnings(asked), tree)
        place = _given_place([task], asked, before, folder, given.vector)
    agent, codec = _agent(asked, before, folder), place.interface.observations
    if before is not None and asked.settings is None and asked.network is None:
        settings = before.settings
    else:
        limit, change = _episode_limit(asked, place), asked.settings
        usual = usual_settings(agent_kind(agent), codec, limit) if before is None else before.settings
        if callable(change):
            settings = settled(lambda own: _changed(change, own, agent), usual, asked.network, codec.shape)
        else:
            asked_for = None if change is None else _changed(change, usual, agent)
            settings = settled(asked_for, usual, asked.network, codec.shape)
    if side_by_side is not None:
        settings = replace(settings, environments=side_by_side)
    config = RunConfig(
        tasks=(name,),
        domain=None,
        gym=replace(place, environments=tuple(replace(one, task=name) for one in place.environments)),
        learner=None,
        agent=agent,
        settings=settings,
        seed=_seed(asked.seed, before),
        **asked.limits.fields(before, RunBudget(STEPS), solved_return(Preset.FAST)),
    )
    return RunOrder(folder, config, {name: tree}, given)


def _given_place(
    tasks: Sequence[GymTask],
    asked: TrainArguments | LearnArguments,
    begun: RunConfig | None,
    folder: RunFolder,
    vector: AnyVectorEnv | None = None,
) -> GymPlace:
    """The place of a run whose environments are given, which may be one that is resumed."""
    labels = getattr(asked, "labels", None)
    if begun is None or begun.gym is None:
        return gym_place(tasks, asked.encode, asked.max_steps, labels, vector)
    before = begun.gym
    beginnings = {record.task: record.instances for record in before.environments}
    tasks = [replace(task, instances=task.instances or beginnings.get(task.name)) for task in tasks]
    encode = before.interface.encode(str(folder.path)) if asked.encode is None else asked.encode
    max_steps = before.max_steps if asked.max_steps is None else asked.max_steps
    place = gym_place(tasks, encode, max_steps, before.labels if labels is None else labels, vector)
    return place.with_names_of(before)


def _episode_limit(asked: TrainArguments | LearnArguments, place: GymPlace) -> int | None:
    """Steps after which an episode is truncated, if that is known."""
    return min((limit for limit in (asked.max_steps, place.interface.limit) if limit is not None), default=None)


def _agent(asked: TrainArguments, begun: RunConfig | None, folder: RunFolder) -> str:
    if begun is None:
        return asked.agent or HIERARCHICAL
    if asked.agent not in (None, begun.agent):  # the settings of another agent are none of this run
        message = f"agent is {begun.agent}, not {asked.agent}"
        raise RewardMachineError(f"{folder.path}: the run was begun with other settings: {message}")
    return begun.agent


def _seed(asked: int | None, begun: RunConfig | None) -> int:
    return (0 if begun is None else begun.seed) if asked is None else asked


def _bank(asked: Bank | str | Path | None, begun: Begun | None, folder: RunFolder) -> Bank | None:
    """The bank of skills: the given bank, or that of the resumed run."""
    bank = any_bank(asked)
    if begun is None:
        if bank is not None and bank.path is None:
            raise RewardMachineError("a run needs a bank that is in a folder: save it first")
        return bank
    if bank is not None and bank.digest != begun.config.bank:
        what = "another bank of skills" if begun.bank is not None else "no bank of skills"
        raise RewardMachineError(f"{folder.path}: the run was begun with {what}")
    return begun.bank


def _preset(asked: Preset | str | None) -> Preset:
    try:
        return Preset.FAST if asked is None else Preset(asked)
    except ValueError:
        known = ", ".join(one.value for one in Preset)
        raise RewardMachineError(f"there is no preset '{asked}'; there are {known}") from None


def _by_name(asked: AskedSettings, within: str | None) -> AskedSettings:
    """The settings that are asked for, with a function that changes the usual ones in place of values by name.

    Args:
        asked: The argument.
        within: The part of the settings whose name may be left out.
    """
    if not isinstance(asked, Mapping):
        return asked
    return lambda usual: with_named(usual, asked, within)


def _changed(asked: AskedSettings, usual: Any, agent: str | None = None) -> Any:
    """The settings that are asked for: the usual ones, what a function makes of them, or others.

    Args:
        asked: The argument.
        usual: The usual settings.
        agent: The name of the agent; None for LHRM.

    Raises:
        RewardMachineError: These are settings of something else.
    """
    settings = usual if asked is None else asked(usual) if callable(asked) else asked
    wanted = RunConfig.settings_type(agent or HIERARCHICAL, EXACT if agent is None else None)
    if not isinstance(settings, wanted):
        given = type(settings).__name__
        raise RewardMachineError(f"the settings of {agent or 'LHRM'} are a {wanted.__name__}, not a {given}")
    return settings


# -- learning


def _learn_in_domain(asked: LearnArguments, folder: RunFolder, begun: Begun | None) -> RunOrder:
    before = None if begun is None else begun.config
    bank = _bank(asked.bank, begun, folder)
    place = domain_place(asked, bank, None if before is None else before.domain)
    known, name = find_domain(place.domain), _preset(asked.preset)
    if before is not None and asked.preset is None:
        usual = before.settings
    else:
        usual = lhrm_preset(name, place.domain, place.setting, fresh=place.fresh > 0)
        if bank is not None:
            usual = replace(usual, agent=bank.fitted(usual.agent))
    settings = _tolerant(asked, _changed(asked.settings, usual))
    stop_at = known.settings[place.setting].fresh.solved_return if place.fresh else known.solved_return
    limit = RunBudget()
    if name is Preset.PAPER:
        limit, stop_at = RunBudget(episodes=published_learning_episodes(place.setting, place.domain)), 0.0
    config = RunConfig(
        tasks=_domain_tasks(asked, known, place, bank, before, settings),
        domain=place,
        gym=None,
        learner=_learner_name(asked.learner, before),
        agent=HIERARCHICAL,
        settings=settings,
        seed=_seed(asked.seed, before),
        bank=None if bank is None else bank.digest,
        **asked.limits.fields(before, limit, stop_at),
    )
    return RunOrder(folder, config, {}, Given(bank=bank, learner=_learner_object(asked.learner)))


def _tolerant(asked: LearnArguments, settings: LhrmConfig) -> LhrmConfig:
    """The settings with the share of wrong traces, if it is given."""
    return settings if asked.noise is None else replace(settings, noise=asked.noise)


def _domain_tasks(
    asked: LearnArguments,
    domain: Domain,
    place: DomainPlace,
    bank: Bank | None,
    begun: RunConfig | None,
    settings: LhrmConfig,
) -> tuple[str, ...]:
    """The names of the tasks, lowest level first."""
    if asked.tasks is not None:
        names = [domain.task_name(task) for task in ([asked.tasks] if isinstance(asked.tasks, str) else asked.tasks)]
    elif begun is not None:
        names = [*begun.tasks]
    else:
        names = [task for task in domain.tasks if bank is None or task not in bank.names]
    if len(set(names)) < len(names) or not names or settings.callables is Callables.NONE:
        return tuple(names)  # on one level; or `RunConfig` says what is wrong
    return tuple(task.name for task in ranked(place.levels(names)))


def _learner_name(learner: MachineLearner | str | None, begun: RunConfig | None) -> str:
    """The name of a learner: as it is registered, or that of its class."""
    if learner is None:
        return EXACT if begun is None or begun.learner is None else begun.learner
    if isinstance(learner, str):
        check_learner(learner)
        return learner
    return type(learner).__name__


def _learner_object(learner: MachineLearner | str | None) -> MachineLearner | None:
    return None if isinstance(learner, str) else learner


def _learn_in_gym(asked: LearnArguments, folder: RunFolder, begun: Begun | None) -> RunOrder:
    before, given = None if begun is None else begun.config, Given(encode=asked.encode)
    if before is not None and before.gym is not None and asked.where is None:
        place = _begun_place(asked, before.gym)
    else:
        tasks = gym_tasks_of(asked.where, _beginnings(asked))
        given = replace(given, envs={task.name: task.make_env for task in tasks})
        place = _given_place(tasks, asked, before, folder)
    config = RunConfig(
        tasks=tuple(record.task for record in place.environments),
        domain=None,
        gym=place,
        learner=_learner_name(asked.learner, before),
        agent=HIERARCHICAL,
        settings=_tolerant(asked, _gym_learning_settings(asked, place, before)),
        seed=_seed(asked.seed, before),
        **asked.limits.fields(before, RunBudget(), solved_return(Preset.FAST)),
    )
    return RunOrder(folder, config, {}, replace(given, learner=_learner_object(asked.learner)))


def _gym_learning_settings(asked: LearnArguments, place: GymPlace, begun: RunConfig | None) -> LhrmConfig:
    """The settings that are asked for, or those that fit observations and lengths of episodes."""
    codec, change = place.interface.observations, asked.settings
    if begun is not None:
        usual: LhrmConfig = begun.settings
        if change is None and asked.network is None:
            return usual
    else:
        usual = lhrm_gymnasium(codec, _episode_limit(asked, place))
    if not callable(change):
        agent = settled(
            None if change is None else _changed(change, usual).agent, usual.agent, asked.network, codec.shape
        )
        return replace(change or usual, agent=agent)
    changed: list[LhrmConfig] = []

    def changed_agent(agent: Any) -> Any:
        changed.append(_changed(change, replace(usual, agent=agent)))
        return changed[-1].agent

    agent = settled(changed_agent, usual.agent, asked.network, codec.shape)
    return replace(changed[-1], agent=agent)


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


def folder_of_seed(folder: RunFolder, seed: int) -> RunFolder:
    """The folder of one of several seeds: its name is that of the given folder, and the seed."""
    if not folder.path.name:
        raise RewardMachineError(f"{folder.path}: folders of several seeds need a name, such as runs/mine")
    return RunFolder(folder.path.parent / f"{folder.path.name}-{seed}")


def folders_of_seeds(folder: RunFolder) -> dict[int, RunFolder]:
    """The runs of several seeds that were begun, by their seeds; `folder` is the common beginning of their names."""
    found, prefix = dict[int, RunFolder](), f"{folder.path.name}-"
    for path in folder.path.parent.iterdir() if folder.path.parent.is_dir() else ():
        number = path.name.removeprefix(prefix)
        is_seed = path.name.startswith(prefix) and number.isdecimal() and number.isascii()
        if is_seed and RunFolder(path).config.exists():
            found[int(number)] = RunFolder(path)
    return dict(sorted(found.items()))


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
            runs.append(RunInFolder(order.folder, session, _writer(order)))
        # Tasks of a domain are known to be learnable; for other environments, this is the first question.
        watches = [RunWatch(run) for run in runs if is_watched and run.session.config.gym is not None]
        chunks = chunks_in_folders(runs, resume=orders[0].resume, keeps=orders[0].keeps)
        with closing(chunks):
            for number, chunk in chunks:
                if watches:
                    watches[number].note(chunk)
                yield number, chunk
        for watch in watches:
            watch.conclude()


def _writer(order: RunOrder) -> Callable[[], None]:
    return lambda: order.folder.write_config(order.config, order.hierarchies, order.given.bank)


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
