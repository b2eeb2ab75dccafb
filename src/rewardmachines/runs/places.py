"""Places of runs: arguments that say where it happens become the record of a domain, or of Gymnasium environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.envs.domain import Domain
from rewardmachines.envs.episodes import MAX_STEPS
from rewardmachines.envs.gymnasium.checked_envs import AnyVectorEnv
from rewardmachines.envs.gymnasium.checks import read_labels
from rewardmachines.envs.registry import domain as find_domain
from rewardmachines.envs.scenarios import fresh_fields
from rewardmachines.library import domain_names
from rewardmachines.rollout.gym_driver import GymSuite, GymTask
from rewardmachines.rollout.interface import Encode
from rewardmachines.rollout.vector_environments import VectorSuite
from rewardmachines.runs.config import DomainPlace, GymEnvRecord, GymPlace, RunConfig
from rewardmachines.runs.gym_makers import environment_of, name_of_maker

Fresh = Literal["fresh"]


@dataclass(frozen=True)
class PlaceArguments:
    """The arguments that say where a run takes place, as `rm.train` and `rm.learn` describe them."""

    where: Any = None
    _: KW_ONLY
    setting: str | None = None
    instances: int | Fresh | None = None
    instance_seed: int | None = None
    max_steps: int | None = None
    label_noise: float | None = None
    outcome_noise: float | None = None
    labels: Iterable[Iterable[str]] | None = None
    encode: Encode | None = None
    bank: Bank | str | Path | None = None
    """The bank of skills, which was learned in a place."""

    @property
    def beginnings(self) -> int | None:
        """The number of fixed beginnings in a Gymnasium environment, where there are no fresh instances."""
        return None if self.instances == "fresh" else self.instances


def is_domain(where: Any) -> bool:
    """Whether a place is a domain, by its name or as a value."""
    return isinstance(where, Domain) or (
        isinstance(where, str) and where.casefold() in map(str.casefold, domain_names())
    )


def is_in_domain(asked: PlaceArguments, begun: RunConfig | None, folder: str) -> bool:
    """Whether a run takes place in a domain, and not in Gymnasium environments.

    Args:
        asked: All arguments of the run.
        begun: The config of a run that is resumed.
        folder: The folder of that run, for messages.

    Raises:
        RewardMachineError: The run that is resumed was begun in the other of the two, or nothing says where to act; or
            an argument is given that only the other has.
    """
    if begun is None and asked.where is None and asked.bank is None:
        raise RewardMachineError("say where to act: a domain such as craftworld, or an environment")
    is_inside = asked.where is None or is_domain(asked.where)
    if begun is not None:
        was_inside = begun.domain is not None
        if asked.where is not None and is_inside != was_inside:
            raise RewardMachineError(f"{folder}: the run was begun in {begun.place.title}, not elsewhere")
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


def domain_place(asked: PlaceArguments, bank: Bank | None = None, begun: DomainPlace | None = None) -> DomainPlace:
    """The place of a run in a domain.

    Args:
        asked: Domain, setting, instances, noise and the length of episodes, as far as they are given.
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
    fields: dict[str, Any] = {"instance_seed": asked.instance_seed, "max_steps": asked.max_steps}
    if asked.instances == "fresh":
        fields = {**fresh_fields(known, chosen), **_given(**fields)}
    elif asked.instances is not None:
        fields |= {"instances": asked.instances, "fresh": 0}
    rates = _given(labels=asked.label_noise, outcomes=asked.outcome_noise)
    return replace(place, noise=replace(place.noise, **rates), **_given(**fields))


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


# -- Gymnasium environments


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
    asked: PlaceArguments,
    vector: AnyVectorEnv | None = None,
    begun: GymPlace | None = None,
    folder: str = "",
) -> GymPlace:
    """The place of a run in Gymnasium environments, of which one each is made and closed; or in a vector environment.

    Args:
        tasks: The tasks.
        asked: Labels, encoding, and the length of episodes, as far as they are given.
        vector: The vector environment that is stepped as it is, if one is.
        begun: The place of a run that is resumed.
        folder: The folder of that run, for messages.

    Raises:
        RewardMachineError: There is no task, or the environments do not fit together.
    """
    encode, labels, longest = asked.encode, asked.labels, MAX_STEPS
    if begun is not None:
        beginnings = {record.task: record.instances for record in begun.environments}
        tasks = [replace(task, instances=task.instances or beginnings.get(task.name)) for task in tasks]
        encode = begun.interface.encode(folder) if encode is None else encode
        labels = begun.labels if labels is None else labels
        longest = begun.max_steps
    longest = longest if asked.max_steps is None else asked.max_steps
    if vector is None:
        suite = GymSuite(tasks, encode=encode, max_steps=longest)
    else:
        suite = VectorSuite(vector, tasks[0], encode=encode)
    records = (GymEnvRecord(one.name, one.level, one.instances, name_of_maker(one.make_env)) for one in suite.gym_tasks)
    shown = _label_records(labels, suite.propositions)
    place = GymPlace(tuple(records), suite.interface, shown, longest, is_vector=vector is not None)
    return place if begun is None else place.with_names_of(begun)


def gym_place_again(asked: PlaceArguments, begun: GymPlace, *tasks: str) -> GymPlace:
    """The place of a run that goes on where its config says, with what is asked for beside it, and names of tasks."""
    records = begun.environments
    if tasks:
        records = tuple(replace(record, task=task) for record, task in zip(records, tasks, strict=True))
    if asked.instances is not None:
        records = tuple(replace(record, instances=asked.beginnings) for record in records)
    fields = _given(labels=_label_records(asked.labels, begun.interface.propositions), max_steps=asked.max_steps)
    return replace(begun, environments=records, **fields)


def _label_records(labels: Any, propositions: Sequence[str]) -> tuple[tuple[str, ...], ...] | None:
    if labels is None:
        return None
    return tuple(tuple(sorted(label)) for label in read_labels(labels, propositions))
