"""The task language: from `(paper & leather) ; table` to a deterministic hierarchy; and LTLf, beside it."""

from rewardmachines.language.compiler import Ignored, Tie, tie_of
from rewardmachines.language.tasks import FormalTask, Note, compile_task, read_task

__all__ = ["FormalTask", "Ignored", "Note", "Tie", "compile_task", "read_task", "tie_of"]
