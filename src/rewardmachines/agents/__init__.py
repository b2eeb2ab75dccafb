"""Agents that learn policies for given hierarchies of reward machines, and what trains them."""
