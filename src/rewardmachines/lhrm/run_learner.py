"""The learner of machines of a run that is a folder."""

from __future__ import annotations

from rewardmachines.core.errors import RewardMachineError
from rewardmachines.learning import Solvers
from rewardmachines.lhrm.learner_registry import check_learner, learner_names, make_learner
from rewardmachines.lhrm.machine_learner import MachineLearner
from rewardmachines.runs.folder import RunFolder


def learner_of_run(
    name: str, given: MachineLearner | None, folder: RunFolder | None, solvers: Solvers
) -> MachineLearner:  # fmt: skip
    """The learner of a run: the one that is given, or the one that is known by its name.

    Args:
        name: The name of the learner in the settings of the run.
        given: The learner, if it is given as an object. Its class must have that name.
        folder: The folder of the run, if it has one.
        solvers: What the exact learner searches with.

    Raises:
        RewardMachineError: It is another learner, or none of that name is known.
    """
    if given is not None:
        if type(given).__name__ != name:
            where = "" if folder is None else f"{folder.path}: "
            message = f"the run was begun with the learner '{name}', not '{type(given).__name__}'"
            raise RewardMachineError(f"{where}{message}")
        return given
    if folder is not None and folder.config.exists() and name not in learner_names():
        message = f"{folder.path}: the run was begun with the learner '{name}', which is not known here"
        raise RewardMachineError(f"{message}: register it, or give it again with learner=")
    check_learner(name)
    return make_learner(name, solvers)
