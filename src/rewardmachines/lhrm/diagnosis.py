"""Says in words why a run has not learned some of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from rewardmachines.agents.gymnasium.diagnosis import NOTHING, Diagnosis, Finding, longer_episodes, unseen
from rewardmachines.core.formula import Label
from rewardmachines.lhrm.algorithm import Lhrm
from rewardmachines.runs.budget import EVALUATIONS

_ADVICE: Final = {
    "given up": "labels must tell when the goal is reached; or give the learner more time (learner_seconds)",
    "level": "see what the tasks of that level lack",
    "no goal trace": "random actions do not get there: {longer}begin with an easier task, or raise agent.persistence",
    "distinct goal trace": "learn for longer, or ask for fewer (goals, first_goals)",
    "evaluations": "learn for longer",
    "has stood": "learn for longer, or ask for fewer episodes (trials)",
    "returns": "learn for longer, or change the settings of the agent",
}
"""What to change, by words that occur in what is missing. Longer episodes are advised where some were cut off."""


def diagnosis_of(
    problems: Mapping[str, str], propositions: Iterable[str], labels: Iterable[Label], steps: int, *, cut_off: int
) -> Diagnosis:  # fmt: skip
    """What keeps tasks from being learned, and what to change.

    Args:
        problems: What each task lacks, in words.
        propositions: Those that the environments can observe.
        labels: The labels that were seen.
        steps: How many steps there were.
        cut_off: How many episodes were cut off by a limit of steps.

    Returns:
        A finding for each task, and before them one for each proposition that was never observed.
    """
    if not problems:
        return NOTHING
    findings = [*unseen(propositions, labels, steps, cut_off=cut_off)]
    for name, problem in problems.items():
        advice = next((advice for words, advice in _ADVICE.items() if words in problem), "learn for longer")
        findings.append(Finding(f"{name}: {problem}", advice.format(longer=longer_episodes(cut_off))))
    return Diagnosis(tuple(findings))


def mean_returns(run: Lhrm) -> dict[str, float]:
    """The mean return of every task in the last evaluations; 0 before the first evaluation."""
    if not run.recent:
        return dict.fromkeys(run.tasks, 0.0)
    return dict(zip(run.tasks, map(float, np.mean(run.recent, axis=(0, 2))), strict=True))


def what_is_missing(run: Lhrm, episodes: Mapping[str, int], stop_at: float) -> dict[str, str]:
    """What each task lacks to be learned; tasks that are learned are left out.

    Args:
        run: The run.
        episodes: How many episodes of each task have ended.
        stop_at: The mean return with which a task is learned; 0 if no return is asked for.
    """
    found = {name: _lack(run, name, episodes[name]) or _shortfall(run, name, stop_at) for name in run.tasks}
    return {name: message for name, message in found.items() if message is not None}


def _lack(run: Lhrm, name: str, episodes: int) -> str | None:
    """Why the task has no machine that explains what was seen; None if it has one."""
    learning, level = run.learnings[name], run.pool.level(name)
    if learning.problem is not None:
        return f"given up: {learning.problem.removeprefix(f'{name}: ')}"
    if level > run.curriculum.level:
        return f"level {level} has to wait: level {run.curriculum.level} is not mastered"
    if learning.examples.has_begun:
        return None
    if not learning.examples.goals:
        return f"no goal trace of {name} was seen in {episodes:,} episodes"
    few, wanted = len(learning.examples.goals), learning.examples.wanted
    seen = f"{few} distinct goal trace{' was' if few == 1 else 's were'} seen in {episodes:,} episodes"
    return f"{seen}: the first machine waits for {wanted}"


def _shortfall(run: Lhrm, name: str, stop_at: float) -> str | None:
    """What a task with a machine lacks in returns; None if they suffice."""
    if not stop_at:
        return None
    if len(run.recent) < EVALUATIONS:
        return f"{EVALUATIONS} evaluations say whether it is learned, and there were {len(run.recent)}"
    returned = mean_returns(run)[name]
    if returned < stop_at:
        return f"returns {returned:.2f} on average: {stop_at:g} is asked for"
    if not run.machines.is_confirmed(name):
        return f"its machine has stood {run.learnings[name].tried:,} episodes, of {run.config.trials:,}"
    return None
