"""The reports of runs: a page with results beside the paper's, learning curves, drawings of machines, and a film."""

from rewardmachines.reports.curve_plot import plot_curves
from rewardmachines.reports.page_parts import PAGE
from rewardmachines.reports.report import write_report
from rewardmachines.reports.seeds_report import write_seeds_report

__all__ = ["PAGE", "plot_curves", "write_report", "write_seeds_report"]
