"""Hierarchies of reward machines."""
