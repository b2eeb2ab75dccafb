"""LRM: a machine whose states make the next observation as predictable as can be, found by tabu search."""
