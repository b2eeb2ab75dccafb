"""The tasks and machines of the paper, as data."""

from rewardmachines.library.catalogue import find, names
from rewardmachines.library.domains import CRAFTWORLD, DOMAINS, WATERWORLD, Domain, domain, task
from rewardmachines.library.figures import exponential_family, figure, figure_names

__all__ = [
    "CRAFTWORLD",
    "DOMAINS",
    "WATERWORLD",
    "Domain",
    "domain",
    "exponential_family",
    "figure",
    "figure_names",
    "find",
    "names",
    "task",
]
