"""A bank of skills: policies of formulas, and machines with the policies of their calls, that any new task can use."""
