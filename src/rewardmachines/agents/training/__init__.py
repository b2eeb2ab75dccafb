"""Training of policies for a given hierarchy: specifications, the session that trains, and runs as folders."""
