"""The Gymnasium faces: the domains as environments, and wrappers for environments of your own."""
