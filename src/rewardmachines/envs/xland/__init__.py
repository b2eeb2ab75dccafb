"""XLand-MiniGrid, a suite of grid worlds that somebody else wrote as pure functions, as domains."""
