"""The task language: from `(paper & leather) ; table` to a deterministic hierarchy; and LTLf, beside it."""

from rewardmachines.language.compiler import Ignored, Tie, tie_of
from rewardmachines.language.explanation import TaskExpression, explain, task_expression
from rewardmachines.language.tasks import FormalTask, Note, compile_task, read_task

__all__ = [
    "FormalTask",
    "Ignored",
    "Note",
    "TaskExpression",
    "Tie",
    "compile_task",
    "explain",
    "read_task",
    "task_expression",
    "tie_of",
]
