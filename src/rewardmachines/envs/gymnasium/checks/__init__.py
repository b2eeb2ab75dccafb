"""Checks of the values that third-party environments return."""
