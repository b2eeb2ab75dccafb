"""Learners of machines: their interface (Section 5), the exact learner, and the registry of learners by name.

Any object with the method `learn` of `MachineLearner` is a learner. It is given to `rm.learn` as an object, or by the
name under which it is registered. A package offers a learner as an entry point of the group `rewardmachines.learners`:

    [project.entry-points."rewardmachines.learners"]
    flat = "my_package.flat:FlatLearner"

The entry point names a function of the solvers of a run that returns a `MachineLearner`. It is loaded when the learner
is asked for, not before. `hrm learn --learner flat` learns with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Protocol, TypeAlias

from rewardmachines.core.errors import DuplicateNameError, RewardMachineError
from rewardmachines.core.hierarchy import suggestion
from rewardmachines.learning import Budget, Learner, LearningTask, Refutation, Result, Solvers
from rewardmachines.lhrm.choices import EXACT as EXACT


class MachineLearner(Protocol):
    """Finds a machine that explains the traces of a task."""

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        """Searches for a machine that explains the traces of a task.

        The result must depend on the task alone, unless the budget is spent: only then do equal seeds give equal runs.

        Args:
            task: The traces, which do not contradict each other; the propositions that formulas may mention; the
                hierarchies that the machine may call; the name that it must have.
            budget: What this search may cost.
            refuted: The numbers of states that were too few according to earlier results of this learner, for fewer
                traces with the same propositions and callables.

        Returns:
            `Learned` with the machine. Otherwise `Unsatisfiable` or `TimedOut`: the task is then given up until there
            are enough new traces.
        """


@dataclass(frozen=True)
class ExactLearner:
    """Finds a machine with the fewest states, and proves that there is no smaller one."""

    solvers: Solvers

    def learn(self, task: LearningTask, budget: Budget, refuted: Collection[int] = ()) -> Result:
        """Searches as `MachineLearner.learn` says. Numbers of states that were refuted are not searched again."""
        learner = Learner(self.solvers)
        for states in refuted:
            learner.remember(task, Refutation(states, 0, 0.0, "earlier"))
        return learner.learn(task, budget)


def space_of(task: LearningTask) -> str:
    """A short hash of the space of machines that is searched for a task.

    Numbers of states that were refuted stay refuted as long as the space is the same.
    """
    space = repr((task.callables, task.options, task.propositions, task.has_dead_ends))
    return hashlib.sha256(space.encode()).hexdigest()[:16]


# -- learners by name

GROUP: Final = "rewardmachines.learners"
"""The group of entry points."""

MakeLearner: TypeAlias = Callable[[Solvers], MachineLearner]
"""Makes a learner, given the solvers that it may use."""

_ADDED: Final[dict[str, MakeLearner]] = {}


def register_learner(name: str, make: MakeLearner) -> None:
    """Registers a learner of machines by its name, for `hrm learn` and `rm.learn`, until the process ends.

    Args:
        name: The name by which `--learner` and `learner=` ask for it.
        make: A function of the solvers that the learner may use; it returns the learner.

    Raises:
        DuplicateNameError: There is another learner of that name.

    >>> register_learner("cautious", lambda solvers: ExactLearner(solvers))
    >>> "cautious" in learner_names()
    True
    >>> unregister_learner("cautious")
    """
    if name == EXACT or _ADDED.get(name, make) is not make:
        raise DuplicateNameError(f"there is another learner called '{name}'")
    _ADDED[name] = make


def unregister_learner(name: str) -> None:
    """Removes a learner that was registered. The exact one and those of installed packages stay."""
    _ADDED.pop(name, None)


def learner_names() -> tuple[str, ...]:
    """The names of all learners. None of them is loaded."""
    return tuple(dict.fromkeys((EXACT, *_ADDED, *_offered())))


def check_learner(name: str) -> None:
    """Checks that there is a learner of that name, without loading it.

    Raises:
        RewardMachineError: There is none.
    """
    known = learner_names()
    if name not in known:
        hint = suggestion(name, known) or f"; there are {', '.join(known)}"
        raise RewardMachineError(f"there is no learner of machines '{name}'{hint}")


def make_learner(name: str, solvers: Solvers) -> MachineLearner:
    """Makes the learner of that name, which is loaded from the package that offers it if necessary.

    Args:
        name: The name of the learner, such as `exact`.
        solvers: The solvers that it may use.

    Raises:
        RewardMachineError: There is none, or it cannot be loaded.
    """
    check_learner(name)
    make = ExactLearner if name == EXACT else _ADDED.get(name) or _loaded(_offered()[name])
    return make(solvers)


def _offered() -> dict[str, EntryPoint]:
    """The entry points of installed packages by the names of their learners."""
    return {offer.name: offer for offer in entry_points(group=GROUP)}


def _loaded(offer: EntryPoint) -> MakeLearner:
    """Loads an entry point. An error of another package becomes a message of one line that names the package."""
    package = offer.dist.name if offer.dist is not None else offer.value
    where = f"the package '{package}' offers the learner '{offer.name}'"
    try:
        make = offer.load()
    except Exception as problem:
        kind = type(problem).__name__
        raise RewardMachineError(f"{where}, but it cannot be loaded ({kind}: {problem}): update or remove it") from None
    if not callable(make):
        raise RewardMachineError(f"{where}, but {offer.value} cannot be called: update or remove it")
    learner: MakeLearner = make
    return learner
