"""Runs on disk: what was asked for, what happened, and everything needed to go on."""
