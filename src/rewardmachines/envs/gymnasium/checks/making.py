"""Construction of third-party environments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rewardmachines.envs.gymnasium.checks.faults import EnvironmentFault, told
from rewardmachines.envs.gymnasium.checks.single import PASSED, CheckedEnv


def make_checked(
    make_env: Callable[[], Any], *, task: str | None = None, propositions: Iterable[str] | None = None
) -> CheckedEnv:  # fmt: skip
    """Makes an environment whose results are checked.

    Args:
        make_env: The function that makes it.
        task: The name of its task, for errors.
        propositions: Those that labels may have; None for an environment that is not labelled, or not looked at yet.

    Raises:
        EnvironmentFault: The function failed, or made something else.
    """
    try:
        env = make_env()
    except PASSED:
        raise
    except Exception as problem:
        whose = "" if task is None else f"task '{task}': "
        raise EnvironmentFault(f"{whose}the environment cannot be made: {told(problem)}") from problem
    return CheckedEnv(env, propositions=propositions, task=task)
