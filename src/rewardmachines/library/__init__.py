"""The tasks and machines of the paper, as data."""

from rewardmachines.library.catalogue import find, names
from rewardmachines.library.figures import exponential_family, figure, figure_names
from rewardmachines.library.offered import missing_extra, offered_domains
from rewardmachines.library.task_sets import (
    CRAFTWORLD,
    DOMAINS,
    WATERWORLD,
    TaskSet,
    add_task_set,
    domain_names,
    remove_task_set,
    task,
    task_set,
    task_sets,
)

domain = task_set
"""The propositions and tasks of a domain, by the name that this function had before."""

__all__ = [
    "CRAFTWORLD",
    "DOMAINS",
    "WATERWORLD",
    "TaskSet",
    "add_task_set",
    "domain",
    "domain_names",
    "exponential_family",
    "figure",
    "figure_names",
    "find",
    "missing_extra",
    "names",
    "offered_domains",
    "remove_task_set",
    "task",
    "task_set",
    "task_sets",
]
