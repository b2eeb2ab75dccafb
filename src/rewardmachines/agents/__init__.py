"""Agents that exploit a hierarchy."""
