"""LHRM: hierarchies and policies learned together, from labelled interaction only (Section 5)."""
