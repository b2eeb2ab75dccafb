"""Where learners of machines are found by name: the exact one, those that were registered, those of installed packages.

A package offers a learner as an entry point of the group `rewardmachines.learners`, by the learner's name:

    [project.entry-points."rewardmachines.learners"]
    flat = "my_package.flat:FlatLearner"

What the entry point names is called with the solvers and the budget of a search, and returns a `MachineLearner`. It is
loaded when somebody asks for the learner, not before. `hrm learn --learner flat` learns with it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.learning import Budget, Solvers
from rewardmachines.lhrm.machine_learner import ExactLearner, MachineLearner

GROUP: Final = "rewardmachines.learners"
"""The group of entry points."""
EXACT: Final = "exact"
"""The name of the learner that finds a machine with the fewest states."""

MakeLearner: TypeAlias = Callable[[Solvers, Budget], MachineLearner]
"""Makes a learner of what it may search with, and of what one search may cost."""

_ADDED: Final[dict[str, MakeLearner]] = {}


def register_learner(name: str, make: MakeLearner) -> None:
    """Makes a learner of machines known by its name, to `hrm learn` and `rm.learn`, until the process ends.

    Args:
        name: By which `--learner` and `LearnSpec.learner` ask for it.
        make: Called with the solvers and the budget of one search; returns the learner.

    Raises:
        DuplicateNameError: There is another learner of that name.

    >>> register_learner("cautious", lambda solvers, budget: ExactLearner(solvers, budget))
    >>> "cautious" in learner_names()
    True
    >>> unregister_learner("cautious")
    """
    if name == EXACT or _ADDED.get(name, make) is not make:
        raise DuplicateNameError(f"there is another learner called '{name}'")
    _ADDED[name] = make


def unregister_learner(name: str) -> None:
    """Forgets a learner that was registered; the exact one and those of installed packages stay."""
    _ADDED.pop(name, None)


def learner_names() -> tuple[str, ...]:
    """The names of all learners that can be found; nothing is loaded."""
    return tuple(dict.fromkeys((EXACT, *_ADDED, *_offered())))


def check_learner(name: str) -> None:
    """Checks that there is a learner of that name; nothing is loaded.

    Raises:
        RewardMachineError: There is none.
    """
    known = learner_names()
    if name not in known:
        hint = suggestion(name, known) or f"; there are {', '.join(known)}"
        raise RewardMachineError(f"there is no learner of machines '{name}'{hint}")


def make_learner(name: str, solvers: Solvers, budget: Budget) -> MachineLearner:
    """The learner of that name, loaded from the package that offers it if need be.

    Args:
        name: Such as `exact`.
        solvers: What it may search with.
        budget: What one search may cost.

    Raises:
        RewardMachineError: There is none, or it cannot be loaded.
    """
    check_learner(name)
    make = ExactLearner if name == EXACT else _ADDED.get(name) or _loaded(_offered()[name])
    return make(solvers, budget)


def _offered() -> dict[str, EntryPoint]:
    """Entry points of installed packages by the names of their learners."""
    return {offer.name: offer for offer in entry_points(group=GROUP)}


def _loaded(offer: EntryPoint) -> MakeLearner:
    """What an entry point names. Whatever goes wrong inside another package is said in one line that names it."""
    package = offer.dist.name if offer.dist is not None else offer.value
    where = f"the package '{package}' offers the learner '{offer.name}'"
    try:
        make = offer.load()
    except Exception as problem:
        kind = type(problem).__name__
        raise RewardMachineError(f"{where}, but it cannot be loaded ({kind}: {problem}): update or remove it") from None
    if not callable(make):
        raise RewardMachineError(f"{where}, but {offer.value} cannot be called: update or remove it")
    found: MakeLearner = make
    return found
