"""Displays of the progress of runs."""
