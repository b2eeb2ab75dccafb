"""CRM: one Q-function over the states of a flat machine, learned from counterfactual experiences."""
