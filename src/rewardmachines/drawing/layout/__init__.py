"""Where states and edges go."""
