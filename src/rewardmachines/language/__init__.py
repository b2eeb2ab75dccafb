"""The task language: from `(paper & leather) ; table` to a deterministic hierarchy."""

from rewardmachines.language.compiler import Tie, compile_task, tie_of

__all__ = ["Tie", "compile_task", "tie_of"]
