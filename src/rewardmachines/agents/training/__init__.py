"""Training on the project's own domains: what is asked for, the compiled loop, and runs that are folders."""
