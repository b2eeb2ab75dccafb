"""The reports of runs: a page with results beside the paper's, learning curves, drawings of machines, and a film."""

from rewardmachines.reports.writing import PAGE, write_report

__all__ = ["PAGE", "write_report"]
