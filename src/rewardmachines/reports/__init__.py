"""The reports of runs: a page with results beside the paper's, learning curves, drawings of machines, and a film."""

from rewardmachines.reports.page_parts import PAGE
from rewardmachines.reports.writing import write_report

__all__ = ["PAGE", "write_report"]
