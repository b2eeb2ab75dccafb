"""LTLf with past operators and regular expressions over labels: from a text to a minimal reward machine."""

from rewardmachines.language.ltlf.compiler import CountsSteps, compile_ltlf, compile_regex
from rewardmachines.language.ltlf.definition import holds
from rewardmachines.language.ltlf.diagrams import Limits
from rewardmachines.language.ltlf.syntax import Next
from rewardmachines.language.ltlf.verdicts import Accept

__all__ = ["Accept", "CountsSteps", "Limits", "Next", "compile_ltlf", "compile_regex", "holds"]
