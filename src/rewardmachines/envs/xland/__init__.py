"""XLand-MiniGrid, a third-party suite of grid worlds in JAX, as domains."""
