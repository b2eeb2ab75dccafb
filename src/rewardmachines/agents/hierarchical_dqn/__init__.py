"""The agent of the paper: a Q-function for each formula, and one for each machine that chooses options."""
