"""What is left of a run of LHRM: a page with its results beside the paper's, curves, machines, and a film."""

from rewardmachines.reports.writing import PAGE, write_report

__all__ = ["PAGE", "write_report"]
