"""Runs as folders: settings, metrics, checkpoints, and the loop that writes them. Nothing here knows any agent."""
