"""Options: what can be chosen where, and what becomes of choices when the hierarchy moves."""
