"""A run on disk, finished or not: its metrics, what it has learned, and its policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rewardmachines.agents.bank.bank import Bank
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy, suggestion
from rewardmachines.core.traversal import Verdict
from rewardmachines.envs.gymnasium.checked_envs import CheckedEnv, checked
from rewardmachines.envs.gymnasium.single import ScenarioEnv
from rewardmachines.envs.scenarios import Scenario
from rewardmachines.files import load, load_traces
from rewardmachines.files.records import from_plain
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.host_state import LhrmState
from rewardmachines.lhrm.induction import TaskProgress
from rewardmachines.rollout.interface import AnyEnv, Encode
from rewardmachines.rollout.policy import Policy, moments
from rewardmachines.rollout.rows import Row, row_check
from rewardmachines.rollout.suite import TaskSpec
from rewardmachines.runs.checkpoint import read_host_state, read_policies
from rewardmachines.runs.config import RunConfig
from rewardmachines.runs.diagnosis import (
    Diagnosis,
    diagnosis_of_run,
    ended_episodes,
    mean_returns,
    what_is_missing,
)
from rewardmachines.runs.folder import RunFolder
from rewardmachines.runs.gym_makers import made
from rewardmachines.runs.journal import TimingRow, read_records
from rewardmachines.runs.session import (
    Given,
    HostState,
    Session,
    evaluated_config,
    suite_of,
)
from rewardmachines.runs.stopping import End, end_of
from rewardmachines.traces import Outcome, Trace

if TYPE_CHECKING:
    from rewardmachines.runs.film import FilmedEpisode

T = TypeVar("T")


@dataclass(frozen=True)
class TaskEvaluation:
    """Greedy episodes of a task, one in each instance."""

    task: str
    returns: tuple[float, ...]
    """The return of the episode in each instance; of several episodes, their mean."""
    lengths: tuple[float, ...]
    """The number of its steps."""

    @property
    def mean_return(self) -> float:
        """The mean over the instances."""
        return float(np.mean(self.returns))


class Run:
    """A run in a folder, which may still be under way. Nothing that it names is imported before it is needed."""

    def __init__(self, folder: str | Path, given: Given | None = None) -> None:
        """Opens the folder of a run.

        Args:
            folder: The folder of the run.
            given: Environments, the function that encodes observations, and the learner of machines, if they cannot
                be found by names.

        Raises:
            RewardMachineError: There is no such run, or it is damaged.
        """
        self.folder = Path(folder)
        self.config: RunConfig
        """The config of the run."""
        self.config, self.given_hierarchies = self.files.read_config()
        self._given = given or Given()
        self._read: dict[str, tuple[object, Any]] = {}
        """The values that were read from files, with the times at which the files were written."""
        self.temporary: Any = None
        """Keeps the folder of a run that was given none, as long as this object lives."""

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}: {self.config.title})"

    @property
    def files(self) -> RunFolder:
        """The paths of the files of the run."""
        return RunFolder(self.folder)

    def _cached(self, name: str, path: Path, read: Callable[[], T]) -> T:
        """The value of a file, which is read again only if the file has changed."""
        status = path.stat()
        written = path, status.st_ino, status.st_mtime_ns, status.st_size
        if name not in self._read or self._read[name][0] != written:
            self._read[name] = written, read()
        found: T = self._read[name][1]
        return found

    @cached_property
    def bank(self) -> Bank | None:
        """The bank of skills that it began with, if it began with one."""
        return self._given.bank or self.files.read_bank(self.config)

    def _begun(self, encode: Encode | None = None) -> Session:
        """The run in memory at its beginning, to look at what was learned."""
        given = replace(self._given, bank=self.bank, encode=encode or self._given.encode)
        return Session(self.config, self.given_hierarchies, given, where=str(self.folder))

    @cached_property
    def _blank(self) -> Session:
        return self._begun()

    @property
    def ranked_tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks, lowest level first."""
        return self.config.ranked_tasks

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first: the order in which rows list them."""
        return self.config.tasks

    @property
    def levels(self) -> dict[str, int]:
        """The level of each task in the curriculum."""
        return {task.name: task.level for task in self.ranked_tasks}

    @cached_property
    def scenario(self) -> Scenario | None:
        """The domain in its setting, with its instances; None in Gymnasium environments."""
        return self.config.scenario()

    # -- files

    @property
    def rows(self) -> list[Row]:
        """The metrics so far, a row for each chunk."""
        return list(read_records(Row, self.files.metrics, row_check(self.tasks, self.config.place.instances)))

    @property
    def timing(self) -> list[TimingRow]:
        """The times at which chunks were done."""
        return list(read_records(TimingRow, self.files.timing))

    @property
    def machines(self) -> dict[str, Hierarchy]:
        """The hierarchies of tasks that have one, given or learned, lowest level first."""
        if not self.config.learns_machines:
            return dict(self.given_hierarchies)
        return {name: load(path) for name in self.tasks if (path := self.files.machine(name)).is_file()}

    def hierarchy(self, task: str) -> Hierarchy:
        """The hierarchy of a task: its machine, and those that it calls.

        Raises:
            RewardMachineError: There is no such task, or no machine of it yet.
        """
        self.check_task(task)
        if (found := self.machines.get(task)) is None:
            raise RewardMachineError(f"{self.folder}: there is no machine of '{task}' yet")
        return found

    @property
    def examples(self) -> dict[str, tuple[Trace, ...]]:
        """The traces that the learned hierarchies must explain, by task."""
        files = {name: self.files.example_file(name) for name in self.tasks}
        return {name: tuple(load_traces(path)) for name, path in files.items() if path.is_file()}

    # -- the state at the last checkpoint

    @property
    def _state_file(self) -> Path | None:
        """The file that holds the last state: a run without checkpoints has it beside its policies."""
        return next((path for path in (self.files.checkpoint, self.files.policies) if path.exists()), None)

    @property
    def state(self) -> HostState:
        """The state of the run that was not on the device, at the last checkpoint or at the beginning."""
        path = self._state_file
        if path is None:
            return self._blank.algorithm_state()
        return self._cached("state", path, lambda: read_host_state(path))

    @property
    def last(self) -> Session:
        """The run at the last checkpoint, without its arrays on the device, so that it cannot go on."""

        def restored() -> Session:
            session = self._begun()
            session.restore_algorithm(self.state, str(path))
            return session

        path = self._state_file
        return self._blank if path is None else self._cached("last", path, restored)

    @property
    def end(self) -> End | None:
        """Why the run has ended, as far as its last checkpoint says; None while it goes on."""
        seconds = timing[-1].seconds if (timing := self.timing) else 0.0
        return end_of(self.config, self.last.algorithm, seconds)

    @property
    def lhrm(self) -> Lhrm | None:
        """LHRM at the last checkpoint; None where hierarchies are given."""
        return self.last.lhrm

    @property
    def _lhrm_state(self) -> LhrmState | None:
        """The state of LHRM at the last checkpoint; None where hierarchies are given."""
        if not self.config.learns_machines or not self.config.trains_policies:
            return None
        path, state = self._state_file, self.state
        where = str(self.folder if path is None else path)

        def read() -> LhrmState:
            found: LhrmState = from_plain(LhrmState, state.algorithm, where)
            return found

        return read() if path is None else self._cached("lhrm", path, read)

    @property
    def progress(self) -> dict[str, TaskProgress]:
        """The progress of learning the machine of each task: its examples, searches and failures."""
        return {} if (learned := self._lhrm_state) is None else dict(learned.progress)

    @property
    def first_machines(self) -> dict[str, int]:
        """Episodes from the beginning of a task's level to its first machine, by task."""
        return {} if (learned := self._lhrm_state) is None else dict(learned.first)

    @property
    def activated(self) -> dict[int, int]:
        """The number of episodes after which each level began, by level."""
        return {1: 0} if (learned := self._lhrm_state) is None else dict(enumerate(learned.activated, start=1))

    @property
    def level(self) -> int:
        """The present level of the curriculum; one more than the highest when all are mastered."""
        return 1 if (learned := self._lhrm_state) is None else learned.curriculum.level

    @property
    def returns(self) -> dict[str, float]:
        """The mean return of each task in the last evaluations, three at most; 0 before the first."""
        return mean_returns(self.tasks, self.state.algorithm.get("recent", ()))

    @property
    def missing(self) -> dict[str, str]:
        """The shortcoming of every task that is not learned well enough, in words; empty if all are learned."""
        if (learned := self._lhrm_state) is None:
            return {}
        episodes = ended_episodes(self.tasks, self.rows)
        lacks = what_is_missing(learned, self.config.settings, episodes, self.config.stop_at)
        return {name: lack.what for name, lack in lacks.items()}

    @property
    def diagnosis(self) -> Diagnosis:
        """Why tasks are not learned, and what to change; it is false if there is nothing to say."""
        return diagnosis_of_run(self.files.diagnosis)

    @property
    def is_zero_shot(self) -> bool:
        """Whether there was nothing to learn, because the bank has all skills that the task needs."""
        return self.config.bank is not None and not self.config.learns_machines and self._blank.algorithm.is_exhausted

    def check_task(self, task: str) -> None:
        """Checks that the run has a task of that name.

        Raises:
            RewardMachineError: It has none.
        """
        if task not in self.tasks:
            hint = suggestion(task, self.tasks) or f"; there are {', '.join(self.tasks)}"
            raise RewardMachineError(f"{self.folder}: there is no task '{task}' in this run{hint}")

    # -- policies

    def learned(self, *, best: bool = False, encode: Encode | None = None) -> tuple[Session, Any]:
        """The run where its policies were written, and what the agent has learned.

        Args:
            best: Whether the policies are those of the evaluation with the highest mean return so far.
            encode: The function that encodes observations, if the run had one.

        Raises:
            RewardMachineError: There are no policies yet.
        """
        path = self.files.best_policies if best else self.files.policies
        if not path.exists():
            which = "no evaluation has judged policies yet" if best else "there are no policies yet"
            if best and self.config.gym is None:
                which = "only runs in Gymnasium environments keep their best policies"
            raise RewardMachineError(f"{self.folder}: {which}")

        def read() -> tuple[Session, Any]:
            session = self._begun(encode)
            return session, read_policies(path, session)

        return read() if encode is not None else self._cached(path.name, path, read)

    def policy(self, task: str | None = None, *, best: bool = False, encode: Encode | None = None) -> Policy:
        """The greedy policy of a task, which acts on observations and labels and follows the hierarchy by itself.

        Nothing is imported or executed that the folder names, and no environment is needed.

        Args:
            task: The name of the task; it need not be given if the run has only one.
            best: Whether to take the policy of the evaluation with the highest mean return so far, instead of the
                last; only runs in Gymnasium environments keep it.
            encode: The function that encodes observations, if the run had one.

        Raises:
            RewardMachineError: There is no such task, no machine for it, or no policy yet; or encode is missing.
        """
        name = self._named(task)
        session, learned = self.learned(best=best, encode=encode)
        return session.policy(name, learned)

    def _named(self, task: str | None) -> str:
        if task is None and len(self.tasks) > 1:
            raise RewardMachineError(f"{self.folder}: say which task: there are {', '.join(self.tasks)}")
        name = self.tasks[0] if task is None else task
        self.check_task(name)
        return name

    def evaluate(
        self, instances: int | None = None, instance_seed: int | None = None, *, best: bool = False
    ) -> list[TaskEvaluation]:
        """Plays greedy episodes of every task that has a machine, one in each instance, of full length.

        Modules of Gymnasium environments are imported for it.

        Args:
            instances: The number of instances; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.
            best: Whether the best policies act, instead of those that were written last.

        Raises:
            RewardMachineError: There are no policies yet, or an environment cannot be found by a name, or is another.
        """
        session, learned = self.learned(best=best)
        run = session.trained
        wanted = run.is_playable
        config = evaluated_config(self.config, instances, instance_seed)
        given = replace(self._given, encode=self._encoding())
        suite = suite_of(config, config.scenario(), self.given_hierarchies, given, str(self.folder))
        agent: Any = run.driver.interaction.agent
        interaction = replace(run.driver.interaction, agent=replace(agent, config=config.agent_settings))
        with closing(suite):
            suite.check(given.encode, str(self.folder))
            task = replace(run.tables.task, world=suite.world)
            tables = run.tables._replace(task=task)
            evaluated = suite.driver(interaction).evaluate(tables, learned, wanted, run.counters.chunks)
        assert evaluated is not None, "only vector environments cannot be evaluated"
        returns, lengths = evaluated
        return [
            TaskEvaluation(name, tuple(map(float, returns[i])), tuple(map(float, lengths[i])))
            for i, name in enumerate(self.tasks)
            if wanted[i]
        ]

    def _encoding(self) -> Encode | None:
        """The function that encodes observations, whose module is imported; None if there is none."""
        if self.config.gym is None or self._given.encode is not None:
            return self._given.encode
        return self.config.gym.interface.encode(str(self.folder))

    def environment(
        self,
        task: str | None = None,
        instance: int | None = None,
        render_mode: str | None = None,
        *,
        instances: int | None = None,
        instance_seed: int | None = None,
    ) -> AnyEnv:
        """Makes the environment of a task, with labels.

        Args:
            task: The name of the task; it need not be given if the run has only one.
            instance: The instance of all episodes, in a domain; without one, each episode takes place in a random one.
            render_mode: The render mode of the environment, if episodes are shown.
            instances: The number of instances of a domain; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: The run has no such task, or its environment cannot be found by a name.
        """
        name = self._named(task)
        if self.config.domain is None or self.scenario is None:
            env: AnyEnv = made(self._make_env(name), render_mode)
            return env
        tree = self.scenario.task(name) if self.config.learns_machines else self.given_hierarchies[name]
        return ScenarioEnv.of_spec(
            self.config.domain.with_instances(instances, instance_seed),
            tree,
            observation=self.config.agent_settings.observation,
            instance=instance,
            render_mode=render_mode,
        )

    def _make_env(self, task: str) -> Any:
        assert self.config.gym is not None
        return (self._given.envs or {}).get(task) or self.config.gym.make_env(task, str(self.folder))

    def record_film(
        self,
        task: str | None = None,
        *,
        instance: int = 0,
        best: bool = False,
        steps: int | None = None,
        instances: int | None = None,
        instance_seed: int | None = None,
    ) -> FilmedEpisode:
        """Records a greedy episode of a task, to be drawn with the hierarchy beside it.

        Args:
            task: The name of the task; it need not be given if the run has only one.
            instance: The number of the instance, or the seed of a Gymnasium environment's reset.
            best: Whether the best policy acts, instead of the last one.
            steps: The largest number of steps of the film.
            instances: The number of instances of a domain; as many as the run was evaluated in, if not given.
            instance_seed: The seed of the first; that of the run, if not given.

        Raises:
            RewardMachineError: There is no such task or policy, or the environment cannot be filmed.
        """
        from rewardmachines.runs.film import film_domain, film_gymnasium  # these draw, which only this needs

        name = self._named(task)
        if self.config.gym is None:
            env = self.environment(name, instance, instances=instances, instance_seed=instance_seed)
            assert isinstance(env, ScenarioEnv)
            return film_domain(env, self.policy(name, best=best), name, steps=steps)
        policy = self.policy(name, best=best, encode=self._encoding())
        return film_gymnasium(
            self._make_env(name),
            policy,
            name,
            is_task=not self.config.learns_machines,
            propositions=self.config.gym.interface.propositions,
            seed=instance,
            steps=steps,
            max_steps=self.config.gym.max_steps,
        )

    def film(self, path: str | Path, task: str | None = None, *, instance: int = 0, best: bool = False) -> Path:
        """Films a greedy episode of a task: a GIF, a page with a player, or a video, as the suffix says.

        Args:
            path: The file, such as `cake.gif`.
            task: The name of the task; it need not be given if the run has only one.
            instance: The number of the instance, or the seed of a Gymnasium environment's reset.
            best: Whether the best policy acts, instead of the last one.

        Returns:
            The path of the file.
        """
        self.record_film(task, instance=instance, best=best).save(Path(path))
        return Path(path)


def play(
    env: AnyEnv | CheckedEnv, policy: Policy, *, seed: int | None = None, steps: int = 10_000
) -> tuple[float, int]:
    """Plays an episode of a policy in a Gymnasium environment.

    Args:
        env: An environment with labels. If it does not end with the task, put it into a `HierarchyWrapper`.
        policy: The policy.
        seed: For its reset.
        steps: The largest number of steps.

    Returns:
        The return of the episode, and its length. The return is 1 if the environment's own hierarchy accepts
        (`HierarchyWrapper`) or, without one, if its outcome is the goal (`LabelingWrapper`), and otherwise 0.

    Raises:
        EnvironmentFault: The environment or its labels are not what they must be.
    """
    safe = checked(env, policy.propositions)
    returned, info, length = 0.0, dict[str, Any](), 0
    for moment in moments(safe, policy, seed, lambda now: now.is_over or now.number == steps):
        returned, info, length = returned + moment.reward, moment.info, moment.number
    if "verdict" in info:
        returned = float(info["verdict"] == Verdict.ACCEPT.value)
    elif "outcome" in info:
        returned = float(info["outcome"] == Outcome.GOAL.value)
    return returned, length


def open_run(folder: str | Path, *, envs: Mapping[str, Any] | None = None, encode: Encode | None = None) -> Run:
    """Opens the folder of a run, finished or not.

    Args:
        folder: The folder of the run.
        envs: Functions that make the environments of tasks, where these cannot be found by names.
        encode: The function that encodes observations, likewise.

    Raises:
        RewardMachineError: There is no such run, or it is damaged.
    """
    return Run(folder, Given(envs=envs, encode=encode))


__all__ = ["Run", "TaskEvaluation", "open_run", "play"]
