"""Sweeps: the runs of a study carried out on this machine, or on a cluster."""
