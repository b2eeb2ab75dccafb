"""Functions that make Gymnasium environments: of what is given to a verb, and of the names that a folder holds."""

from __future__ import annotations

import copy
import inspect
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.files.named_function import name_of, named_function
from rewardmachines.library import domain_names, missing_extra
from rewardmachines.rollout.gym_driver import MakeEnv
from rewardmachines.rollout.vector_environments import maker_of_vector
from rewardmachines.runs.messages import tell


@dataclass(frozen=True)
class MadeById:
    """Makes the environment of an id of Gymnasium, such as `my_lakes:Lake-v0`."""

    id: str

    def __call__(self, render_mode: str | None = None) -> Any:
        # Gymnasium hands a mode on to the function that an id stands for, which need not take one.
        return gymnasium.make(self.id) if render_mode is None else gymnasium.make(self.id, render_mode=render_mode)


@dataclass(frozen=True)
class CopiesOf:
    """Makes copies of an environment, which itself is left alone."""

    env: gymnasium.Env[Any, Any]

    def __call__(self) -> Any:
        try:
            return copy.deepcopy(self.env)
        except Exception as problem:  # whatever an environment holds that cannot be copied
            kind = type(problem).__name__
            message = f"the environment cannot be copied ({kind}: {problem}): pass a function that makes one"
            raise RewardMachineError(message) from None


def environment_of(where: Any) -> tuple[MakeEnv, int | None]:
    """The function that makes an environment, and the number of environments side by side if that is said.

    Args:
        where: A function, its name (`module:function`), an id of Gymnasium, an environment, or vector environments.

    Raises:
        RewardMachineError: There is no such environment.
    """
    if isinstance(where, str):
        return maker_of(where, "the environment", is_asked_for=True), None
    if isinstance(where, VectorEnv):
        return maker_of_vector(where), where.num_envs
    if isinstance(where, gymnasium.Env):
        return CopiesOf(where), None
    if callable(where):
        return where, None
    raise RewardMachineError(f"say where to act: a domain, an id, an environment or a function, not {where!r}")


def maker_of(name: str, purpose: str, *, is_asked_for: bool = False) -> MakeEnv:
    """The function of a name, or a function that makes the environment of an id. The module is imported.

    Args:
        name: The name of a function, `module:function`, or an id of Gymnasium.
        purpose: The role of the function, for messages, such as "the environment of 'key'".
        is_asked_for: Whether the name was given just now, so that no line need say what is imported.

    Raises:
        RewardMachineError: There is no such function, and no such id.
    """
    if (missing := missing_extra(name)) is not None:
        raise RewardMachineError(missing)
    module, _, last = name.rpartition(":")
    if module and all(part.isidentifier() for part in last.split(".")):
        return named_function(name, purpose, is_asked_for=is_asked_for)
    try:
        if module and module not in sys.modules:
            if not is_asked_for:
                tell(f"importing {module}, for {purpose} ({name})")
            import_module(module)  # with which its ids are registered
        gymnasium.spec(last)
    except Exception as problem:  # whatever the module does when it is imported
        if module:
            kind = type(problem).__name__
            raise RewardMachineError(f"{purpose} cannot be found as {name} ({kind}: {problem})") from None
        known = domain_names()
        hint = suggestion(name, known) or f"; domains are {', '.join(known)}"
        message = f"there is no domain '{name}', and no environment of Gymnasium by that name"
        whose = "" if is_asked_for else f"{purpose}: "
        raise RewardMachineError(f"{whose}{message}{hint}; a function is named module:function") from None
    return MadeById(name)


def name_of_maker(make_env: MakeEnv) -> str | None:
    """The name by which `maker_of` finds a function again; None if there is none."""
    return make_env.id if isinstance(make_env, MadeById) else name_of(make_env)


def made(make_env: MakeEnv, render_mode: str | None = None) -> Any:
    """Makes an environment that is rendered in a mode, if the function takes `render_mode`."""
    try:
        takes_mode = "render_mode" in inspect.signature(make_env).parameters
    except (TypeError, ValueError):  # of some functions that are not written in Python
        takes_mode = False
    return make_env(render_mode=render_mode) if takes_mode and render_mode is not None else make_env()
