"""Commands in environments of somebody else, which functions of a module make."""
