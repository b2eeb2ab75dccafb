"""The definitions of the paper, in the standard library alone."""
