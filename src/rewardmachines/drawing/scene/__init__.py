"""Scenes: panels, states, edges, colours and symbols."""
