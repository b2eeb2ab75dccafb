"""Agents on Gymnasium environments, driven from Python."""
