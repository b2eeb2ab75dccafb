"""Agents that learn policies for given hierarchies of reward machines, with their settings."""
