"""LHRM on Gymnasium environments: hierarchies of tasks are learned from labels and ends, and policies with them.

learned = learn_gymnasium([GymTask("key", 1, make_key), GymTask("door", 2, make_door)], steps=200_000)
print(learned.hierarchy("door"))
learned.policy("door").act(observation, label)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from rewardmachines.agents.gymnasium.diagnosis import LEAST_STEPS, Diagnosis, NotLearnedWarning
from rewardmachines.agents.gymnasium.driver import programs
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import GymnasiumPolicy
from rewardmachines.agents.gymnasium.senses import Senses
from rewardmachines.agents.gymnasium.settings import GYMNASIUM, fitting, settled
from rewardmachines.agents.hierarchical_dqn.config import HierarchicalDqnConfig
from rewardmachines.agents.networks import NetworkConfig
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import Hierarchy
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.learning import Solvers
from rewardmachines.learning.oracles import trace_order
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.lhrm.chunk_metrics import Row
from rewardmachines.lhrm.config import Exploration, LhrmConfig
from rewardmachines.lhrm.diagnosis import diagnosis_of, what_is_missing
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.request import (
    AskedLhrmConfig,
    Request,
    chunks_of,
    completed,
    order_of,
    worlds_of,
)
from rewardmachines.lhrm.gymnasium_runs.run import greedy_episode, load_gymnasium_run
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.lhrm.resumable import Callback, Chunk
from rewardmachines.lhrm.run_learner import learner_of_run
from rewardmachines.lhrm.worlds.gymnasium.dead_ends import DeadEndWarning
from rewardmachines.lhrm.worlds.gymnasium.tasks import GymTask
from rewardmachines.lhrm.worlds.gymnasium.worlds import GymnasiumWorlds
from rewardmachines.runs.budget import Budget
from rewardmachines.traces import Trace

LHRM_GYMNASIUM: Final = LhrmConfig(
    agent=replace(
        GYMNASIUM,
        annealing_steps=3_000,
        call_replay_size=1_000,
        call_replay_start=50,
        call_annealing=50,
        curriculum_weight=0.5,
    ),
    threshold=0.85,
    goals=50,
    explores_with=Exploration.PROPOSITIONS,
    learner_seconds=120.0,
)
"""Settings for small problems, which are learned in a minute or two."""


@dataclass(frozen=True)
class LearnedTasks:
    """What was learned. Without a folder it lives in memory only, but hierarchies can be saved as files."""

    run: Lhrm
    worlds: GymnasiumWorlds
    rows: tuple[Row, ...]
    """What each chunk brought, from the beginning of the run."""
    stop_at: float
    """The mean return with which a task is learned; 0 if no return was asked for."""
    files: LearnFolder | None = None
    """The folder of the run, if it has one."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks, lowest level first, which is their order in rows."""
        return self.run.tasks

    def hierarchy(self, name: str) -> Hierarchy:
        """The learned hierarchy of a task: its machine, and those that it calls.

        Raises:
            RewardMachineError: There is no such task, or no machine of it yet.
        """
        self._check(name)
        whole = self.run.pool.hierarchy(name)
        return Hierarchy(name, whole.reachable(), whole.propositions)

    @property
    def hierarchies(self) -> Mapping[str, Hierarchy]:
        """The learned hierarchies of all tasks that have a machine."""
        return {name: self.hierarchy(name) for name in self.tasks if name in self.run.pool.learned}

    @property
    def problems(self) -> Mapping[str, str]:
        """Why tasks were not learned, in words; those that were are left out."""
        ended = [row.ended for row in self.rows]
        episodes = {name: sum(one[i] for one in ended) for i, name in enumerate(self.tasks)}
        return what_is_missing(self.run, episodes, self.stop_at)

    @property
    def diagnosis(self) -> Diagnosis:
        """What keeps tasks from being learned, and what to change; it is false if all are learned."""
        steps = self.rows[-1].steps if self.rows else 0
        labels, cut_off = self.run.registry.labels, self.worlds.cut_off
        return diagnosis_of(self.problems, self.worlds.propositions, labels, steps, cut_off=cut_off)

    def examples(self, name: str) -> tuple[Trace, ...]:
        """The traces that a task's machine was learned from; without a machine, those that were collected for it."""
        self._check_name(name)
        examples = self.run.learnings[name].examples
        return examples.traces if examples.has_begun else tuple(sorted(examples.goals, key=trace_order))

    def policy(self, name: str) -> GymnasiumPolicy:
        """A policy that acts greedily, and follows the hierarchy by itself. Every environment needs one of its own.

        Raises:
            RewardMachineError: There is no such task, or no machine of it yet.
        """
        self._check(name)
        agent, senses = self.run.driver.agent, self.worlds.senses
        return GymnasiumPolicy(
            programs=programs(agent, agent.recall),
            task=self.run.knowledge.task,
            agent_state=self.run.state.agent,
            root=self.tasks.index(name),
            reading=senses.reading,
            codes=senses.codes,
            first_action=int(senses.actions.start),
        )

    def evaluate(self, name: str, episodes: int = 20, *, seed: int = 0) -> float:
        """The share of greedy episodes that reach the goal.

        Args:
            name: The task.
            episodes: How many episodes there are. They run through the instances in turn.
            seed: Of the first episode, if the task has no instances; the others have the seeds from there on.
        """
        policy, task = self.policy(name), self.worlds.gym_tasks[self.tasks.index(name)]
        seeds = [seed + i if task.instances is None else i % task.instances for i in range(episodes)]
        with closing(make_checked(task.make_env, propositions=self.worlds.propositions, task=name)) as env:
            return float(np.mean([greedy_episode(policy, env, one, self.worlds.max_steps)[0] for one in seeds]))

    def _check(self, name: str) -> None:
        self._check_name(name)
        if name not in self.run.pool.learned:
            raise RewardMachineError(f"there is no machine of '{name}' yet: {self.problems[name]}")

    def _check_name(self, name: str) -> None:
        if name not in self.tasks:
            raise RewardMachineError(f"there is no task '{name}'; there are {', '.join(self.tasks)}")


def learn_gymnasium(
    tasks: Sequence[GymTask] | None = None,
    *,
    steps: int | None = None,
    config: AskedLhrmConfig = None,
    network: NetworkConfig | None = None,
    encode: Encode | None = None,
    max_steps: int | None = None,
    seed: int | None = None,
    solvers: Solvers | None = None,
    learner: MachineLearner | str | None = None,
    progress: Callable[[Row], object] | None = None,
    stop_at: float | None = None,
    episodes: int | None = None,
    seconds: float | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> LearnedTasks:
    """Learns hierarchies and policies of tasks, until all are learned or the budget is spent.

    A task without a machine that explains what was seen is given up, and the others go on; `problems` says why. In a
    folder, the run can be looked at, killed and resumed. To resume it, only the folder is needed if environments are
    made by functions of a module; otherwise tasks are given again. Settings that are not given are those of the run.

    Args:
        tasks: The tasks. Their environments have the same observations, propositions and actions.
        steps: Of all environments together, at most.
        config: All settings, or a function that changes the usual ones for such observations; those for small
            problems, if not given.
        network: The body of the networks; if not given, that of `config`, or else one for the shape of observations.
        encode: Makes an array of an observation that is none; or `"channels-first"`, for pictures.
        max_steps: After which an episode is cut off; 1000, if not given.
        seed: Of all that is left to chance; 0, if not given.
        solvers: What the exact learner of machines searches with; its own, if not given.
        learner: Who learns machines, or the name of a registered learner; the exact one, if nobody is given.
        progress: Is called with a row after every chunk.
        stop_at: The mean return, over three evaluations, with which a task is learned; 0.95, if not given.
        episodes: Of all tasks together, at most.
        seconds: The time that the run may take, in which pauses do not count.
        folder: The folder that the run is written to. Without one, it lives in memory only.
        resume: Whether to go on with the run in the folder.
        callbacks: Functions that are called with every chunk: the algorithm, the row, and the moment.

    Returns:
        What was learned.

    Raises:
        RewardMachineError: There is no task, two have the same name, or their environments do not fit together; there
            is a run in the folder already, or none to resume, or it was begun with other settings.
    """
    if folder is None and resume:
        raise RewardMachineError("say which folder holds the run to resume: folder=...")
    request = Request(
        tasks=tasks,
        config=config,
        network=network,
        encode=encode,
        max_steps=max_steps,
        seed=seed,
        learner=learner,
        stop_at=stop_at,
        budget=Budget(steps, episodes, seconds),
    )
    files = None if folder is None else LearnFolder(Path(folder))
    request = completed(request, files, resume=resume)
    with closing(worlds_of(request)) as worlds, _or_own(solvers) as able:
        order = order_of(request, worlds, _settled(request, worlds.senses), str(folder))
        made = learner_of_run(order.spec.learner, None if isinstance(learner, str) else learner, files, able)
        run = Lhrm(worlds, order.spec.config, able, seed=order.spec.seed, learner=made)
        rows: list[Row] = []
        with closing(chunks_of(run, worlds, order, files, resume=resume)) as chunks:
            for chunk in chunks:
                rows.append(chunk.row)
                _report(chunk, worlds, progress, callbacks)
        every = tuple(rows if files is None else load_gymnasium_run(files.path).rows())
        learned = LearnedTasks(run, worlds, every, order.stop_at, files)
    _tell(learned)
    return learned


def _tell(learned: LearnedTasks) -> None:
    """Warns of what keeps tasks from being learned, once there were steps enough to learn something."""
    if learned.rows and learned.rows[-1].steps >= LEAST_STEPS and (diagnosis := learned.diagnosis):
        warnings.warn(f"not all is learned\n{diagnosis}\nMore in docs/tuning.md.", NotLearnedWarning, stacklevel=3)


def _report(
    chunk: Chunk, worlds: GymnasiumWorlds, progress: Callable[[Row], object] | None, callbacks: Sequence[Callback]
) -> None:
    """Warns of dead ends that were found in a chunk, and calls whoever wants to know of it."""
    for finding in worlds.dead_ends.news():
        warnings.warn(str(finding), DeadEndWarning, stacklevel=3)
    if progress is not None:
        progress(chunk.row)
    for callback in callbacks:
        callback(chunk)


def _settled(request: Request, senses: Senses) -> LhrmConfig:
    """The settings that are asked for, or those that fit observations and lengths of episodes."""
    config, network, shape = request.config, request.network, senses.reading.shape
    limits = [limit for limit in (request.max_steps, senses.limit) if limit is not None]
    usual = fitting(LHRM_GYMNASIUM.agent, senses.reading, min(limits, default=None))
    if callable(config):
        change, asked = config, list[LhrmConfig]()

        def changed_agent(agent: HierarchicalDqnConfig) -> HierarchicalDqnConfig:
            asked.append(change(replace(LHRM_GYMNASIUM, agent=agent)))
            return asked[-1].agent

        agent = settled(changed_agent, usual, network, shape)
        return replace(asked[-1], agent=agent)
    agent = settled(None if config is None else config.agent, usual, network, shape)
    return replace(config or LHRM_GYMNASIUM, agent=agent)


@contextmanager
def _or_own(solvers: Solvers | None) -> Iterator[Solvers]:
    """The given solvers, which their owner closes, or new ones, which are closed at the end."""
    if solvers is not None:
        yield solvers
    else:
        with Solvers() as own:
            yield own
