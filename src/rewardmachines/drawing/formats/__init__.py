"""Formats of pictures."""
