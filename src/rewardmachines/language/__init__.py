"""The task language: from `(paper & leather) ; table` to a deterministic hierarchy."""

from rewardmachines.language.compiler import Ignored, Tie, compile_task, tie_of

__all__ = ["Ignored", "Tie", "compile_task", "tie_of"]
