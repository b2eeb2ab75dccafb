"""Layout: the positions of states and edges."""
