"""A run of LHRM on Gymnasium environments on disk: its metrics, what it has learned, and its policies."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rewardmachines.agents.gymnasium.environments import EPISODES
from rewardmachines.agents.gymnasium.observations import Encode
from rewardmachines.agents.gymnasium.policy import AnyEnv, GymnasiumPolicy
from rewardmachines.agents.gymnasium.runs.run import load_gymnasium_training
from rewardmachines.core.errors import RewardMachineError
from rewardmachines.envs.gymnasium.checks.making import make_checked
from rewardmachines.envs.gymnasium.checks.single import CheckedEnv, checked
from rewardmachines.lhrm.folder import LearnFolder
from rewardmachines.lhrm.gymnasium_runs.policies import StoredPolicies
from rewardmachines.lhrm.gymnasium_runs.recorded_worlds import RecordedWorlds
from rewardmachines.lhrm.gymnasium_runs.resumable import GymnasiumSnapshot
from rewardmachines.lhrm.gymnasium_runs.spec import GymnasiumOrder, GymnasiumSpec, load_order
from rewardmachines.lhrm.policies import TaskEvaluation
from rewardmachines.lhrm.snapshot import Snapshot
from rewardmachines.lhrm.stored_run import StoredRun
from rewardmachines.runs.checkpoint import read_snapshot
from rewardmachines.runs.config_file import TRAIN_GYMNASIUM, command_of
from rewardmachines.traces import Outcome


@dataclass(frozen=True)
class GymnasiumRun(StoredRun):
    """A run of `learn_gymnasium` on disk, finished or not. No code is loaded from it, except to evaluate."""

    order: GymnasiumOrder
    """The settings of the run: what is learned, and when it ends."""

    @property
    def spec(self) -> GymnasiumSpec:
        """What is learned."""
        return self.order.spec

    @cached_property
    def worlds(self) -> RecordedWorlds:
        """What is known of tasks and environments."""
        return RecordedWorlds(self.spec)

    @property
    def good_enough(self) -> float:
        """The mean return that is good enough for every task; 0 if none is."""
        return self.order.stop_at

    def last_snapshot(self) -> Snapshot | None:
        """The snapshot of the last checkpoint, if there is one."""
        path = self.files.checkpoint
        return read_snapshot(path, GymnasiumSnapshot).algorithm if path.exists() else None

    @property
    def in_domain(self) -> None:
        """There is no domain that knows the true hierarchies of the tasks, or how to show episodes."""
        return

    def policies(self, *, best: bool = False, encode: Encode | None = None) -> StoredPolicies:
        """Reads the policies that were written last, or those with the highest mean return.

        Args:
            best: Whether to read the best ones.
            encode: The function that encodes observations, if the run had one.

        Raises:
            RewardMachineError: There are none yet, or encode is missing.
        """
        path = self.files.best_policies if best else self.files.policies
        if not path.exists():
            which = "no evaluation has judged policies" if best else "there are no policies"
            raise RewardMachineError(f"{self.folder}: {which} yet")
        return StoredPolicies(path, self.spec, encode)

    def evaluate(self, *, best: bool = False) -> list[TaskEvaluation]:
        """Lets the policies act greedily in the environments of the run, whose modules are imported for it.

        There is an episode in each instance of a task, or several with seeds from 0 on, if it has no instances.

        Args:
            best: Whether the best policies act, instead of those that were written last.

        Raises:
            RewardMachineError: There are no policies yet, or an environment cannot be found by a name.
        """
        where = str(self.folder)
        tasks = {task.name: task for task in self.spec.gym_tasks(where)}
        policies = self.policies(best=best, encode=self.spec.senses.encode(where))
        evaluations = []
        for name in policies.learned:
            policy, seeds = policies.policy(name), range(tasks[name].instances or EPISODES)
            made = make_checked(tasks[name].make_env, propositions=policy.codes.propositions, task=name)
            with closing(made) as env:
                ends = [greedy_episode(policy, env, seed, self.spec.max_steps) for seed in seeds]
            returns, lengths = zip(*ends, strict=True)
            evaluations.append(TaskEvaluation(name, tuple(map(float, returns)), lengths))
        return evaluations


def greedy_episode(policy: GymnasiumPolicy, env: AnyEnv | CheckedEnv, seed: int, most: int) -> tuple[bool, int]:
    """Whether a greedy episode that begins with the seed reaches the goal within so many steps, and its length.

    Raises:
        EnvironmentFault: The environment or its labels are not what they must be.
    """
    safe = checked(env, policy.codes.propositions)
    observation, info = safe.reset(seed=seed)
    policy.reset(info["label"])
    length, is_over = 0, False
    while length < most and not is_over:
        observation, _, terminated, truncated, info = safe.step(policy.act(observation, info["label"]))
        length, is_over = length + 1, terminated or truncated
    return bool(info.get("outcome") == Outcome.GOAL.value), length


def load_gymnasium_run(folder: str | Path) -> GymnasiumRun:
    """Opens the folder of a run of `learn_gymnasium`, finished or not.

    Args:
        folder: The folder of the run.

    Raises:
        RewardMachineError: There is no such run.
    """
    files = LearnFolder(Path(folder))
    files.check_run()
    return GymnasiumRun(files.path, load_order(files.config))


def load_policy(
    folder: str | Path, task: str | None = None, *, best: bool = False, encode: Encode | None = None
) -> GymnasiumPolicy:
    """The policy of a task of a run of `train_gymnasium` or `learn_gymnasium`. Its environments are not needed.

    Nothing is imported or executed that the folder names.

    Args:
        folder: The folder of the run, which may still be under way.
        task: The name of the task; it need not be given if the run has only one.
        best: Whether to load the policy of the evaluation with the highest mean return so far, instead of the last.
        encode: The function that encodes observations, if the run had one.

    Returns:
        A policy that acts on observations and labels. Every environment needs one of its own.

    Raises:
        RewardMachineError: There is no such run or task, the task has no machine or policy yet, or encode is missing.
    """
    files = LearnFolder(Path(folder))
    files.check_run()
    if command_of(files.config) == TRAIN_GYMNASIUM:
        return load_gymnasium_training(folder).policy(task, best=best, encode=encode)
    run = load_gymnasium_run(folder)
    if task is None and len(run.tasks) > 1:
        raise RewardMachineError(f"{folder}: say which task: there are {', '.join(run.tasks)}")
    name = run.tasks[0] if task is None else task
    run.check_task(name)
    return run.policies(best=best, encode=encode).policy(name)
