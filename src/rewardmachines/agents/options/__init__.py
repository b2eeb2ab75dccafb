"""Options: which can be chosen in which state, and what becomes of those that run when the hierarchy moves."""
